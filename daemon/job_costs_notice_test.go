package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// costly are the notices about jobs that cost something now.
func (r *running) costly() (list []string) {
	for _, n := range r.notices() {
		if strings.Contains(n, "have cost nothing until now") {
			list = append(list, n)
		}
	}
	return list
}

// settled returns when the costs were looked at once more: the start does so beside everything else, the command before it answers.
func (r *running) settled(model string) {
	r.t.Helper()
	if got, want := r.say("/model default"), "From now on I ask "+model+"."; got != want {
		r.t.Fatalf("/model says %q, want %q", got, want)
	}
}

// U32: jobs that were free and now cost money are named once, when a model with a price takes the interpreter's place; reminders never are.
func TestJobsThatBeginToCostAreNamedOnce(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("well")) })
	home := t.TempDir()
	r := start(t, home)
	r.say("every day at 9: say good morning")
	// F5: a prompt that the interpreter does not understand needs a model, which is said when the job is made.
	if got := r.say("every day at 10: sum up the news"); !strings.Contains(got, event.NeedsModel) || strings.Contains(got, "free") {
		t.Errorf("without a model it says %q", got)
	}
	r.cron(map[string]any{"action": "add", "name": "backup", "schedule": "every 24h", "prompt": "make a backup"})
	r.cron(map[string]any{"action": "add", "name": "disk", "schedule": "every 24h", "prompt": "run df"})
	if got := strings.Join(r.jobs(), " "); !strings.Contains(got, "=say: good morning") {
		t.Errorf("jobs %s", got)
	}
	r.settled("builtin")
	paid := fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	write(t, home, paid)
	for range 2 { // and not again after the next start
		r = start(t, home)
		r.until("the notice", func() bool { return len(r.costly()) > 0 })
		r.settled("compatible/m")
		got := r.costly()
		if len(got) != 1 || !strings.Contains(got[0], "backup: make a backup") || !strings.Contains(got[0], ": sum up the news") ||
			strings.Contains(got[0], "good morning") || strings.Contains(got[0], "disk") {
			t.Errorf("notices %q", got)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	fresh := t.TempDir()
	write(t, fresh, paid)
	r = start(t, fresh)
	r.cron(map[string]any{"action": "add", "name": "paid", "schedule": "every 24h", "prompt": "brief me"})
	r.settled("compatible/m")
	if got := r.costly(); len(got) > 0 {
		t.Errorf("a home that had a model from the first: %q", got)
	}
}
