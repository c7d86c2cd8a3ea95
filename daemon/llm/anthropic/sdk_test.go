// The SDK takes a minute to compile, once more with the race detector, and nothing here runs side by side.

//go:build !race

package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// everything is a request with all that hob can send.
func everything(t *testing.T) llm.Request {
	t.Helper()
	picture := event.Part{Kind: event.Image, Artifact: "picture", Name: "harbour.png", MIME: "image/png"}
	document := event.Part{Kind: event.File, Artifact: "document", Name: "plan.pdf", MIME: "application/pdf"}
	thought := answer(t, thoughtful())
	return llm.Request{
		System: "be kind <&> \u2028 ü",
		Tools:  tools(),
		Messages: []llm.Message{
			{Role: llm.User, Parts: []event.Part{{Kind: event.Text, Text: "look at these"}, picture, document}},
			spoken(thought),
			{Role: llm.ToolRole, CallID: "t1", Parts: []event.Part{{Kind: event.Text, Text: "a picture"}, picture}},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "t2", Name: "exec", Args: json.RawMessage(`"no object"`)}, {ID: "t3", Name: "read", Args: json.RawMessage(`{"path":"b"}`)}}},
			{Role: llm.ToolRole, CallID: "t2", Parts: event.Say("it is no object"), IsError: true},
			{Role: llm.ToolRole, CallID: "t3", Parts: event.Say("")},
			user(" "),
		},
	}
}

// What hob sends is decoded by the vendor's own types: they know every field, and read the same from it.
func TestTheVendorReadsRequests(t *testing.T) {
	files := artifacts{"picture": "\x89PNG\r\n\x1a\nrest", "document": "%PDF-1.7\nrest"}
	for _, c := range []struct{ model, thinking string }{
		{"claude-sonnet-4-6", ""},
		{"claude-sonnet-4-6", "high"},
		{"claude-opus-5", "off"},
		{"claude-opus-5-5", "off"},
		{"claude-opus-5-5", "xhigh"},
		{"claude-sonnet-5-5", "off"},
		{"claude-haiku-4-5", "medium"},
		{"claude-haiku-4-5", "off"},
		{"claude-nobody", "low"},
	} {
		r := &recorder{bodies: []string{data(started, starts(0, text), says(0, "so"), ends(0), finished("end_turn"), stopped)}}
		conf := config(r)
		conf.Model, conf.Thinking, conf.Files = c.model, c.thinking, files
		if _, err := open(t, conf).Answer(t.Context(), everything(t), nil); err != nil {
			t.Fatal(err)
		}
		var read sdk.MessageNewParams
		if err := json.Unmarshal([]byte(r.last()), &read); err != nil {
			t.Fatalf("%s %s: %v\n%s", c.model, c.thinking, err, r.last())
		}
		// A field that the types do not know is lost when they write what they have read.
		again, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		sent, back := plain(t, []byte(r.last())), plain(t, again)
		delete(sent, "stream") // the SDK adds it by itself
		if diff := cmp.Diff(sent, back); diff != "" {
			t.Errorf("%s %s: the vendor reads another request:\n%s", c.model, c.thinking, diff)
		}
		checkRead(t, c.model, c.model == "claude-sonnet-4-6", read)
	}
}

// checkRead checks what the vendor's types have read. thinks says that the earlier thinking is of this model.
func checkRead(t *testing.T, model string, thinks bool, read sdk.MessageNewParams) {
	t.Helper()
	if string(read.Model) != model || len(read.System) != 1 || len(read.Tools) != 2 || read.MaxTokens == 0 {
		t.Errorf("%s: %+v", model, read)
	}
	marks := 0
	count := func(c *sdk.CacheControlEphemeralParam) {
		if c != nil && c.Type == "ephemeral" {
			marks++
		}
	}
	for i := range read.Tools {
		count(read.Tools[i].GetCacheControl())
	}
	count(&read.System[0].CacheControl)
	var kinds []string
	for _, m := range read.Messages {
		for i := range m.Content {
			count(m.Content[i].GetCacheControl())
			kinds = append(kinds, *m.Content[i].GetType())
		}
	}
	first := "text image text document"
	if want := "text tool_use"; thinks {
		first += " thinking redacted_thinking text thinking tool_use"
	} else {
		first += " " + want
	}
	if got, want := strings.Join(kinds, " "), first+" tool_result tool_use tool_use tool_result tool_result text"; got != want {
		t.Errorf("%s: the blocks are\n%s, want\n%s", model, got, want)
	}
	if marks != 4 {
		t.Errorf("%s: %d breakpoints", model, marks)
	}
}

// plain is JSON as maps, with its numbers as they are written.
func plain(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The servers of these tests speak as the vendor's types read it: they put the same answer together as hob.
func TestTheVendorReadsTheTestServer(t *testing.T) {
	a := llmtest.UseAll(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("exec", `{"command":"b"}`))
	a.Text, a.Reasoning = "über all", "they said hello"
	a.Usage = llm.Usage{Input: 1000, Cached: 600, Written: 300, Written1h: 100, Output: 40, Reasoning: 7}
	var whole sdk.Message
	for _, e := range strings.Split(llmtest.Streamed(a).MessagesWire(0), "\n\n") {
		_, raw, ok := strings.Cut(e, "data: ")
		if !ok {
			continue
		}
		var read sdk.MessageStreamEventUnion
		if err := json.Unmarshal([]byte(raw), &read); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if read.Type == "ping" {
			continue // the SDK's stream drops it before
		}
		if err := whole.Accumulate(read); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	var got []string
	for _, b := range whole.Content {
		got = append(got, fmt.Sprint(b.Type, " ", b.Text, b.Thinking, b.Signature, b.Name, string(b.Input)))
	}
	want := []string{"thinking they said hello" + llmtest.Signed(a.Reasoning), "text über all", `tool_use read{"path":"a"}`, `tool_use exec{"command":"b"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	u := whole.Usage
	if u.InputTokens != 100 || u.CacheReadInputTokens != 600 || u.CacheCreationInputTokens != 300 || u.CacheCreation.Ephemeral1hInputTokens != 100 || u.OutputTokens != 40 || whole.StopReason != "tool_use" {
		t.Errorf("%+v, %s", u, whole.StopReason)
	}
}
