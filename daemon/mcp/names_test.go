package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
	host "hob/tools/mcp"
)

// fieldNames are names that servers give to their tools, and that models' servers or rules of the config refuse.
func fieldNames() []string {
	return []string{
		"immich.search.metadata",                 // ImmichMCP
		"calendar.respondToEvent",                // google-workspace
		"catalog.get-entity-facets",              // backstage mcp-actions
		"hosting_restartNode.jsApplicationV1",    // hostinger-api-mcp
		"user-profile/update",                    // SEP-986
		"repos/{owner}/{repo}/issues",            // of OpenAPI generators
		"Get weather", "list:files", "a+b", "$x", // hand-made
		"搜索笔记", "поиск", "naïve", "🔍", // not ASCII
		strings.Repeat("very_long_operation_", 5), // FastMCP from OpenAPI
		"a.b", "a/b", "a b", "a_b", "A.b", // all of these look like a_b
		"оne", // with a Cyrillic letter
	}
}

// A name that hob or models cannot use gets a safe one, which depends on nothing but the name: not on the order, the other tools or the start.
func TestNamesFromTheField(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	var list []*sdk.Tool
	for _, name := range fieldNames() {
		list = append(list, tool(name, "Does it."))
	}
	p, hash := pin(t, config.MCPServer{Command: "x"}, list...)
	slices.Reverse(list)
	if _, again := pin(t, config.MCPServer{Command: "x"}, list...); again != hash || len(p.Tools) != len(list) {
		t.Fatalf("%d of %d tools, left out %q; in another order the hash is %s, before %s", len(p.Tools), len(list), p.LeftOut, again, hash)
	}
	seen := map[string]string{}
	for _, o := range p.Tools {
		d := host.Def{Server: "one", Name: o.Name, As: o.As}
		full := d.Full()
		if before, twice := seen[strings.ToLower(full)]; twice || !safe.MatchString(full) {
			t.Errorf("%q is called %q, as is %q", o.Name, full, before)
		}
		seen[strings.ToLower(full)] = o.Name
		if (tools.Spec{Name: full, Parameters: o.Input}).Unfit() != "" {
			t.Errorf("%q is in no request", full)
		}
		alone, _ := pin(t, config.MCPServer{Command: "x"}, tool(o.Name, "Does it."))
		if len(alone.Tools) != 1 || alone.Tools[0].As != o.As {
			t.Errorf("%q alone is called %q, with others %q", o.Name, alone.Tools[0].As, o.As)
		}
	}
	if o := p.Tools[slices.IndexFunc(p.Tools, func(o mcp.Offer) bool { return o.Name == "a_b" })]; o.As != "" {
		t.Errorf("a safe name was changed to %q", o.As)
	}
	if got := host.Short("notes", strings.Repeat("x", 57)); got != strings.Repeat("x", 57) {
		t.Errorf("a name that just fits was changed to %q", got)
	}
	if got := host.Short(strings.Repeat("s", 32), strings.Repeat("x", 31)); len(got) != 30 {
		t.Errorf("%q has %d characters", got, len(got))
	}
}

// A tool whose own name is that by which hob calls another one is not used, and neither is the other: a rule about the name would be about both.
func TestNamesThatCollide(t *testing.T) {
	t.Parallel()
	p, _ := pin(t, config.MCPServer{Command: "x"}, tool("a.b", "ok"), tool(host.Short("one", "a.b"), "evil"), tool("c", "ok"))
	if len(p.Tools) != 1 || p.Tools[0].Name != "c" || len(p.LeftOut) != 2 || !strings.Contains(p.LeftOut[0], "several tools have this name") {
		t.Errorf("%+v", p)
	}
	upper, _ := pin(t, config.MCPServer{Command: "x"}, tool("a.b", "ok"), tool(strings.ToUpper(host.Short("one", "a.b")), "evil"))
	if len(upper.Tools) != 0 {
		t.Errorf("%+v", upper.Tools)
	}
}

// The owner sees both names, and his rules, by either of them, are about this tool. A call of the server's name is one of the tool.
func TestMappedTool(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
		script.Tools = []json.RawMessage{mcptest.Tool("files.read", "Reads."), mcptest.Tool("files/рead", "Reads too."), mcptest.Tool("plain", "Is plain.")}
		s.Play(script)
		short, other := host.Short("notes", "files.read"), host.Short("notes", "files/рead")
		c.ReadOnly = []string{"files.read", other}
		h := start(t, map[string]config.MCPServer{"notes": c})
		offer := h.accept("notes")
		said := strings.Join(offer.Changes, "\n")
		if !strings.Contains(said, short+" (which the server calls “files.read”)") || !strings.Contains(said, other+" (which the server calls “files/") || strings.Contains(said, "рead") {
			t.Errorf("the owner is shown %s", said)
		}
		view, err := h.Show(t.Context(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range view.Tools {
			original := map[string]string{"notes__" + short: "files.read", "notes__" + other: "files/рead"}[one.Name]
			if one.Original != original || one.ReadOnly != (original != "") {
				t.Errorf("%+v", one)
			}
		}
		wantText(t, h.call(t.Context(), h.tool("notes__"+short), `{}`), "ok files.read")
		wantText(t, h.call(t.Context(), h.tool("notes__"+other), `{}`), "ok files/рead")
		set, err := tools.NewSet(h.Tools()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{"notes__files.read", "notes__" + short} {
			if got, ok := set.Find(said); !ok || got.Spec().Name != "notes__"+short {
				t.Errorf("%s is not found", said)
			}
		}
		if _, ok := set.Find("files.read"); ok {
			t.Error("a name without its server is found")
		}
	})
}

// A list that was accepted before tools had two names is compared: the owner is asked once more, and reads which name it has now.
func TestNewNameIsAChange(t *testing.T) {
	t.Parallel()
	now, _ := pin(t, config.MCPServer{Command: "x"}, tool("a.b", "ok"))
	was, _ := pin(t, config.MCPServer{Command: "x"}, tool("a.b", "ok"))
	was.Tools[0].As = ""
	if lines := mcp.Diff(&was, now); len(lines) != 1 || lines[0] != fmt.Sprintf("- hob calls a.b now %s (which the server calls “a.b”)", host.Short("one", "a.b")) {
		t.Errorf("%q", lines)
	}
	s := mcptest.New(t, mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("a.b", "Does it.")}})
	h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
	h.accept("notes")
	called := h.tool("notes__" + host.Short("notes", "a.b"))
	s.Play(mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("a/b", "Does it.")}})
	if r := h.call(t.Context(), called, `{}`); r.Code != tools.Conflict {
		t.Errorf("a tool of another name: %s", shown(r))
	}
}
