package store_test

import (
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
	"hob/scheduler"
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
