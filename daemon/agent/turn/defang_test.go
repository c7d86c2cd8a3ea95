package turn_test

import (
	"encoding/json"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// heard is an input of a session.
func heard(text string, k event.Kind, trust event.Trust, typed bool, source string) llm.Item {
	return llm.Item{Kind: llm.Input, Role: llm.User, Parts: event.Say(text), Trust: trust, Source: source, Envelope: &llm.Envelope{Kind: k, Trust: trust, Typed: typed}}
}

// S5: an address is live when the owner gave it or when it came in from outside to the letter; what a model may have put there itself is neither.
func TestWhatMayStayLive(t *testing.T) {
	const link = "https://place.example/a?b=c"
	through := func(tool, args string, change ...func(*llm.Item)) []llm.Item {
		list := []llm.Item{
			{Kind: llm.CallItem, CallID: "t1_1", Tool: tool, Args: json.RawMessage(args), Provider: "p"},
			{Kind: llm.ResultItem, CallID: "t1_1", Tool: tool, Parts: event.Say("it says (" + link + "), and more")},
		}
		for _, f := range change {
			f(&list[0])
			f(&list[1])
		}
		return list
	}
	for _, c := range []struct {
		name  string
		items []llm.Item
		live  bool
	}{
		{"nothing was said", nil, false},
		{"the owner typed it", []llm.Item{heard("see "+link+".", event.Message, event.Owner, true, "cli")}, true},
		{"the owner forwarded it", []llm.Item{heard("see "+link, event.Message, event.Public, false, "telegram")}, true},
		{"a mail has it", []llm.Item{heard("see "+link, event.Message, event.Public, false, "email")}, true},
		{"a longer one", []llm.Item{heard("see "+link+"d", event.Message, event.Owner, true, "cli")}, false},
		{"the end of another", []llm.Item{heard("see https://x.example/"+link, event.Message, event.Owner, true, "cli")}, false},
		{"a report of a process", []llm.Item{heard("see "+link, event.Report, event.Owner, false, "process")}, false},
		{"the task of a sub-agent", []llm.Item{heard("see "+link, event.Message, event.Public, false, "sessions_spawn")}, false},
		{"the model said it", []llm.Item{{Kind: llm.Text, Parts: event.Say(link)}}, false},
		{"a summary", []llm.Item{{Kind: llm.Summary, Parts: event.Say(link)}}, false},
		{"a file", through("read", `{"path":"/tmp/l.txt"}`), true},
		{"a page", through("web_fetch", `{"url":"https://x.example"}`), true},
		{"a page, by the catalog", through("tool", `{"action":"call","name":"http","arguments":{"method":"GET","url":"https://x.example"}}`), true},
		{"a file that tainted turns write", through("read", `{"path":".scratch/main/x"}`), false},
		{"the same, hidden", through("read", `{"path":".scratc\u0068/main/x"}`), false},
		{"a page that a model was asked about", through("web_fetch", `{"url":"https://x.example","prompt":"say it"}`), false},
		{"a command", through("exec", `{"command":"echo x"}`), false},
		{"a note", through("todo", `{}`), false},
		{"a sub-agent", through("sessions_spawn", `{}`), false},
		{"a tool of a server", through("everything__echo", `{}`), false},
		{"an error that repeats it", through("read", `{"path":"x"}`, func(it *llm.Item) { it.IsError = true }), false},
		{"the interpreter's command", through("exec", `{"command":"cat x"}`, func(it *llm.Item) { it.Provider = llm.Builtin }), true},
	} {
		text := "look: " + link + ", please"
		if got := turn.NewDefanger(true, c.items).Defang(text); (got == text) != c.live {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := turn.NewDefanger(false, c.items).Defang(text); got != text {
			t.Errorf("%s, not tainted: %q", c.name, got)
		}
	}
	// The stranger's 9: a name that is followed by more, as in the lines that grep shows.
	found := turn.NewDefanger(true, []llm.Item{
		{Kind: llm.CallItem, CallID: "t1_1", Tool: "grep", Args: json.RawMessage(`{"pattern":"milk"}`), Provider: llm.Builtin},
		{Kind: llm.ResultItem, CallID: "t1_1", Tool: "grep", Parts: event.Say("shopping.md:3:- milk\nsome.md:1/x:milk")},
	})
	for text, want := range map[string]string{
		"shopping.md:3:- milk":   "shopping.md:3:- milk",
		"shopping.md:31":         "shopping[.]md:31",
		"shopping.md:3/milk":     "shopping[.]md:3/milk",
		"shopping.md:3?q=milk":   "shopping[.]md:3?q=milk",
		"sub.shopping.md:3:milk": "sub[.]shopping[.]md:3:milk",
		"some.md:1":              "some[.]md:1",
	} {
		if got := found.Defang(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	given := turn.NewDefanger(true, []llm.Item{heard("see place.example/x", event.Message, event.Owner, true, "cli")})
	if got := given.Defang("https://place.example/x https://place.example/y"); got != "https://place.example/x https[:]//place[.]example/y" {
		t.Errorf("given without its scheme: %q", got)
	}
}
