package builtin_test

import (
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
)

func asked(t *testing.T, tools []llm.Tool, messages ...llm.Message) llm.Answer {
	t.Helper()
	a, err := newModel().Answer(t.Context(), llm.Request{Tools: tools, Messages: messages}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWatchPhrases(t *testing.T) {
	for _, c := range []struct{ text, args string }{
		{"watch ~/Downloads/*.pdf: say: a new paper", `{"action":"add","paths":["~/Downloads/*.pdf"],"prompt":"say: a new paper"}`},
		{"Watch notes.md:\nread notes.md", `{"action":"add","paths":["notes.md"],"prompt":"read notes.md"}`},
		{`watch "/srv/my files": say: x`, `{"action":"add","paths":["/srv/my files"],"prompt":"say: x"}`},
		{`watch C:\logs\app.log: say: x`, `{"action":"add","paths":["C:\\logs\\app.log"],"prompt":"say: x"}`},
		{"list watches", `{"action":"list"}`},
		{"watches.", `{"action":"list"}`},
		{"pause watch papers", `{"action":"pause","name":"papers"}`},
		{"resume the watch papers", `{"action":"resume","name":"papers"}`},
		{"delete watch #3", `{"action":"remove","name":"3"}`},
		{"watch this: a trick", ""},
		{"watch the news: tell me", ""},
		{"watch out", ""},
	} {
		direct := asked(t, offered("watch"), typed(1, c.text))
		if c.args == "" {
			if len(direct.Calls) != 0 || builtin.Understands(c.text, phrases{}) {
				t.Errorf("%q is no command, and became %+v", c.text, direct.Calls)
			}
			continue
		}
		if len(direct.Calls) != 1 || direct.Calls[0].Name != "watch" || string(direct.Calls[0].Args) != c.args {
			t.Errorf("%q: %+v", c.text, direct)
			continue
		}
		if !builtin.Understands(c.text, phrases{}) {
			t.Errorf("%q is acted on, and not understood", c.text)
		}
		through := asked(t, offered("tool"), typed(1, c.text))
		if want := `{"action":"call","name":"watch","arguments":` + c.args + `}`; len(through.Calls) != 1 || through.Calls[0].Name != "tool" || string(through.Calls[0].Args) != want {
			t.Errorf("%q through the catalog: %+v", c.text, through)
		}
	}
	if a := asked(t, offered("watch"), typed(1, "watch a.txt:")); len(a.Calls) != 0 || !strings.Contains(a.Text, "What shall I do then?") {
		t.Errorf("a watch without a prompt: %+v", a)
	}
	if a := asked(t, offered("read"), typed(1, "list watches")); !strings.Contains(a.Text, "the tool watch is not available") {
		t.Errorf("without the tool: %+v", a)
	}
}

// TestJobOrWatch: "pause papers" is said of both. When there is no such job, the watches are asked, and only they are told of.
func TestJobOrWatch(t *testing.T) {
	said := []llm.Message{typed(1, "pause papers")}
	first := asked(t, allTools(), said...)
	if len(first.Calls) != 1 || first.Calls[0].Name != "cron" {
		t.Fatalf("%+v", first)
	}
	cron := first.Calls[0]
	cron.ID = "t1_1"
	for _, c := range []struct {
		text   string
		failed bool
		calls  int
	}{
		{"the watch papers is paused", false, 0},
		{"NOT_FOUND: there is no job papers\nhint: did you mean tea?", true, 1},
		{"PERMISSION_DENIED: there is no job for you", true, 0},
	} {
		a := asked(t, append(allTools(), offered("tool")...), append(said, called(1, cron), result(1, "t1_1", c.text, c.failed))...)
		if len(a.Calls) != c.calls {
			t.Errorf("%s: %+v", c.text, a)
		}
		if c.calls == 0 {
			continue
		}
		if want := `{"action":"call","name":"watch","arguments":{"action":"pause","name":"papers"}}`; string(a.Calls[0].Args) != want {
			t.Errorf("%s", a.Calls[0].Args)
		}
		watch := a.Calls[0]
		watch.ID = "t1_2"
		told := asked(t, append(allTools(), offered("tool")...), append(said, called(1, cron), result(1, "t1_1", c.text, true), called(1, watch), result(1, "t1_2", "the watch papers is paused", false))...)
		if len(told.Calls) != 0 || told.Text != "The watch papers is paused" {
			t.Errorf("%+v", told)
		}
	}
}

// TestNeitherJobNorWatch: a name that nobody has is told of once, and not as that of a watch; who names a watch is told of watches.
func TestNeitherJobNorWatch(t *testing.T) {
	both := append(allTools(), offered("watch")...)
	said := typed(1, "pause papers")
	cron := asked(t, both, said).Calls[0]
	cron.ID = "t1_1"
	noJob := result(1, "t1_1", "NOT_FOUND: there is no job papers\nhint: did you mean tea?", true)
	watch := asked(t, both, said, called(1, cron), noJob).Calls[0]
	watch.ID = "t1_2"
	noWatch := result(1, "t1_2", "NOT_FOUND: there is no watch papers\nhint: there is: notes", true)
	if a := asked(t, both, said, called(1, cron), noJob, called(1, watch), noWatch); a.Text != "There is no job or watch named papers. Did you mean tea?" {
		t.Errorf("%q", a.Text)
	}
	// The stranger's 18: of names that are not alike it says what they are of.
	noJob = result(1, "t1_1", "NOT_FOUND: there is no job papers\nhint: there are: tea, milk", true)
	if a := asked(t, both, said, called(1, cron), noJob, called(1, watch), noWatch); a.Text != "There is no job or watch named papers. There are the jobs tea, milk. There is the watch notes." {
		t.Errorf("%q", a.Text)
	}
	for _, text := range []string{"cancel watch papers", "stop the watch papers", "delete my watch papers"} {
		if a := asked(t, both, typed(1, text)); len(a.Calls) != 1 || string(a.Calls[0].Args) != `{"action":"remove","name":"papers"}` || a.Calls[0].Name != "watch" {
			t.Errorf("%s: %+v", text, a)
		}
	}
	said = typed(1, "pause watch papers")
	watch = asked(t, both, said).Calls[0]
	watch.ID = "t1_2"
	if a := asked(t, both, said, called(1, watch), noWatch); a.Text != "That did not work: there is no watch papers\nHint: there is: notes" {
		t.Errorf("of a watch: %q", a.Text)
	}
}
