package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
)

// pong is an answer to a call, and heard what the SDK gets of it.
const (
	pong  = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}`
	heard = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"ok","type":"text"}],"isError":false}}`
)

// outputs are what programs write to their standard output, with the number of messages and of what else hob finds in it.
func outputs() map[string]struct {
	text            string
	messages, stray int
} {
	return map[string]struct {
		text            string
		messages, stray int
	}{
		"one message":                        {pong + "\n", 1, 0},
		"no end of the line":                 {pong, 1, 0},
		"CR LF":                              {pong + "\r\n" + pong + "\r\n", 2, 0},
		"a banner (mcp-mermaid)":             {"STDIO MCP Server started\n" + pong + "\n", 1, 1},
		"an emoji (open-webSearch)":          {"🖥️ Server mode: STDIO\n" + pong + "\n", 1, 1},
		"a version (azure-devops-mcp)":       {"Azure DevOps MCP Server version : 1.0.0\n" + pong + "\n", 1, 1},
		"a tag (o8)":                         {"[db] Connected to /x\n" + pong + "\n", 1, 1},
		"several (NuGet.Mcp.Server)":         {"info: Starting\n      Hosting\n\n" + pong + "\n", 1, 2},
		"JSON over lines (azure-mcp)":        {"{\n  \"status\": 200,\n  \"message\": \"Success\",\n  \"results\": [],\n  \"duration\": 1189\n}\n" + pong + "\n", 1, 1},
		"a line of JSON (pino)":              {`{"level":30,"id":1,"msg":"ready"}` + "\n" + pong + "\n", 1, 1},
		"JSON that names a method (winston)": {`{"level":"info","method":"GET","id":1}` + "\n" + pong + "\n", 1, 1},
		"an object of Node's (console.log)":  {"{\n  name: 'x',\n  tools: [ 'a' ]\n}\n" + pong + "\n", 1, 1},
		"later":                              {pong + "\nDocumentationScraperService initialized\n" + pong + "\n", 2, 1},
		"a byte order mark (PowerShell)":     {"\ufeff" + pong + "\n", 1, 0},
		"an opened bracket":                  {"{\n" + pong + "\n", 1, 1},
		"a bracket that is never closed":     {"{\"a\": [\n1,\n" + pong + "\n" + pong + "\n", 2, 1},
		"two on a line":                      {pong + pong + "\n", 2, 0},
		"a batch":                            {"[" + pong + "," + pong + "]\n", 2, 0},
		"a batch over lines":                 {"[\n" + pong + ",\n" + pong + "\n]\n", 2, 0},
		"over lines (json.dumps indent=2)":   {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"content\": [\n      {\"type\": \"text\", \"text\": \"}{\\\"\"}\n    ]\n  }\n}\n", 1, 0},
		// Nothing is taken out of the middle of a line: it may be a log that quotes the message of somebody else.
		"a log that quotes a message": {"fetched: " + pong + "\n" + pong + "\n", 1, 1},
		"a message with a remark":     {pong + " sent\n" + pong + "\n", 1, 1},
		"a batch with something else": {"[" + pong + ",{\"a\":1}]\n" + pong + "\n", 1, 1},
		"half of one":                 {pong[:30] + "\n" + pong + "\n", 1, 1},
		"garbage":                     {"\x00\xff\n" + pong + "\n", 1, 1},
	}
}

// Kind 9.4: what is no message is skipped, wherever the program's output is cut, and every message is read.
func TestStrayOutput(t *testing.T) {
	t.Parallel()
	for name, c := range outputs() {
		for cut := range len(c.text) + 1 {
			list, strays := mcp.ReadLines([]byte(c.text[:cut]), []byte(c.text[cut:]))
			if len(list) != c.messages || len(strays) != c.stray {
				t.Fatalf("%s, cut at %d: %d messages, %q", name, cut, len(list), strays)
			}
			if slices.ContainsFunc(list, func(one string) bool {
				return name != "over lines (json.dumps indent=2)" && one != heard && one != pong
			}) {
				t.Fatalf("%s, cut at %d: %q", name, cut, list)
			}
		}
	}
}

// A server with a banner works, in each revision of the protocol, and the owner is told what hob skips.
func TestABannerIsSkipped(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		through(t, "stdio", old, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
			script.Stdout = "Server running on stdio\n[db] connected\n"
			script.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Noise}
			s.Play(script)
			h := start(t, map[string]config.MCPServer{"notes": c})
			offer := h.accept("notes")
			wantText(t, h.call(t.Context(), h.tool("notes__do"), `{}`), "ok do")
			wantText(t, h.call(t.Context(), h.tool("notes__do"), `{}`), "ok do")
			view, err := h.Show(t.Context(), "notes")
			if err != nil || !strings.Contains(view.Skipped, "4 times since the server's start; first: “Server running on stdio”") || view.Problem != "" || view.State != "running" {
				t.Errorf("%+v, %v", view, err)
			}
			if !strings.Contains(offer.Skipped, "2 times") {
				t.Errorf("the test says %q", offer.Skipped)
			}
		})
	}
}

// Lines without end are bounded like everything else that a server sends.
func TestStrayFlood(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for range 20_000 {
		text.WriteString("x\n")
	}
	list, strays := mcp.ReadLines([]byte(text.String() + pong + "\n"))
	if len(list) > 0 || len(strays) != 3 {
		t.Errorf("%d messages after 80 MB of costs, %d logged", len(list), len(strays))
	}
	list, _ = mcp.ReadLines([]byte(strings.Repeat("x", 9<<20) + "\n" + pong + "\n"))
	if len(list) > 0 {
		t.Error("a line of 9 MB was taken")
	}
}

// envelopes are answers whose frame differs from JSON-RPC, with the answer that they can only be.
func envelopes() map[string]struct{ sent, want string } {
	const result = `"result":{"content":[{"type":"text","text":"ok"}]}`
	return map[string]struct{ sent, want string }{
		"an id as a text":               {`{"jsonrpc":"2.0","id":"1",` + result + `}`, heard},
		"an id of Lua or Gson":          {`{"jsonrpc":"2.0","id":1.0,` + result + `}`, heard},
		"no version":                    {`{"id":1,` + result + `}`, heard},
		"another version":               {`{"jsonrpc":2.0,"id":1,` + result + `}`, heard},
		"members that nobody asked for": {`{"jsonrpc":"2.0","id":1,` + result + `,"time":3}`, heard},
		"an error that is null":         {`{"jsonrpc":"2.0","id":1,` + result + `,"error":null}`, heard},
		"no result (ignored nulls)":     {`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`},
		"an error as a text":            {`{"jsonrpc":"2.0","id":1,"error":"no such tool"}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false},"error":{"code":-32603,"message":"no such tool"}}`},
		"a code as a text":              {`{"jsonrpc":"2.0","id":1,"error":{"code":"-32602","message":"no a"}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false},"error":{"code":-32602,"message":"no a"}}`},
		"a message that is an object":   {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{"a":"b"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false},"error":{"code":1,"message":"{\"a\":\"b\"}"}}`},
	}
}

// What stands around a result never costs it, if it can mean only one thing.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	for name, c := range envelopes() {
		list, strays := mcp.ReadLines([]byte(c.sent + "\n"))
		if len(list) != 1 || list[0] != c.want || len(strays) > 0 {
			t.Errorf("%s: %q, skipped %q, want %s", name, list, strays, c.want)
		}
	}
	for _, none := range []string{`{"id":1}`, `{"id":"x","result":{}}`, `{"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"method":"ping","id":1}`, `"x"`, `1`, `[]`, `[[]]`} {
		if list, strays := mcp.ReadLines([]byte(none + "\n" + pong + "\n")); len(list) != 1 || len(strays) != 1 {
			t.Errorf("%s: %q, skipped %q", none, list, strays)
		}
	}
}

// Nothing that a program writes makes hob panic, and no message appears that is not in it.
func FuzzLines(f *testing.F) {
	for _, c := range outputs() {
		f.Add([]byte(c.text), 7)
	}
	for _, c := range envelopes() {
		f.Add([]byte(c.sent+"\n"), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		whole, _ := mcp.ReadLines(text)
		parts, _ := mcp.ReadLines(text[:cut], text[cut:])
		if !slices.Equal(whole, parts) {
			t.Errorf("whole %q, cut at %d %q", whole, cut, parts)
		}
		if n := strings.Count(string(text), "{"); len(whole) > n {
			t.Errorf("%d messages of %d objects", len(whole), n)
		}
	})
}

// Over HTTP an answer is read in each of these forms too. One that is no message costs the call, not the connection.
func TestEventsFromTheField(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{true, false} { // the type of the body
		s := mcptest.New(t, one(func(s *mcptest.Script) { s.JSON = json }))
		h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
		h.accept("notes")
		wantText(t, h.call(t.Context(), h.tool("notes__do"), `{}`), "ok do")
		for _, fault := range []mcptest.Fault{mcptest.Batch, mcptest.TextID, mcptest.Unversion, mcptest.Neither, mcptest.Garbage, ""} {
			script := one(func(s *mcptest.Script) {
				s.JSON, s.Faults = json, map[string]mcptest.Fault{"tools/call": fault}
			})
			s.Play(script)
			before := len(s.Got("server/discover"))
			r := h.call(t.Context(), h.tool("notes__do"), `{}`)
			if r.IsError != (fault == mcptest.Garbage) || r.IsError && r.Code != tools.OutcomeUnknown {
				t.Errorf("json %v, %s: %s", json, fault, shown(r))
			}
			if n := len(s.Got("server/discover")); n != before {
				t.Errorf("json %v, %s: connected %d times", json, fault, n)
			}
		}
		if view, err := h.Show(t.Context(), "notes"); err != nil || !strings.Contains(view.Skipped, "“this is no JSON”") {
			t.Errorf("%s, %v", fmt.Sprint(view), err)
		}
		h.end()
	}
}
