package mcp_test

import (
	"maps"
	"strings"
	"testing"

	"hob/config"
	"hob/daemon/mcp/mcptest"
)

// Each value of a server's section is part of what the owner accepts, and he sees it unless it is a secret.
func TestValuesAreAccepted(t *testing.T) {
	t.Parallel()
	s := mcptest.New(t, one())
	first := func(local bool) config.MCPServer {
		if local {
			c := program(s)
			c.Env = maps.Clone(c.Env)
			c.Env["PLACE"], c.Env["REF"], c.Env["API_KEY"], c.Env["NODE_OPTIONS"], c.Env["LONG"] = "here", "env:T1", "canary-1", "", strings.Repeat("x", 1000)
			return c
		}
		c := transports(s)["http"]
		c.Headers, c.ClientID, c.ClientSecret = map[string]string{"X-Place": "canary-1", "X-Ref": "env:T1"}, "me", "canary-1"
		return c
	}
	for name, x := range map[string]struct {
		local bool
		do    func(c *config.MCPServer, all *config.Snapshot)
		says  string // of the changed section
	}{
		"a plain value":    {true, func(c *config.MCPServer, _ *config.Snapshot) { c.Env["PLACE"] = "there" }, `PLACE="there"`},
		"a reference":      {true, func(c *config.MCPServer, _ *config.Snapshot) { c.Env["REF"] = "cmd:id" }, "REF=cmd:id"},
		"a secret":         {true, func(c *config.MCPServer, _ *config.Snapshot) { c.Env["API_KEY"] = "canary-2" }, "API_KEY=(hidden, "},
		"other code":       {true, func(c *config.MCPServer, _ *config.Snapshot) { c.Env["NODE_OPTIONS"] = "--require /x.js" }, "NODE_OPTIONS can make it run other code"},
		"a long end":       {true, func(c *config.MCPServer, _ *config.Snapshot) { c.Env["LONG"] += "y" }, "xx"},
		"the sandbox":      {true, func(_ *config.MCPServer, all *config.Snapshot) { all.Tools.Exec.Sandbox = "off" }, "WITHOUT the sandbox"},
		"a header":         {false, func(c *config.MCPServer, _ *config.Snapshot) { c.Headers["X-Place"] = "canary-2" }, "X-Place=(hidden, "},
		"a header's text":  {false, func(c *config.MCPServer, _ *config.Snapshot) { c.Headers["X-Ref"] = "file:/x" }, "X-Ref=file:/x"},
		"a client":         {false, func(c *config.MCPServer, _ *config.Snapshot) { c.ClientID = "you" }, "the client you client_secret=(hidden, "},
		"a client's words": {false, func(c *config.MCPServer, _ *config.Snapshot) { c.ClientSecret = "canary-2" }, "the client me client_secret=(hidden, "},
		"nothing":          {true, func(*config.MCPServer, *config.Snapshot) {}, `PLACE="here"`},
	} {
		h := start(t, map[string]config.MCPServer{"notes": first(x.local)})
		h.accept("notes")
		if len(h.Tools()) == 0 {
			t.Fatalf("%s: what was accepted is not in use: %s", name, h.Why("notes__do"))
		}
		c := first(x.local)
		x.do(&c, h.conf)
		h.conf.MCP.Servers["notes"] = c
		h.apply()
		if got := len(h.Tools()) > 0; got != (name == "nothing") {
			t.Errorf("%s: its tools can be called: %v", name, got)
		}
		offer, err := h.Test(t.Context(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(append(offer.Allows, offer.Changes...), "\n")
		if !strings.Contains(said, x.says) || strings.Contains(said, "canary") || len(said) > 4000 {
			t.Errorf("%s: it says %s", name, said)
		}
		if name != "nothing" && len(offer.Changes) == 0 {
			t.Errorf("%s: no difference is shown", name)
		}
		h.end()
	}
}
