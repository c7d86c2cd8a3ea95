package mcp_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
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
		c.Issuer = "https://login.example.org"
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
		"an issuer":        {false, func(c *config.MCPServer, _ *config.Snapshot) { c.Issuer = "https://other.example.org" }, "hob signs in at https://other.example.org only"},
		"a secret in args": {true, func(c *config.MCPServer, _ *config.Snapshot) {
			c.Args = append(slices.Clone(c.Args), "--token", "canary-2")
		}, "--token (hidden,"},
		"nothing": {true, func(*config.MCPServer, *config.Snapshot) {}, `PLACE="here"`},
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

// A secret in the arguments is never shown, but the owner sees that it has changed.
func TestSecretInArguments(t *testing.T) {
	t.Parallel()
	c := config.MCPServer{Command: "x", Args: []string{"--token=canary-1", "--url", "https://x/?key=canary-1&a=b"}}
	was, _ := pin(t, c, tool("do", "does"))
	c.Args = []string{"--token=canary-2", "--url", "https://x/?key=canary-2&a=b"}
	now, _ := pin(t, c, tool("do", "does"))
	lines := strings.Join(mcp.Diff(&was, now), "\n")
	if strings.Contains(lines, "canary") || strings.Count(lines, "(hidden,") != 4 || !strings.Contains(lines, "&a=b") {
		t.Errorf("%s", lines)
	}
}

// The file of the program is part of what the owner accepts: another file under the same name asks again, and its tools are off until then.
func TestProgramIsPinned(t *testing.T) {
	t.Parallel()
	s := mcptest.New(t, one())
	file := filepath.Join(t.TempDir(), "server")
	write := func(comment string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("#!/bin/sh\n# "+comment+"\nexec "+os.Args[0]+"\n"), 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
	}
	write("one")
	c := program(s)
	c.Command, c.Args = file, nil
	h := start(t, map[string]config.MCPServer{"notes": c}, func(d *mcp.Deps) { d.Limits.Idle = time.Nanosecond })
	if offer := h.accept("notes"); !strings.Contains(strings.Join(offer.Allows, "\n"), "it runs "+file+", SHA-256 ") {
		t.Errorf("what is accepted does not say what it runs: %q", offer.Allows)
	}
	do := h.tool("notes__do")
	if r := h.call(t.Context(), do, `{}`); r.IsError {
		t.Fatalf("%+v", r)
	}
	h.end() // the program has ended
	write("two")
	h = start(t, map[string]config.MCPServer{"notes": c}, func(d *mcp.Deps) { d.Rows = h.store.Settings })
	if r := h.call(t.Context(), h.tool("notes__do"), `{}`); r.Code != tools.Conflict {
		t.Fatalf("another program was called: %+v", r)
	}
	offer, err := h.Test(t.Context(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(offer.Changes, "\n"); strings.Count(said, "it runs "+file) != 2 {
		t.Errorf("the difference is not shown: %s", said)
	}
	h.accept("notes")
	if r := h.call(t.Context(), h.tool("notes__do"), `{}`); r.IsError {
		t.Fatalf("%+v", r)
	}
}
