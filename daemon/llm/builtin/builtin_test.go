package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
	"hob/daemon/llm/llmtest"
)

// phrases reads the few forms that the tests use.
type phrases struct{}

var phraseForm = regexp.MustCompile(`(?i)^(in \d+ ?(m|minutes)|every \d+s|every weekday at \d+|at \d+(:\d\d)?( tomorrow)?|tomorrow( at \d+|\s\d+:\d\d)?)(\W|$)`)

var errPast = errors.New("09:00 today has passed")

func (phrases) Prefix(words string) (string, string, error) {
	if strings.HasPrefix(words, "at 9 today") {
		return "", "", errPast
	}
	found := phraseForm.FindStringSubmatch(words)
	if found == nil {
		return "", "", builtin.ErrNoPhrase
	}
	return found[1], strings.TrimLeft(words[len(found[1]):], " "), nil
}

func offered(names ...string) []llm.Tool {
	var tools []llm.Tool
	for _, n := range names {
		tools = append(tools, llm.Tool{Name: n, Description: n, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return tools
}

func allTools() []llm.Tool {
	return offered("read", "write", "ls", "grep", "memory_search", "memory_get", "memory_write", "memory_forget", "exec", "cron", "message", "ask", "result_read", "wait_task")
}

func newModel() llm.Model {
	return builtin.New(builtin.Options{Phrases: phrases{}, Owner: "Sam"})
}

func typed(turn int64, text string) llm.Message {
	return llm.Message{
		Role: llm.User, Parts: event.Say(text), Step: llm.Place{Turn: turn},
		Envelope: &llm.Envelope{Source: "cli", Trust: event.Owner, Kind: event.Message, Typed: true},
	}
}

func called(turn int64, calls ...llm.Call) llm.Message {
	return llm.Message{Role: llm.Assistant, Calls: calls, Step: llm.Place{Turn: turn, Step: 1}}
}

func result(turn int64, id, text string, failed bool) llm.Message {
	return llm.Message{Role: llm.ToolRole, CallID: id, Parts: event.Say(text), IsError: failed, Step: llm.Place{Turn: turn, Step: 2}}
}

func ask(t *testing.T, messages ...llm.Message) llm.Answer {
	t.Helper()
	a, err := newModel().Answer(t.Context(), llm.Request{Tools: allTools(), Messages: messages}, nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return a
}

func TestCommandsBecomeCalls(t *testing.T) {
	for _, c := range []struct{ text, tool, args string }{
		{"remind me in 20m to stretch", "cron", `{"action":"add","schedule":"in 20m","prompt":"say: stretch"}`},
		{"Remind me at 17:00 to call", "cron", `{"action":"add","schedule":"at 17:00","prompt":"say: call"}`},
		{"remind me tomorrow at 9 to pay the rent", "cron", `{"action":"add","schedule":"tomorrow at 9","prompt":"say: pay the rent"}`},
		{"remind me to stretch in 20m", "cron", `{"action":"add","schedule":"in 20m","prompt":"say: stretch"}`},
		{"remind me to go home at 17:00 tomorrow.", "cron", `{"action":"add","schedule":"at 17:00 tomorrow","prompt":"say: go home"}`},
		{"every weekday at 9: read todo.txt", "cron", `{"action":"add","schedule":"every weekday at 9","prompt":"read todo.txt"}`},
		// U32: what is to be said is kept as that, so that it is a reminder also when a model answers.
		{"at 17:00 tomorrow: say time to go", "cron", `{"action":"add","schedule":"at 17:00 tomorrow","prompt":"say: time to go"}`},
		{"at 17:00: Say hi", "cron", `{"action":"add","schedule":"at 17:00","prompt":"say: hi"}`},
		{"every weekday at 9: SAY: go", "cron", `{"action":"add","schedule":"every weekday at 9","prompt":"say: go"}`},
		{"every weekday at 9: sayings of the day", "cron", `{"action":"add","schedule":"every weekday at 9","prompt":"sayings of the day"}`},
		{"at 17:00 tomorrow: say: bye", "cron", `{"action":"add","schedule":"at 17:00 tomorrow","prompt":"say: bye"}`},
		{"in 10 minutes: run date", "cron", `{"action":"add","schedule":"in 10 minutes","prompt":"run date"}`},
		{"every 5s: run date && echo <1>", "cron", `{"action":"add","schedule":"every 5s","prompt":"run date && echo <1>"}`},
		{"every 5s: 日本", "cron", `{"action":"add","schedule":"every 5s","prompt":"日本"}`},
		{"run df -h", "exec", `{"command":"df -h"}`},
		{"run  cat <<EOF\na\n\nEOF", "exec", `{"command":"cat <<EOF\na\n\nEOF"}`},
		{"run echo in 20m: x", "exec", `{"command":"echo in 20m: x"}`},
		{"read notes.md", "read", `{"path":"notes.md"}`},
		{`read "my notes"`, "read", `{"path":"my notes"}`},
		{"read the file shopping list.md", "read", `{"path":"shopping list.md"}`},
		{"find TODO in *.go", "grep", `{"pattern":"TODO","include":"*.go"}`},
		{"find a+b in src", "grep", `{"pattern":"a\\+b","path":"src"}`},
		{`find "one in two"`, "grep", `{"pattern":"one in two"}`},
		{"find milk", "grep", `{"pattern":"milk"}`},
		{"what do you know about bread?", "memory_search", `{"query":"bread"}`},
		{"what do you know about bread", "memory_search", `{"query":"bread"}`},
		{"Please, what do you know about the DOOR?", "memory_search", `{"query":"the DOOR"}`},
		{"tell me what you know about Anna please", "memory_search", `{"query":"Anna"}`},
		{"do you remember Anna's birthday?", "memory_search", `{"query":"Anna's birthday"}`},
		{"what do you know about me?", "memory_get", `{"path":"MEMORY.md"}`},
		{"remember that the door code is 4711", "memory_write", `{"content":"the door code is 4711"}`},
		{"Remember the door code is 4711.", "memory_write", `{"content":"the door code is 4711."}`},
		{"please remember that I like tea!", "memory_write", `{"content":"I like tea!"}`},
		{"Hob, could you please remember that I like tea, please?", "memory_write", `{"content":"I like tea"}`},
		{"REMEMBER: tea", "memory_write", `{"content":"tea"}`},
		{"remember:tea", "memory_write", `{"content":"tea"}`},
		{"Note that Anna is\nmy sister", "memory_write", `{"content":"Anna is\nmy sister"}`},
		{"don't forget that the bin goes out at 7:30: always", "memory_write", `{"content":"the bin goes out at 7:30: always"}`},
		{"remember to stretch in 20m", "cron", `{"action":"add","schedule":"in 20m","prompt":"say: stretch"}`},
		{"Don't forget to go home at 17:00 tomorrow", "cron", `{"action":"add","schedule":"at 17:00 tomorrow","prompt":"say: go home"}`},
		{"forget the door code", "memory_forget", `{"what":"the door code"}`},
		{"Please forget that \"I like tea\".", "memory_forget", `{"what":"I like tea"}`},
		{"forget what I told you about Anna!", "memory_forget", `{"what":"Anna"}`},
		{"forget memory/home.md:12", "memory_forget", `{"what":"memory/home.md:12"}`},
		{"list files in src", "ls", `{"path":"src"}`},
		{"list files", "ls", `{"path":"."}`},
		{"ls src", "ls", `{"path":"src"}`},
		{"ls", "ls", `{"path":"."}`},
		{"write notes.md: buy milk", "write", `{"path":"notes.md","content":"buy milk"}`},
		{"write to letters/anna.md: hi", "write", `{"path":"letters/anna.md","content":"hi"}`},
		{"write to.md: hi", "write", `{"path":"to.md","content":"hi"}`},
		{"write notes.md:\n# A\nat 9: b", "write", `{"path":"notes.md","content":"# A\nat 9: b"}`},
		{"list jobs", "cron", `{"action":"list"}`},
		{"pause morning", "cron", `{"action":"pause","name":"morning"}`},
		{"resume the job morning", "cron", `{"action":"resume","name":"morning"}`},
		{"delete morning.", "cron", `{"action":"remove","name":"morning"}`},
		{"pause #3", "cron", `{"action":"pause","name":"3"}`},
		{"run job morning", "cron", `{"action":"run","name":"morning"}`},
		{"runs of morning", "cron", `{"action":"runs","name":"morning"}`},
		{"send telegram:1 hello there", "message", `{"to":"telegram:1","content":"hello there"}`},
		{"send owner: hello", "message", `{"to":"owner","content":"hello"}`},
	} {
		t.Run(c.text, func(t *testing.T) {
			a := ask(t, typed(1, c.text))
			if len(a.Calls) != 1 || a.Finish != llm.ToolCall || a.Text != "" {
				t.Fatalf("want one call, got %+v", a)
			}
			if got := a.Calls[0]; got.Name != c.tool || string(got.Args) != c.args {
				t.Errorf("got  %s %s\nwant %s %s", got.Name, got.Args, c.tool, c.args)
			}
			if !builtin.Understands(c.text, phrases{}) {
				t.Error("it acts on this, so it must say that it understands it")
			}
		})
	}
}

func TestWhatIsAnsweredAtOnce(t *testing.T) {
	for _, c := range []struct {
		text, want string
		known      bool
	}{
		{"say: hello  there", "hello  there", true},
		{"SAY hello", "hello", true},
		{"help", "Hello Sam. I am the built-in interpreter.", true},
		{"help", "[model]", true},
		{"remind me to stretch", "When?", false},
		{"remind me in 20m", "What shall I remind you of?", false},
		{"remind me at 9 today to stretch", "I could not read that time: 09:00 today has passed", false},
		{"remind me to stretch at 9 today", "I could not read that time: 09:00 today has passed", false},
		{"at 9 today: run date", "I could not read that time: 09:00 today has passed", false},
		{"every 5s:", "What shall I do then?", false},
		{"what is the weather like?", "did not understand", false},
		{"read me a story", "did not understand", false},
		{"write a poem: about cats", "did not understand", false},
		{"pause the music now", "did not understand", false},
		{"send me the report", "did not understand", false},
		{"send none: x", "did not understand", false},
		{"remember", "What shall I remember?", false},
		{"please remember this!", "What shall I remember?", false},
		{"remember to stretch", "When shall I remind you? For example: remind me tomorrow at 9 to stretch", false},
		{"remember to stretch at 9 today", "I could not read that time: 09:00 today has passed", false},
		{"remember the milk?", "did not understand", false},
		{"remembering you", "did not understand", false},
		{"forget it", "What shall I forget?", false},
		{"forget", "What shall I forget?", false},
		{"note: buy milk", "did not understand", false},
		{"run", "did not understand", false},
		{"say", "did not understand", false},
		{"running late today", "did not understand", false},
		{"ready when you are", "did not understand", false},
		{"ls -la", "Did you mean: run ls -la", false},
		{"", "did not understand", false},
	} {
		t.Run(c.text, func(t *testing.T) {
			a := ask(t, typed(1, c.text))
			finish := llm.NotDone
			if c.known {
				finish = llm.Stop
			}
			if len(a.Calls) != 0 || a.Finish != finish || !strings.Contains(a.Text, c.want) {
				t.Errorf("want %q, got %+v", c.want, a)
			}
			if got := builtin.Understands(c.text, phrases{}); got != c.known {
				t.Errorf("Understands is %v", got)
			}
		})
	}
	// In a conversation with a model these words answer it, so the interpreter does not speak in its place.
	for text, want := range map[string]bool{"yes": false, "thanks": false, "stop": false, "today": false, "What time is it?": true, "what's the date today": true} {
		if builtin.Understands(text, phrases{}) != want {
			t.Errorf("Understands of %q is %v", text, !want)
		}
	}
}

func TestResultsAreTold(t *testing.T) {
	for _, c := range []struct {
		name, tool, args, result string
		failed                   bool
		want                     string
	}{
		{"list", "cron", `{"action":"list"}`, "no jobs", false, "no jobs"},
		{"output", "exec", `{}`, "exit code 0\na\nb\n", false, "a\nb"},
		{"silent command", "exec", `{}`, "exit code: 0\n", false, "Done. It printed nothing."},
		{"failed command", "exec", `{}`, "exit code: 2\nno such file", false, "no such file\n\nIt ended with exit code 2."},
		{"nothing printed", "exec", `{}`, "exit code 0 (3 ms)\n(no output)", false, "Done. It printed nothing."},
		{"fact", "memory_write", `{}`, "remembered in MEMORY.md below \"Notes\" (line 3)", false, "Remembered in MEMORY.md below \"Notes\" (line 3)"},
		{"forgotten", "tool", `{"action":"call","name":"memory_forget","arguments":{"what":"x"}}`, "forgotten: x", false, "Forgotten: x"},
		{"all facts", "memory_get", `{}`, "     1\tmilk\n     2\tbread\n(end of file)", false, "milk\nbread"},
		{"message", "message", `{}`, "queued for owner (2 characters)", false, "It is on its way: queued for owner (2 characters)"},
		{"silent failure", "exec", `{}`, "exit code: 2", false, "It ended with exit code 2 and printed nothing."},
		{"large output", "exec", `{}`, "[100109 bytes, stored as a95kq: page through it with result_read]\nexit code 0 (4ms)\n(the whole output is kept: result_read a1c39)\n1\n2\n", false, "1\n2\n\nThat is only a part. All of it: hob tool result_read a1c39"},
		{"stored output", "exec", `{}`, "[40000 bytes, stored as a95kq: page through it with result_read]\nexit code 3\n1\n", false, "1\n\nIt ended with exit code 3.\n\nThat is only a part. All of it: hob tool result_read a95kq"},
		{"other output", "exec", `{}`, "still running as p1", false, "still running as p1"},
		{"file", "read", `{}`, "     1\tmilk\n     2\t\n     3\tbread\n(end of file)", false, "milk\n\nbread"},
		{"empty file", "read", `{}`, "(the file is empty)", false, "(the file is empty)"},
		{"part of a file", "read", `{}`, "     8\tx\n(1 line shown; continue with offset=8)", false, "x\n\n(1 line shown; continue with offset=8)"},
		{"not numbered", "read", `{}`, "a\nb", false, "a\nb"},
		{"error", "read", `{}`, "NOT_FOUND: no file x\nhint: ls", true, "That did not work: no file x\nHint: ls"},
		{"empty error", "read", `{}`, "", true, "That did not work."},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := llm.Call{ID: "t1_1", Name: c.tool, Args: json.RawMessage(c.args)}
			a := ask(t, typed(1, "whatever it was, in quotes: say x"), called(1, call), result(1, "t1_1", c.result, c.failed))
			if !strings.HasSuffix(a.Text, c.want) || len(a.Calls) != 0 {
				t.Errorf("got  %q %v\nwant %q", a.Text, a.Calls, c.want)
			}
		})
	}
}

func TestSeveralInputsOfOneTurn(t *testing.T) {
	first := ask(t, typed(1, "run a"), typed(1, "say: hi"), typed(1, "read b"))
	if len(first.Calls) != 2 || first.Calls[0].ID == first.Calls[1].ID {
		t.Fatalf("want two calls, got %+v", first)
	}
	calls := []llm.Call{{ID: "t1_1", Name: "exec", Args: first.Calls[0].Args}, {ID: "t1_2", Name: "read", Args: first.Calls[1].Args}}
	said := []llm.Message{typed(1, "run a"), typed(1, "say: hi"), typed(1, "read b"), called(1, calls...), result(1, "t1_1", "A", false), result(1, "t1_2", "B", false)}
	if a := ask(t, said...); a.Text != "hi\n\nA\n\nB" {
		t.Errorf("got %q", a.Text)
	}
	joined := append(said, typed(1, "run c"))
	more := ask(t, joined...)
	if len(more.Calls) != 1 || string(more.Calls[0].Args) != `{"command":"c"}` {
		t.Fatalf("want the call of what joined, got %+v", more)
	}
	joined = append(joined, called(1, llm.Call{ID: "t1_3", Name: "exec"}), result(1, "t1_3", "C", false))
	if a := ask(t, joined...); a.Text != "hi\n\nA\n\nB\n\nC" {
		t.Errorf("got %q", a.Text)
	}
}

func TestOtherTurnsAreLeftAlone(t *testing.T) {
	a := ask(t, typed(1, "run something that was stopped"), typed(2, "say: hi"))
	if len(a.Calls) != 0 || a.Text != "hi" {
		t.Errorf("an input of a turn that has ended was acted on: %+v", a)
	}
	over := llm.Message{Role: llm.Assistant, Parts: event.Say("done")}
	a = ask(t, untold("run a"), over, untold("say: hi"))
	if len(a.Calls) != 0 || a.Text != "hi" {
		t.Errorf("an input that was answered was acted on again: %+v", a)
	}
}

func untold(text string) llm.Message { return llm.Message{Role: llm.User, Parts: event.Say(text)} }

func TestNotesAndReportsAreNoCommands(t *testing.T) {
	report := typed(1, "run rm x")
	report.Envelope.Kind = event.Report
	if a := ask(t, report); len(a.Calls) != 0 || a.Text != "run rm x" {
		t.Errorf("a report was acted on: %+v", a)
	}
	note := untold("run rm x")
	note.Step.Turn = 1
	if a := ask(t, typed(1, "say: hi"), note); len(a.Calls) != 0 || a.Text != "hi" {
		t.Errorf("a note was acted on: %+v", a)
	}
}

func TestALateResultIsTold(t *testing.T) {
	call := llm.Call{ID: "t1_1", Name: "exec"}
	pending := llm.Message{Role: llm.ToolRole, CallID: "t1_1", Parts: event.Say("pending #1")}
	other := llm.Message{Role: llm.Assistant, Parts: event.Say("done"), Step: llm.Place{Turn: 2}}
	late := untold("[late result of #1] exit code: 0\nA")
	late.Step.Turn = 1
	said := []llm.Message{typed(1, "run a"), called(1, call), pending, typed(2, "say: hi"), other, late}
	if a := ask(t, said...); a.Text != "A" {
		t.Errorf("got %q", a.Text)
	}
	failed := untold("[late result of #1] PERMISSION_DENIED: not approved")
	failed.Step.Turn = 1
	said[len(said)-1] = failed
	if a := ask(t, said...); a.Text != "That did not work: not approved" {
		t.Errorf("got %q", a.Text)
	}
	if a := ask(t, typed(1, "run a"), called(1, call), pending, typed(1, "say: hi")); !strings.Contains(a.Text, "still waiting") {
		t.Errorf("got %q", a.Text)
	}
}

func TestMissingToolsAreSaid(t *testing.T) {
	r := llm.Request{Tools: offered("read"), Messages: []llm.Message{typed(1, "run date")}}
	a, err := newModel().Answer(t.Context(), r, nil)
	if err != nil || len(a.Calls) != 0 || !strings.Contains(a.Text, "the tool exec is not available") {
		t.Errorf("got %+v, %v", a, err)
	}
	r.Messages = []llm.Message{typed(1, "help")}
	a, err = newModel().Answer(t.Context(), r, nil)
	if err != nil || strings.Contains(a.Text, "run df") || !strings.Contains(a.Text, "read notes.md") {
		t.Errorf("help names what is not there: %q, %v", a.Text, err)
	}
}

func TestAttachmentsAreKept(t *testing.T) {
	m := typed(1, "")
	m.Parts = []event.Part{{Kind: event.Image, Name: "a.jpg"}}
	if a := ask(t, m); !strings.Contains(a.Text, "I have kept that") {
		t.Errorf("got %q", a.Text)
	}
}

func TestNothingAtAll(t *testing.T) {
	if a := ask(t); a.Text == "" {
		t.Error("an empty request has an answer too")
	}
}

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{
			Model: newModel(),
			Plain: llm.Request{Tools: allTools(), Messages: []llm.Message{typed(1, "help")}},
			Calls: llm.Request{Tools: allTools(), Messages: []llm.Message{typed(1, "run a"), typed(1, "ls")}},
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"remind me in 20m to stretch", "every weekday at 9: read x", "run a\x00b", "write \"a b\": \xff", "send a:b c", "say:", "read “x”",
		"remind me", "list files in", ": :: :", "write a:\tb", "at 17:00 tomorrow: x",
	} {
		f.Add(s)
	}
	m := newModel()
	tools := allTools()
	f.Fuzz(func(t *testing.T, text string) {
		a, err := m.Answer(context.Background(), llm.Request{Tools: tools, Messages: []llm.Message{typed(1, text)}}, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if (a.Text == "") == (len(a.Calls) == 0) {
			t.Fatalf("%q: want text or a call, got %+v", text, a)
		}
		for _, c := range a.Calls {
			if !json.Valid(c.Args) {
				t.Fatalf("%q: arguments %s", text, c.Args)
			}
		}
		if len(a.Calls) > 0 && !builtin.Understands(text, phrases{}) {
			t.Fatalf("%q: acted on what it does not understand", text)
		}
		note := untold(text)
		note.Step.Turn = 1
		told, err := m.Answer(context.Background(), llm.Request{Tools: tools, Messages: []llm.Message{
			typed(1, "run a"), called(1, llm.Call{ID: "1", Name: "exec"}), result(1, "1", text, false), note, untold(text),
		}}, nil)
		if err != nil || len(told.Calls) > 0 {
			t.Fatalf("result %q: %+v, %v", text, told, err)
		}
	})
}
