package catalog_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/scheduler/phrase"
)

// interpreter returns the interpreter of Sam in Berlin, and the time there: Saturday, 21 November 2026, 9:30.
func interpreter(t testing.TB) (catalog.Interpreter, time.Time) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, zone)
	return catalog.Interpreter{
		Owner: func() string { return "Sam" }, Path: "config.toml", Zone: func() *time.Location { return zone }, Now: func() time.Time { return now },
	}, now
}

// typed asks the interpreter as the owner does at a terminal.
func typed(t testing.TB, i catalog.Interpreter, texts ...string) llm.Answer {
	t.Helper()
	var r llm.Request
	for _, name := range strings.Fields("read write ls grep memory_search memory_get memory_write exec cron message tool") {
		r.Tools = append(r.Tools, llm.Tool{Name: name})
	}
	var a llm.Answer
	for n, text := range texts {
		step := llm.Place{Turn: int64(n + 1)}
		r.Messages = append(r.Messages, llm.Message{
			Role: llm.User, Parts: event.Say(text), Step: step, Envelope: &llm.Envelope{Source: "cli", Trust: event.Owner, Kind: event.Message, Typed: true},
		})
		var err error
		if a, err = i.Model("", false).Answer(t.Context(), r, nil); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Parts: event.Say(a.Text), Step: step})
	}
	return a
}

// became writes an answer in the form of the table.
func became(t *testing.T, a llm.Answer, now time.Time) string {
	t.Helper()
	if len(a.Calls) == 0 {
		return "says " + a.Text
	}
	name, args := a.Calls[0].Name, a.Calls[0].Args
	var in struct {
		Action, Name, Schedule, Prompt string
		Arguments                      json.RawMessage
	}
	if err := json.Unmarshal(args, &in); err != nil {
		t.Fatal(err)
	}
	if name == "tool" && in.Action == "call" { // a tool that is reached through the catalog
		name, args = in.Name, in.Arguments
	}
	if name != "cron" || in.Action != "add" {
		return name + " " + string(args)
	}
	r, err := phrase.Resolve(in.Schedule, now.Location(), now)
	if err != nil {
		t.Fatalf("the interpreter made the schedule %q: %v", in.Schedule, err)
	}
	if r.Recurring {
		return r.Spec + ": " + in.Prompt
	}
	form := "2006-01-02 15:04"
	if r.Next[0].Second() != 0 {
		form += ":05"
	}
	return "at " + r.Next[0].In(now.Location()).Format(form) + ": " + in.Prompt
}

// row is a line of the table.
type row struct{ text, want string }

// table reads testdata/phrases.txt.
func table(t testing.TB) (rows []row) {
	t.Helper()
	raw, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if text, want, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && !strings.HasPrefix(line, "#") {
			rows = append(rows, row{text, want})
		}
	}
	return rows
}

// Each phrase of the table becomes what a person means by it. The table was written before the answers were seen.
func TestPhrasesAsPeopleTypeThem(t *testing.T) {
	i, now := interpreter(t)
	rows := table(t)
	for _, r := range rows {
		got := became(t, typed(t, i, r.text), now)
		for k, part := range strings.Split(r.want, "; and ") {
			said, talk := strings.CutPrefix(part, "says ")
			talk = talk || k > 0
			if talk && !(strings.HasPrefix(got, "says ") && strings.Contains(got, said)) || !talk && got != part {
				t.Errorf("%q\n got %s\nwant %s", r.text, got, r.want)
			}
		}
	}
	if len(rows) < 300 {
		t.Errorf("the table has %d phrases, want 300", len(rows))
	}
}

// Politeness before or after a command of the table changes nothing.
func TestPolitenessChangesNothing(t *testing.T) {
	i, now := interpreter(t)
	for _, r := range table(t) {
		if strings.HasPrefix(r.want, "says ") {
			continue
		}
		polite := []string{"please " + r.text, "Hey hob, " + r.text, "I'd like you to " + r.text}
		if !strings.HasSuffix(r.text, "please") && !strings.HasSuffix(r.text, "?") {
			polite = append(polite, "hi, could you please "+r.text, "can you "+r.text+"?")
		}
		// What follows these words is passed on as it is, also a word of politeness at the end.
		word, _, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(r.text, "pls ")), " ")
		if word != "run" && word != "say" && word != "send" && word != "write" && !strings.Contains(r.text, ": ") && !strings.HasSuffix(r.text, "please") {
			end := strings.TrimRight(r.text, ".!? ")
			if end == r.text {
				polite = append(polite, end+" please", end+", please!", end+", thanks")
			}
		}
		for _, text := range polite {
			if got := became(t, typed(t, i, text), now); got != r.want {
				t.Errorf("%q\n got %s\nwant %s", text, got, r.want)
			}
		}
	}
}

// Whatever is typed gets a text or calls that their tools can read, and a job gets a schedule that can be read.
func FuzzPhrases(f *testing.F) {
	for _, r := range table(f) {
		f.Add(r.text)
	}
	for _, text := range []string{"please", "hey hob,", "can you", "remind me to to at", "timer a a", "(((((", "1+", "- - 3", "set a reminder, please, thanks", "say\xff", "can you say please", "İstanbul: say x"} {
		f.Add(text)
	}
	i, now := interpreter(f)
	f.Fuzz(func(t *testing.T, text string) {
		a := typed(t, i, text)
		if (a.Text == "") == (len(a.Calls) == 0) {
			t.Fatalf("%q: want a text or a call, got %+v", text, a)
		}
		if len(a.Calls) > 0 && !i.Understands(text) {
			t.Fatalf("%q is acted on and not understood", text)
		}
		if ok, _ := i.First(text); ok && !i.Understands(text) {
			t.Fatalf("%q goes first and is not understood", text)
		}
		became(t, a, now) // fails on arguments and schedules that cannot be read
	})
}
