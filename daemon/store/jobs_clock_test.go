package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/sys"
	"hob/scheduler"
)

// runner runs jobs over the store by its clock; look lets it look at the clock at once.
func (s *testStore) runner() (look func()) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	changed := make(chan struct{})
	r := scheduler.NewRunner(s.Jobs, sys.ShiftedClock(func() time.Duration { return time.Duration(s.ahead.Load()) }), changed, slog.New(slog.DiscardHandler))
	r.FollowClock(s.Jobs)
	group := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	group.Go(ctx, "runner", r.Run)
	s.t.Cleanup(func() { stop(); group.Wait() })
	return func() { changed <- struct{}{}; changed <- struct{}{} } // taken twice: all that the first look found is committed
}

// TestClockJumpInTheStore: what jobs did by a clock that was half a year ahead is taken back, and what ran stays on record.
func TestClockJumpInTheStore(t *testing.T) {
	s := fresh(t)
	hourly, paused, spoilt := s.job("hourly"), s.job("paused"), s.job("spoilt")
	gated := s.job("gated", func(j *scheduler.Job) { j.Gate.Command = "true" })
	alone := s.job("alone", func(j *scheduler.Job) { j.Overlap = scheduler.OverlapQueue })
	s.sql("UPDATE triggers SET body = '[]' WHERE id = ?", spoilt.ID)
	start := s.now()
	look := s.runner()
	look()

	s.later(183 * 24 * time.Hour)
	look()
	if n := one[int](s, "SELECT count(*) FROM fires WHERE trigger = ?", hourly.ID); n != 2 || one[int](s, "SELECT count(*) FROM inbox") != 3 {
		t.Errorf("%d rows for one job and %d inputs for three, of half a year", n, one[int](s, "SELECT count(*) FROM inbox"))
	}
	for id := s.take(); id != 0; id = s.take() { // all fail, and are held back
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, End: &turn.Finish{State: turn.Failed, Why: "it broke"}}); err != nil {
			t.Fatal(err)
		}
	}
	s.later(time.Hour) // by the wrong clock they come due once more, and one is held
	look()
	if err := s.Calls.Record(t.Context(), scheduler.Pause{ID: paused.ID, Paused: true}); err != nil {
		t.Fatal(err)
	}
	s.sql("UPDATE triggers SET hold = ? WHERE id = ?", s.now().Add(time.Hour).UnixMicro(), hourly.ID)
	s.sql("UPDATE inbox SET not_before = ? WHERE state = 'queued'", s.now().Add(time.Hour).UnixMicro())

	s.later(-183 * 24 * time.Hour)
	look()
	now := s.now()
	if n := one[int](s, "SELECT count(*) FROM fires WHERE key < ':' AND due > ?", now.UnixMicro()); n != 0 {
		t.Errorf("%d slots that have not come have rows", n)
	}
	if n := one[int](s, "SELECT count(*) FROM fires WHERE key GLOB 'ahead:*' AND outcome = 'failed' AND reason <> '' AND turn IS NOT NULL"); n != 3 {
		t.Errorf("%d runs by the wrong clock are on record, want 3", n)
	}
	if n := one[int](s, "SELECT count(*) FROM fires WHERE key GLOB 'ahead:*' AND state = 'due'"); n != 0 {
		t.Errorf("%d gates of slots that have not come are to be looked at", n)
	}
	if hold, before := one[int64](s, "SELECT max(hold) FROM triggers"), one[int64](s, "SELECT max(not_before) FROM inbox"); max(hold, before) > now.Add(time.Hour+time.Minute).UnixMicro() {
		t.Errorf("held until %v and %v", time.UnixMicro(hold), time.UnixMicro(before))
	}
	for _, id := range []int64{hourly.ID, gated.ID, alone.ID} {
		j, err := s.Jobs.Job(t.Context(), id)
		if err != nil || j.Due.After(now.Add(time.Hour)) || j.Last.After(now) {
			t.Errorf("%s: last %v, due %v at %v, %v", j.Name, j.Last, j.Due, now, err)
		}
	}
	if j, err := s.Jobs.Job(t.Context(), paused.ID); err != nil || j.Last.After(now) || !j.Paused {
		t.Errorf("paused: last %v, %v", j.Last, err)
	}
	for range 3 {
		s.later(time.Hour)
		look()
	}
	if n := one[int](s, "SELECT count(*) FROM fires f JOIN inbox i ON i.fire = f.id WHERE f.trigger = ? AND f.key < ':' AND f.due > ? AND i.ext_id = 'job:' || f.trigger || ':' || f.key", alone.ID, start.Add(time.Hour).UnixMicro()); n != 3 {
		t.Errorf("%d runs in the three hours after it", n)
	}
	zone, err := scheduler.Zone("Europe/Berlin") // the owner's
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(s.clockNotices(), "\n")
	if want := fmt.Sprintf("The clock went ahead by 183 days, from %s", start.In(zone).Format("2 Jan 2006 15:04 MST")); strings.Count(told, "\n") != 1 || !strings.Contains(told, want) || !strings.Contains(told, "It is back from") {
		t.Errorf("told %q, want it to begin with %q", told, want)
	}
	if list, _, err := s.Jobs.Jumps(t.Context()); err != nil || slices.ContainsFunc(list, scheduler.ClockJump.Far) {
		t.Errorf("left of it: %+v, %v", list, err)
	}
}

// clockNotices is what the owner was told of the clock.
func (s *testStore) clockNotices() (list []string) {
	for _, o := range s.outs() {
		if strings.HasPrefix(o.Body, "The clock") {
			list = append(list, o.Body)
		}
	}
	return list
}

// The false future comes: a slot that a wrong clock has run is run when it really comes, also when the clock is wrong about it twice.
func TestClockJumpToTheSameTimeTwice(t *testing.T) {
	s := fresh(t)
	j := s.job("yearly", func(j *scheduler.Job) {
		j.Spec, j.Due, j.Overlap = "at "+s.now().Add(100*24*time.Hour).UTC().Format(time.RFC3339), s.now().Add(100*24*time.Hour).Truncate(time.Second), scheduler.OverlapQueue
	})
	look := s.runner()
	for range 2 {
		for _, step := range []time.Duration{183 * 24 * time.Hour, -183 * 24 * time.Hour} {
			look()
			s.later(step)
		}
	}
	look()
	ran := func() int { return one[int](s, "SELECT count(*) FROM inbox") }
	if got, err := s.Jobs.Job(t.Context(), j.ID); err != nil || !got.Due.Equal(j.Due) || ran() != 2 {
		t.Fatalf("due %v, want %v; it ran %d times for two jumps; %v", got.Due, j.Due, ran(), err)
	}
	for range 5 {
		s.later(20*24*time.Hour + time.Second)
		look()
	}
	if got, err := s.Jobs.Job(t.Context(), j.ID); err != nil || !got.Due.IsZero() || ran() != 3 || one[int](s, "SELECT count(*) FROM fires WHERE key = ?", scheduler.Key(j.Due)) != 1 {
		t.Errorf("due %v, it ran %d times, %v", got.Due, ran(), err)
	}
}

// V1: of the times that a clock was set ahead by less than a month, the first of a day is told.
func TestAClockThatIsSetOftenIsToldOnceADay(t *testing.T) {
	s := fresh(t)
	start := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for i, by := range []time.Duration{time.Hour, 2 * time.Hour, 26 * time.Hour} {
		l := scheduler.ClockJump{From: start.Add(by - 30*time.Minute), To: start.Add(by), Set: true}
		if err := s.Jobs.NoteJumps(t.Context(), []scheduler.ClockJump{l}); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2}[i]; len(s.clockNotices()) != want {
			t.Errorf("after %v told %q", by, s.clockNotices())
		}
	}
}
