package store_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/gate"
)

// A slot that comes due while its job is on hold gets the end of the hold as its reason. A slot that comes due later does not.
func TestHeldSlotSaysWhy(t *testing.T) {
	for what, change := range map[string]func(*scheduler.Job){"a plain job": func(*scheduler.Job) {}, "one with a gate": gatedJob} {
		s := fresh(t)
		j := s.job("j", change)
		hold := time.Date(2100, 1, 1, 21, 16, 0, 0, time.UTC) // of UTC, the job's zone
		s.sql("UPDATE triggers SET failures = 3, hold = ?", sqlite.Micros(hold))
		if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
			t.Fatal(err)
		}
		if got := one[string](s, "SELECT reason FROM fires"); got != "held until 21:16 after 3 failures" {
			t.Errorf("%s: %q", what, got)
		}
	}
	s := fresh(t)
	j := s.job("j")
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
		t.Fatal(err)
	}
	s.end(turn.Done)
	if got := one[string](s, "SELECT reason FROM fires WHERE reason LIKE '%held%' UNION ALL SELECT '' LIMIT 1"); got != "" {
		t.Errorf("of a job that is not held: %q", got)
	}
}

// A job is read, a run of it fails, and then the slot is committed that the read job made: it waits, and says so. The other way round, a good run
// ends the wait between the read and the commit, and the slot runs at once.
func TestBackoffIsReadInTheCommit(t *testing.T) {
	const hour = int64(time.Hour / time.Microsecond)
	for what, change := range map[string]func(*scheduler.Job){"a plain job": func(*scheduler.Job) {}, "one with a gate": gatedJob} {
		s := fresh(t)
		j := s.job("j", change)
		f := s.due(j.ID)
		hold := sqlite.Micros(s.now()) + hour
		s.sql("UPDATE triggers SET failures = 1, hold = ?", hold)
		if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{f}); err != nil {
			t.Fatal(err)
		}
		if got := one[string](s, "SELECT reason FROM fires"); !strings.HasPrefix(got, "held until ") {
			t.Errorf("%s failed meanwhile: its reason is %q", what, got)
		}
		if got := one[int64](s, "SELECT coalesce(max(not_before), 0) FROM inbox"); j.Gate.Command == "" && got != hold {
			t.Errorf("%s failed meanwhile: its input waits until %d, not %d", what, got, hold)
		}
	}
	s := fresh(t)
	j := s.job("j")
	s.sql("UPDATE triggers SET failures = 1, hold = ?", sqlite.Micros(s.now())+hour)
	f := s.due(j.ID)
	s.sql("UPDATE triggers SET failures = 0, hold = 0")
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{f}); err != nil {
		t.Fatal(err)
	}
	if s.take() == 0 {
		t.Errorf("its backoff has ended, but it does not run: %q", one[string](s, "SELECT reason FROM fires"))
	}
	// A run by hand fails while the gate of a slot is evaluated.
	s = fresh(t)
	s.comes(s.job("j", gatedJob))
	v := gate.Verdict{Fire: s.gated()[0].Fire, Job: s.gated()[0].Job.ID, In: scheduler.Input(s.gated()[0].Job, s.gated()[0].Key, "", s.now())}
	v.In.Fire = v.Fire
	s.sql("UPDATE triggers SET failures = 1, hold = ?", sqlite.Micros(s.now())+hour)
	if err := s.Jobs.Judge(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if s.take() != 0 {
		t.Error("its gate opened after a run by hand had failed, and it did not wait")
	}
	if got := one[string](s, "SELECT reason FROM fires"); got != "held for 1h0m0s" {
		t.Errorf("its gate opened after a run by hand had failed: its reason is %q", got)
	}
}
