package store_test

import (
	"slices"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/scheduler"
	"hob/scheduler/filewatch"
)

// With a trigger go its fires that have not begun, and their inputs, in the same commit; what has begun goes on.
func TestRemovedTakesWhatWaits(t *testing.T) {
	ends := func(s *testStore, why string) {
		t.Helper()
		skipped := "done skipped " + why
		if got, want := s.fires(), []string{"running", skipped}; !slices.Equal(got, want) {
			t.Errorf("fires %v, want %v", got, want)
		}
		if got := one[string](s, "SELECT group_concat(state || ' ' || reason, ', ' ORDER BY seq) FROM inbox"); got != "joined , dropped "+why {
			t.Errorf("inputs: %s", got)
		}
		s.end(turn.Done)
		if got := s.fires(); got[1] != skipped || one[string](s, "SELECT outcome FROM fires ORDER BY id LIMIT 1") != "ran" {
			t.Errorf("after the run: %v", got)
		}
		if s.take() != 0 {
			t.Error("what was dropped runs")
		}
	}
	t.Run("webhook", func(t *testing.T) {
		s := fresh(t)
		h := s.webhook("ci")
		for _, id := range []string{"m1", "m2"} {
			if _, err := s.Webhooks.Receive(t.Context(), h, s.posted(h, id), ""); err != nil {
				t.Fatal(err)
			}
			if id == "m1" {
				s.take()
			}
		}
		if err := s.Webhooks.Remove(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		ends(s, "the webhook was removed")
	})
	t.Run("watch", func(t *testing.T) {
		s := fresh(t)
		w := s.watch("w")
		s.see(saw(w, 1))
		s.take()
		s.see(saw(w, 2))
		if err := s.Calls.Record(t.Context(), filewatch.Drop{ID: w.ID}); err != nil {
			t.Fatal(err)
		}
		ends(s, "the watch was removed")
	})
	t.Run("job", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j", func(j *scheduler.Job) { j.Overlap = scheduler.OverlapQueue })
		for i := range 2 {
			s.comes(j)
			if i == 0 {
				s.later(time.Hour)
				s.take()
			}
		}
		if err := s.Calls.Record(t.Context(), scheduler.Remove{ID: j.ID}); err != nil {
			t.Fatal(err)
		}
		ends(s, "the job was removed")
	})
}

// A slot whose gate has not been looked at goes with its job, and nothing of another trigger does.
func TestRemovedTakesItsOwnOnly(t *testing.T) {
	s := fresh(t)
	j, k := s.job("j", gatedJob), s.job("k")
	s.comes(j)
	s.comes(k)
	s.accept(message("hello"))
	if err := s.Calls.Record(t.Context(), scheduler.Remove{ID: j.ID}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.fires(), []string{"done skipped the job was removed", "queued"}; !slices.Equal(got, want) || len(s.gated()) != 0 {
		t.Errorf("fires %v, want %v", got, want)
	}
	if n := one[int](s, "SELECT count(*) FROM inbox WHERE state = 'queued'"); n != 2 {
		t.Errorf("%d inputs wait", n)
	}
}
