package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// cron calls the tool of that name.
func (r *running) cron(input map[string]any) {
	r.t.Helper()
	doc, err := json.Marshal(input)
	if err != nil {
		r.t.Fatal(err)
	}
	if out, err := client.Do(r.t.Context(), r.client, api.CallTool, "cron", client.ToolCall{Input: doc}); err != nil || !out.Success {
		r.t.Fatalf("cron %s: %+v, %v", doc, out, err)
	}
}

// open lists the slots of a job that have not ended.
func (r *running) open(job string) (list []api.Fire) {
	for _, s := range r.slots(job) {
		if s.State != "done" {
			list = append(list, s)
		}
	}
	return list
}

// untilHeld waits until a slot of a job waits for the end of the pause after a failure.
func (r *running) untilHeld(job string) {
	r.t.Helper()
	r.until(job+" is held", func() bool {
		open := r.open(job)
		return len(open) == 1 && strings.Contains(open[0].Reason, "held until ") // behind "caught up", if it was late
	})
}

// atWork starts a daemon with a model that breaks for as long as broken says, and answers anything else.
func atWork(t *testing.T) (r *running, broken *atomic.Bool) {
	broken = &atomic.Bool{}
	broken.Store(true)
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(q llmtest.Request) llmtest.Turn {
		if broken.Load() {
			return llmtest.Failed(http.StatusBadRequest, "it is broken")
		}
		return llmtest.Streamed(llmtest.Say("well"))
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	return start(t, home), broken
}

// A job is paused: what is held after a failure, of a run or of its gate, ends with it, and neither a gate nor a model is asked again.
func TestPausedIsStopped(t *testing.T) {
	t.Parallel() // most of it is waiting
	r, _ := atWork(t)
	r.cron(map[string]any{"action": "add", "name": "plain", "schedule": "cron * * * * * *", "prompt": "break"})
	jobs := []string{"plain"}
	if systest.Sandbox() { // commands of gates run only there
		r.cron(map[string]any{"action": "add", "name": "gated", "schedule": "cron * * * * * *", "prompt": "break", "gate": "no-such-program"})
		jobs = append(jobs, "gated")
	}
	for _, name := range jobs {
		r.untilHeld(name)
		r.cron(map[string]any{"action": "pause", "name": name})
		count := map[string]int{}
		for _, s := range r.slots(name) {
			count[s.State+" "+s.Outcome]++
			if s.Outcome == "missed" && s.Reason != "the job was paused" && !strings.HasSuffix(s.Reason, "before it was served") {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if count["done missed"] == 0 || count["done failed"] != 1 || len(r.open(name)) != 0 {
			t.Errorf("%s: %v", name, count)
		}
	}
	waiting, err := client.List(t.Context(), r.client, api.Inbox, event.Filter{State: "queued"})
	if err != nil || len(waiting) != 0 {
		t.Errorf("%d inputs wait, %v", len(waiting), err)
	}
}

// A job is changed while a slot of it is held: that one is missed, and the next runs at once, as the job is now.
func TestChangedRunsAtOnce(t *testing.T) {
	t.Parallel() // most of it is waiting
	r, broken := atWork(t)
	r.cron(map[string]any{"action": "add", "name": "j", "schedule": "cron * * * * * *", "prompt": "break"})
	r.untilHeld("j")
	broken.Store(false)
	r.cron(map[string]any{"action": "update", "name": "j", "prompt": "go on"})
	r.until("it runs", func() bool { return r.tally("j")["ran"] > 0 })
	if n := r.tally("j")["missed the job was changed"]; n != 1 {
		t.Errorf("%v", r.tally("j"))
	}
}

// A good run by hand ends the hold: the slot that waits runs right behind it, and the job goes on.
func TestGoodRunEndsTheHold(t *testing.T) {
	t.Parallel() // most of it is waiting
	r, broken := atWork(t)
	r.cron(map[string]any{"action": "add", "name": "j", "schedule": "cron * * * * * *", "prompt": "break"})
	r.untilHeld("j")
	broken.Store(false)
	r.cron(map[string]any{"action": "run", "name": "j"})
	r.until("it goes on", func() bool { return r.tally("j")["ran"] >= 3 })
	for _, s := range r.slots("j") {
		if strings.Contains(s.Reason, "held until ") && !strings.HasSuffix(s.Reason, "; a good run ended that") {
			t.Errorf("%+v", s)
		}
	}
}
