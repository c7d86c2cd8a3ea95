package store_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/scheduler"
	"hob/tools"
)

var together = flag.Int("burst", 5_000, "jobs that come due in one second")

// Many jobs that come due in one second are rows at once, are taken in the order of their due times, and whatever the owner
// says meanwhile is taken next.
func TestBurst(t *testing.T) {
	n := *together
	if testing.Short() {
		n = min(n, 2_000)
	}
	s := fresh(t)
	s.oneShots(n)
	s.later(time.Hour)
	s.runDue(n)

	const told = 50 // turns before the owner speaks
	var last string
	for i := range n + 1 {
		if i == told {
			s.accept(message("are you there?"))
		}
		id := s.take()
		if id == 0 {
			t.Fatalf("after %d turns there is nothing to take", i)
		}
		source, due := s.fireOf(id)
		switch {
		case i == told && source != "chat":
			t.Fatalf("the owner waits while %s of %s is taken", source, due)
		case i != told && due < last:
			t.Fatalf("turn %d is due at %s, after one of %s", id, due, last)
		case i != told:
			last = due
		}
		s.over(id)
	}
	if left := one[int](s, "SELECT count(*) FROM inbox WHERE state <> 'done'"); left != 0 {
		t.Errorf("%d inputs are left", left)
	}
	if bad := one[int](s, "SELECT count(*) FROM fires WHERE outcome <> 'ran'"); bad != 0 {
		t.Errorf("%d fires did not run", bad)
	}
}

// oneShots makes n jobs that are due in one second, and among them, made last, ten that are due a second earlier.
func (s *testStore) oneShots(n int) {
	s.t.Helper()
	at := s.now().Add(time.Minute).Truncate(time.Second)
	var batch []tools.Change
	for i := range n {
		due := at
		if i >= n-10 {
			due = at.Add(-time.Second)
		}
		j, _, err := scheduler.New(scheduler.Draft{Name: fmt.Sprint("j", i), At: due.Format(time.RFC3339), Prompt: "say: now", Trust: event.Owner}, time.UTC, s.now())
		if err != nil {
			s.t.Fatal(err)
		}
		if batch = append(batch, scheduler.Put{Job: j}); len(batch) == 1000 || i == n-1 {
			if err := s.Calls.Record(s.t.Context(), batch...); err != nil {
				s.t.Fatal(err)
			}
			batch = nil
		}
	}
}

// runDue runs the scheduler until it has committed so many fires.
func (s *testStore) runDue(n int) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	signal := s.Turns.InboxSignal()
	runner := scheduler.NewRunner(s.Store.Jobs, clockOf(s), nil, slog.New(slog.DiscardHandler))
	go func() { ended <- runner.Run(ctx) }()
	for one[int](s, "SELECT count(*) FROM fires") < n {
		select {
		case <-signal:
			signal = s.Turns.InboxSignal()
		case err := <-ended:
			s.t.Fatalf("the scheduler ended: %v", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		s.t.Fatal(err)
	}
}

// fireOf says where a turn comes from, and when its fire was due.
func (s *testStore) fireOf(id int64) (source, due string) {
	s.t.Helper()
	return one[string](s, "SELECT source FROM inbox WHERE turn = ?", id), one[string](s, "SELECT coalesce((SELECT key FROM fires WHERE id = (SELECT fire FROM turns WHERE id = ?)), '')", id)
}

// over ends a turn as one that had nothing to say.
func (s *testStore) over(id int64) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), func(tx *store.Tx) error { return store.EndIn(tx, id, turn.Done) }); err != nil {
		s.t.Fatal(err)
	}
}
