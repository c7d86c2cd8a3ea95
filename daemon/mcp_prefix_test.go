package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/mcp/mcptest"
)

// prefix is what a request begins with: the tools and the system text.
func prefix(t *testing.T, r llmtest.Request) (tools, system []byte, messages []json.RawMessage) {
	t.Helper()
	var body struct {
		Tools    json.RawMessage
		Messages []json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Messages) == 0 || len(body.Tools) == 0 {
		t.Fatalf("%v: %.300s", err, r.Body)
	}
	return body.Tools, body.Messages[0], body.Messages
}

// accept accepts what a server offers, and waits until one of its tools can be called.
func (r *running) accept(server, tool string) {
	r.t.Helper()
	offer, err := client.Do(r.t.Context(), r.client, api.TestMCP, server, api.None{})
	if err == nil {
		_, err = client.Do(r.t.Context(), r.client, api.AcceptMCP, server, api.MCPHash{Hash: offer.Hash})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.until("its tools can be called", func() bool {
		list, err := client.List(r.t.Context(), r.client, api.List[struct{ Name string }](api.Tools), client.Filter{})
		return err == nil && slices.ContainsFunc(list, func(t struct{ Name string }) bool { return t.Name == tool })
	})
}

// With 150 tools of an MCP server the request's prefix is not a byte longer than without, and it stays as it is when servers come, go and
// change. The model finds their tools by search and calls them.
func TestPrefixWithServers(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer()
	defer model.Close()
	script := mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("track_parcel", "Tells where a parcel is.")}, Generated: 149, Filler: 200}
	server := mcptest.New(t, script)
	home := t.TempDir()
	plain := fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"scripted\"\nbase_url = %q\n[owner]\nname = \"Sam\"\ntimezone = \"UTC\"\n", model.URL)
	write(t, home, plain)
	r := start(t, home)
	say := func(text string, turns ...llmtest.Turn) []llmtest.Request {
		before := len(model.Requests())
		model.Push(append(turns, llmtest.Streamed(llmtest.Say("noted")))...)
		r.say(text)
		return model.Requests()[before:]
	}
	tools, system, _ := prefix(t, say("hello")[0])

	write(t, home, plain+fmt.Sprintf("[mcp.servers.post]\nurl = %q\n", server.URL))
	r.until("the server is known", func() bool {
		list, err := client.List(t.Context(), r.client, api.MCPServers, client.Filter{})
		return err == nil && len(list) == 1
	})
	r.accept("post", "post__track_parcel")
	r.say("/new")
	use := func(id, args string) llmtest.Turn {
		return llmtest.Streamed(llm.Answer{Calls: []llm.Call{{ID: id, Name: "tool", Args: json.RawMessage(args)}}})
	}
	list := say("hello", use("c1", `{"action":"search","query":"where is my parcel"}`), use("c2", `{"action":"call","name":"post__track_parcel","arguments":{"a":"17"}}`))
	last := string(list[len(list)-1].Body)
	if !strings.Contains(last, "post__track_parcel") || !strings.Contains(last, "ok track_parcel") {
		t.Errorf("the tool was not found or not called: %.2000s", last[max(0, len(last)-2000):])
	}
	var before []json.RawMessage
	look := func(when string, r llmtest.Request) {
		t.Helper()
		nowTools, nowSystem, messages := prefix(t, r)
		if !bytes.Equal(tools, nowTools) || !bytes.Equal(system, nowSystem) {
			t.Errorf("%s the prefix is another one: %d and %d bytes, before %d and %d", when, len(nowTools), len(nowSystem), len(tools), len(system))
		}
		for i, m := range before {
			if i >= len(messages) || !bytes.Equal(m, messages[i]) {
				t.Errorf("%s message %d is another one", when, i)
				break
			}
		}
		before = messages
	}
	for i, one := range list {
		look(fmt.Sprintf("with the server, request %d,", i), one)
	}
	// It changes its list, which switches it off; it is accepted again.
	script.Generated = 10
	server.Play(script)
	if _, err := client.Do(t.Context(), r.client, api.RemoveMCP, "post", api.None{}); err != nil {
		t.Fatal(err)
	}
	look("after it was removed", say("hello again")[0])
	r.accept("post", "post__track_parcel")
	look("after it was accepted again", say("and again")[0])
	if n := len(server.Got("tools/call")); n != 1 {
		t.Errorf("%d calls reached the server", n)
	}
}

// A tool that some providers refuse is in no request, whatever the config says: one such tool would stop every turn. It is reached through "tool".
func TestFlatServersOnlyWhereTheyFit(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"[mcp]\nflat = true\n", "[tools]\ncore = [\"*\"]\n"} {
		model := llmtest.NewServer()
		defer model.Close()
		either := mcptest.Raw(map[string]any{"name": "either", "description": "Takes one of two.", "inputSchema": json.RawMessage(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`)})
		server := mcptest.New(t, mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("fits", "Fits."), mcptest.Tool("a.b", "Has a dot."), mcptest.Tool(strings.Repeat("a", 60), "Is long."), either}})
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"scripted\"\nbase_url = %q\n[mcp.servers.post]\nurl = %q\n%s", model.URL, server.URL, setting))
		r := start(t, home)
		r.plug("post")
		r.until("the tools are in the requests", func() bool { return r.has("post__fits") })
		model.Push(llmtest.Streamed(llmtest.Say("noted")))
		r.say("hello")
		raw, _, _ := prefix(t, model.Requests()[0])
		var sent []struct{ Function struct{ Name string } }
		if err := json.Unmarshal(raw, &sent); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range sent {
			if strings.HasPrefix(one.Function.Name, "post__") || one.Function.Name == "tool" {
				names = append(names, one.Function.Name)
			}
		}
		slices.Sort(names)
		if len(names) != 4 || !strings.HasPrefix(names[0], "post__a_b_") || !strings.HasPrefix(names[1], "post__aaaa") || names[2] != "post__fits" {
			t.Errorf("%s: %v", setting, names)
		}
		if behind := r.server("post").Behind; strings.HasPrefix(setting, "[mcp]") && (len(behind) != 1 || !strings.HasPrefix(behind[0], "either: its parameters have oneOf")) {
			t.Errorf("%s: the owner is told %q", setting, behind)
		}
	}
}
