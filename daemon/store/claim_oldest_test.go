package store_test

import (
	"testing"
	"time"
)

// R3: an input that no turn takes is seen; one that waits behind a turn, or for its time, is not.
func TestUntaken(t *testing.T) {
	s := fresh(t)
	boot := s.now()
	look := func(want int64, atLeast time.Duration) {
		t.Helper()
		seq, waits, err := s.Turns.OldestWaiting(t.Context(), boot)
		if err != nil || seq != want || waits < atLeast || waits > atLeast+time.Minute {
			t.Errorf("input #%d for %v, %v; want #%d for %v", seq, waits, err, want, atLeast)
		}
	}
	look(0, 0)
	s.accept(message("hello"))
	s.later(10 * time.Minute)
	look(1, 10*time.Minute)
	s.take()
	look(0, 0)
	s.accept(message("next"))
	s.later(time.Hour)
	look(2, time.Hour)
}
