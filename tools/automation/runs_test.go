package automation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// runBook is a book with a job that has limits, an estimate, and runs of all kinds.
type runBook struct{ *book }

func (runBook) Runs(context.Context, scheduler.View, int) ([]automation.Run, error) {
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return []automation.Run{
		{Due: due, State: "running", Started: due.Add(2 * time.Second), Turn: 9},
		{Due: due, State: "done", Outcome: "late", LateMS: 7_200_000, LimitMS: 60_000, Started: due.Add(2 * time.Hour), Ended: due.Add(2*time.Hour + 5*time.Second), Sent: "sent", Micros: 4200, Tokens: 900, Turn: 8},
		{Due: due, State: "done", Outcome: "failed", Reason: "no model answered", Started: due, Ended: due, Sent: "failed", Tokens: 900, Turn: 7},
		{Due: due, State: "done", Outcome: "missed", LateMS: 90_000, Reason: "1 min 30 s late, the limit is 1 min"},
	}, nil
}

func TestRunsAreTold(t *testing.T) {
	b := newBook()
	tool := automation.NewCron(runBook{b}, b)
	c := call(`{"action":"runs","name":"morning"}`, "")
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	want := `morning, newest first:
Fri 2026-11-20 09:00 running 09:00:02 to now turn 9
Fri 2026-11-20 09:00 late by 2h0m0s 11:00:00 to 11:00:05 answer: sent; cost 0.0042; turn 8
Fri 2026-11-20 09:00 failed 09:00:00 to 09:00:00 (no model answered) answer: failed; 900 tokens; turn 7
Fri 2026-11-20 09:00 missed 1m30s late (1 min 30 s late, the limit is 1 min)`
	if err != nil || res.Content != want {
		t.Errorf("%v\n%s\nwant\n%s", err, res.Content, want)
	}
}

// past is a book of a job that is gone: its slots are found by the name or the number that it had, and among those of all.
type past struct {
	*book
	asked scheduler.View
}

func (p *past) Runs(_ context.Context, j scheduler.View, _ int) ([]automation.Run, error) {
	p.asked = j
	if j.ID != 0 && j.ID != 4 || j.Name != "" && j.Name != "gone" {
		return nil, nil
	}
	due := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return []automation.Run{{Job: "gone", Zone: "Asia/Tokyo", Due: due, State: "done", Outcome: "ran"}}, nil
}

func TestRunsOfAllAndOfWhatIsGone(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"action":"runs"}`, "newest first:\ngone: Fri 2026-11-20 17:00 ran"},
		{`{"action":"runs","name":"gone"}`, "gone, newest first:\nFri 2026-11-20 17:00 ran"},
		{`{"action":"runs","id":4}`, "gone, newest first:\nFri 2026-11-20 17:00 ran"},
		{`{"action":"runs","name":"morning"}`, "morning has not come due yet"},
		{`{"action":"runs","name":"mornnig"}`, "NOT_FOUND: there is no job mornnig\nhint: did you mean morning?"},
	} {
		p := &past{book: newBook()}
		tool := automation.NewCron(p, p)
		in := call(c.args, "")
		i, err := tool.Intent(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		res, err := tool.Run(t.Context(), in, i)
		if err != nil || res.Content != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.args, err, res.Content, c.want)
		}
	}
}

// The result of an added job shows its limits and its estimated cost, and the requested limits reach the scheduler.
func TestLimitsAndEstimateAreTold(t *testing.T) {
	b := newBook()
	b.list[0].Tools, b.list[0].Tokens = []string{"read", "grep"}, 20_000
	b.list[0].Estimate = &scheduler.Estimate{Text: "about 22 runs a month, at most $0.40", Runs: 22}
	res := do(t, b, call(`{"action":"add","schedule":"every weekday at 9","prompt":"brief me","limits":"tools=read,grep tokens=20000"}`, ""))
	if want := "\nanswers go to: owner\neach run: only the tools read, grep; at most 20000 tokens\nabout 22 runs a month, at most $0.40"; !strings.HasSuffix(res.Content, want) {
		t.Errorf("%s\nwant at the end%s", res.Content, want)
	}
	if b.draft.Limits != "tools=read,grep tokens=20000" || b.draft.Trust != event.Owner {
		t.Errorf("asked for %+v", b.draft)
	}
	if res := do(t, newBook(), call(`{"action":"update","name":"morning","limits":"read only"}`, "")); !strings.Contains(res.Content, `limits "read": want "tools=read,grep tokens=20000"`) {
		t.Error(res.Content)
	}
}

// gated is a book of one run, which its gate or something else has ended.
type gated struct {
	*book
	run automation.Run
}

func (g gated) Runs(context.Context, scheduler.View, int) ([]automation.Run, error) {
	return []automation.Run{g.run}, nil
}

// Why a gate failed can be the words of a server or of a command: who reads them has read foreign text.
func TestWhatAGateSaysIsForeign(t *testing.T) {
	for _, c := range []struct {
		run  automation.Run
		want string
	}{
		{automation.Run{State: "done", Outcome: "failed", Reason: "gate: https://a.org/ leads to https://b.org/do-this: use that address"}, "what a gate says of what it looked at"},
		{automation.Run{State: "done", Outcome: "failed", Reason: "no model answered", Turn: 7}, ""},
		{automation.Run{State: "done", Outcome: "failed", Reason: "it failed", Turn: 7, Tainted: true}, "what a run says that had read foreign text"},
		{automation.Run{State: "done", Outcome: "skipped", Reason: "gate: no change"}, ""},
		{automation.Run{State: "done", Outcome: "ran", Reason: "run by hand", Turn: 7, Tainted: true, Sent: "sent"}, ""}, // the stranger's 8: no word of the run
	} {
		b := newBook()
		tool := automation.NewCron(gated{b, c.run}, b)
		res, err := tool.Run(t.Context(), call(`{"action":"runs","name":"morning"}`, ""), tools.Intent{})
		if err != nil || res.Foreign != c.want || !strings.Contains(res.Content, c.run.Reason) {
			t.Errorf("%+v: foreign %q, want %q; %v", c.run, res.Foreign, c.want, err)
		}
	}
}
