package store_test

import (
	"fmt"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/gate"
)

func gatedJob(j *scheduler.Job) { j.Gate = scheduler.Gate{Command: "date"} }

// comes commits the next slot of a job.
func (s *testStore) comes(j scheduler.Job) {
	s.t.Helper()
	if err := s.Jobs.Fire(s.t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
		s.t.Fatal(err)
	}
}

// heard waits for a wake signal, which comes right after the commit.
func heard(t *testing.T, signal <-chan struct{}, of string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(10 * time.Second):
		t.Errorf("nobody is told of %s", of)
	}
}

func (s *testStore) gated() []gate.Slot {
	s.t.Helper()
	list, err := s.Jobs.Gated(s.t.Context(), s.now(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// rule judges the one slot that can be looked at.
func (s *testStore) rule(outcome scheduler.Outcome, reason, seen string) gate.Slot {
	s.t.Helper()
	list := s.gated()
	if len(list) != 1 {
		s.t.Fatalf("%d slots can be looked at; fires %v", len(list), s.fires())
	}
	v := gate.Verdict{Fire: list[0].Fire, Job: list[0].Job.ID, Outcome: outcome, Reason: reason, Seen: seen}
	if outcome == "" {
		v.In = scheduler.Input(list[0].Job, list[0].Key, list[0].Note, s.now())
		v.In.Fire = v.Fire
	}
	for range 2 { // the second time, somebody has judged it
		if err := s.Jobs.Judge(s.t.Context(), v); err != nil {
			s.t.Fatal(err)
		}
	}
	return list[0]
}

// A due slot has no inbox row; the one that its gate lets through gets exactly one, whatever dies in between.
func TestGatedFire(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	rung := s.Jobs.JobsSignal()
	s.comes(j)
	heard(t, rung, "the due slot")
	if got := fmt.Sprint(s.fires()); got != "[due]" || s.take() != 0 {
		t.Fatalf("before its gate was looked at: %s", got)
	}
	s = s.crash() // found again by the same query
	slot := s.rule("", "caught up", `{"command":"1"}`)
	if slot.Job.Name != "j" || slot.Seen != "" || slot.Key == "" || slot.Job.Gate.Command != "date" {
		t.Errorf("%+v", slot)
	}
	s = s.crash()
	if n := one[int](s, "SELECT count(*) FROM inbox WHERE fire = 1"); n != 1 || len(s.gated()) != 0 {
		t.Errorf("%d inbox rows, %d slots to look at", n, len(s.gated()))
	}
	if got := fmt.Sprint(s.fires()); got != "[queued  caught up]" {
		t.Errorf("fires %s", got)
	}
	s.end(turn.Done)
	s.comes(j)
	s.rule(scheduler.OutcomeSkipped, "gate: no change", "")
	if got := fmt.Sprint(s.fires()); got != "[done ran it went wrong done skipped gate: no change]" || s.take() != 0 {
		t.Errorf("fires %s", got)
	}
}

// What a gate saw is the job's own only when the run that it let through has ended well: a change whose run failed is looked at again.
func TestSeenAfterTheRun(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	seen := func() string { return one[string](s, "SELECT seen FROM triggers") }
	for _, c := range []struct {
		state turn.Status
		saw   string
		want  string
	}{{turn.Failed, "a", ""}, {turn.Done, "b", "b"}, {turn.Stopped, "c", "b"}, {turn.Done, "", "b"}, {turn.Done, "d", "d"}} {
		s.comes(j)
		s.later(2 * time.Hour) // over any hold
		if got := s.gated()[0].Seen; got != seen() {
			t.Errorf("it is to compare with %q, the job has %q", got, seen())
		}
		before := seen()
		s.rule("", "", c.saw)
		if seen() != before {
			t.Errorf("%q counts before the run has ended", seen())
		}
		s.end(c.state)
		if seen() != c.want {
			t.Errorf("after %q was %s the job has seen %q, want %q", c.saw, c.state, seen(), c.want)
		}
	}
}

// The next slot of a job waits for the end of its run, also with overlap queue, and its gate is looked at then.
func TestGatesInTurn(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob, func(j *scheduler.Job) { j.Overlap = scheduler.OverlapQueue })
	other := s.job("other", gatedJob)
	s.comes(j)
	s.comes(j)
	s.comes(other)
	list := s.gated()
	if len(list) != 2 || list[0].Fire != 1 || list[1].Fire != 3 {
		t.Fatalf("%+v", list)
	}
	if one, err := s.Jobs.Gated(t.Context(), s.now(), 1); err != nil || len(one) != 1 || one[0].Fire != 1 {
		t.Errorf("the oldest: %+v, %v", one, err)
	}
	v := gate.Verdict{Fire: 3, Job: other.ID, Outcome: scheduler.OutcomeSkipped, Reason: "gate: no change"}
	if err := s.Jobs.Judge(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	s.rule("", "", "a")
	if list := s.gated(); len(list) != 0 {
		t.Errorf("looked at while the last run is under way: %+v", list)
	}
	rung := s.Jobs.JobsSignal()
	s.end(turn.Done)
	heard(t, rung, "the end of the run")
	if list := s.gated(); len(list) != 1 || list[0].Fire != 2 || list[0].Seen != "a" {
		t.Errorf("%+v", list)
	}
}

// With overlap fold a slot that comes due while the gate of the last one has not been looked at is folded into that.
func TestGatedFold(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	s.comes(j)
	s.comes(j)
	if got := fmt.Sprint(s.fires()); got != "[due done coalesced waiting for #1]" {
		t.Errorf("fires %s", got)
	}
}

// Where somebody else has sent a gate, or what he had a turn say, is no link in what the owner is asked.
func TestNoLinksInAQuestion(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	for range 5 {
		s.comes(j)
		s.later(3 * time.Hour)
		s.rule(scheduler.OutcomeFailed, "gate: https://a.example leads to https://evil.example/login", "")
	}
	want := "Job j has failed 5 times in a row, the last time because gate: https[:]//a[.]example leads to https[:]//evil[.]example/login. Shall it go on?"
	if text := one[string](s, "SELECT text FROM questions"); text != want {
		t.Errorf("asked %q", text)
	}
}

// A gate that cannot be looked at backs the job off and asks after five times; one look that works ends that, but not the failures of runs.
func TestGateFails(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	failures := func() int { return one[int](s, "SELECT failures FROM triggers") }
	for n := range 5 {
		s.comes(j)
		if n > 0 && len(s.gated()) != 0 {
			t.Error("it does not back off")
		}
		s.later(3 * time.Hour)
		s.rule(scheduler.OutcomeFailed, "gate: no sandbox", "")
		if failures() != n+1 {
			t.Errorf("%d failures after %d", failures(), n+1)
		}
	}
	if text := one[string](s, "SELECT text FROM questions"); text != "Job j has failed 5 times in a row, the last time because gate: no sandbox. Shall it go on?" {
		t.Errorf("asked %q", text)
	}
	s.comes(j)
	s.later(3 * time.Hour)
	s.rule(scheduler.OutcomeSkipped, "gate: no change", "")
	if failures() != 0 {
		t.Errorf("%d failures after a look that worked", failures())
	}
	s.comes(j)
	s.rule("", "", "a")
	s.end(turn.Failed)
	s.comes(j)
	s.later(3 * time.Hour)
	s.rule(scheduler.OutcomeSkipped, "gate: no change", "")
	if failures() != 1 {
		t.Errorf("a shut gate takes back %d failures of runs", 1-failures())
	}
}

// A slot whose job an earlier hob removed, and left, waits for nothing.
func TestGatedAndGone(t *testing.T) {
	s := fresh(t)
	j := s.job("j", gatedJob)
	s.comes(j)
	s.sql("UPDATE triggers SET hold = ?", s.now().Add(time.Hour).UnixMicro())
	if list := s.gated(); len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	s.sql("UPDATE triggers SET removed = 1 WHERE id = ?", j.ID)
	if list := s.gated(); len(list) != 1 || !list[0].Gone {
		t.Errorf("%+v", list)
	}
}

// The heartbeat is a job of a kind of its own: its name is free for no other, its sessions begin anew, and its skips do not pile up.
func TestHeartbeatRows(t *testing.T) {
	s := fresh(t)
	draft := scheduler.Draft{Name: scheduler.Heartbeat, Every: "30m", Prompt: "look", Session: "isolated", Trust: event.Owner, Gate: scheduler.Gate{Content: "HEARTBEAT.md"}}
	made, _, err := scheduler.New(draft, time.UTC, s.now())
	if err == nil {
		err = s.Calls.Record(t.Context(), scheduler.Put{Job: made})
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Jobs.JobNamed(t.Context(), "heartbeat")
	if err != nil || one[string](s, "SELECT kind FROM triggers") != "heartbeat" || j.SessionKey() != "heartbeat" {
		t.Fatalf("%+v, %v", j, err)
	}
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: made}); err == nil {
		t.Error("there are two heartbeats")
	}
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: j}, scheduler.Pause{ID: j.ID, Paused: true}, scheduler.Pause{ID: j.ID, Due: j.Due}); err != nil {
		t.Fatalf("changed, paused, resumed: %v", err)
	}
	if moved, _, err := s.Jobs.Moved(t.Context(), 0); err != nil || len(moved) != 1 {
		t.Errorf("the runner is told of %v, %v", moved, err)
	}
	for range 2 {
		s.comes(j)
		s.rule("", "", "")
		s.end(turn.Done)
	}
	if n := one[int](s, "SELECT count(*) FROM sessions WHERE key = 'heartbeat' AND kind = 'job'"); n != 2 {
		t.Errorf("%d conversations for 2 runs", n)
	}
	s.comes(j)
	s.rule(scheduler.OutcomeSkipped, "HEARTBEAT.md is empty", "")
	s.later(31 * 24 * time.Hour)
	s.sql("UPDATE triggers SET due = ?", s.now().UnixMicro())
	s.sql("UPDATE fires SET due = due + 1")
	s.comes(j)
	s.rule(scheduler.OutcomeSkipped, "HEARTBEAT.md is empty", "")
	if got := fmt.Sprint(s.fires()); got != "[done ran it went wrong done ran it went wrong done skipped HEARTBEAT.md is empty]" {
		t.Errorf("fires %s: runs stay, old skips go", got)
	}
	if err := s.Calls.Record(t.Context(), scheduler.Remove{ID: j.ID}); err != nil {
		t.Fatal(err)
	}
}

// hob is busy while a turn runs and while the owner waits for one, not while something else is queued or parked.
func TestBusy(t *testing.T) {
	s := fresh(t)
	busy := func() bool {
		t.Helper()
		b, err := s.Turns.Busy(t.Context(), s.now())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	j := s.job("j")
	if s.comes(j); busy() {
		t.Error("busy with a job that is queued")
	}
	s.end(turn.Done)
	if s.accept(message("hello")); !busy() {
		t.Error("idle while the owner waits")
	}
	if s.take(); !busy() {
		t.Error("idle while a turn runs")
	}
	s.sql("UPDATE turns SET state = 'waiting' WHERE state = 'running'")
	if busy() {
		t.Error("busy with a turn that waits")
	}
}

// F6: the owner hears of the first failure of a gate, once, and again after it has worked.
func TestTheFirstFailureOfAGateIsTold(t *testing.T) {
	s := fresh(t)
	j := s.job("backup", gatedJob)
	told := func() (n int) {
		for _, o := range s.outs() {
			if o.Body == "Job backup did not run: gate: exit code 127. It is tried again at its next time. To look at it: hob cron show backup" {
				n++
			}
		}
		return n
	}
	for i, c := range []struct {
		outcome scheduler.Outcome
		want    int
	}{{scheduler.OutcomeFailed, 1}, {scheduler.OutcomeFailed, 1}, {scheduler.OutcomeSkipped, 1}, {scheduler.OutcomeFailed, 2}} {
		s.comes(j)
		s.later(25 * time.Hour)
		s.rule(c.outcome, "gate: exit code 127", "")
		if got := told(); got != c.want {
			t.Errorf("%d: told %d times, want %d", i, got, c.want)
		}
	}
}
