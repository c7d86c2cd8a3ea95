package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
)

// inputs are the states of the inbox rows, and why they are so.
func (s *testStore) inputs() string {
	s.t.Helper()
	return one[string](s, "SELECT coalesce(group_concat(trim(state || ' ' || reason), ', ' ORDER BY seq), '') FROM inbox")
}

// answer answers the one question that there is.
func (s *testStore) answer(text string) {
	s.t.Helper()
	in := message("answer")
	in.ExtID, in.Kind = "a", event.Answer
	if _, err := s.Commands.AnswerFrom(s.t.Context(), in, one[string](s, "SELECT code FROM questions"), text); err != nil {
		s.t.Fatal(err)
	}
}

// nothingRuns takes no turn and looks at no gate, also when all holds are over.
func (s *testStore) nothingRuns() {
	s.t.Helper()
	s.later(3 * time.Hour)
	if id, due := s.take(), s.gated(); id != 0 || len(due) != 0 {
		s.t.Errorf("turn %d runs, gates are looked at: %+v; fires %v", id, due, s.fires())
	}
}

// What waits when its trigger is paused is missed, and never runs; nothing of another one is touched. What has begun goes on.
func TestPausedTakesWhatWaits(t *testing.T) {
	pause := func(s *testStore, id int64) {
		t.Helper()
		if err := s.Calls.Record(t.Context(), scheduler.Pause{ID: id, Paused: true}); err != nil {
			t.Fatal(err)
		}
	}
	missed := "done missed the job was paused"
	t.Run("a gated slot that is held", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j", gatedJob)
		s.comes(j)
		s.rule(scheduler.OutcomeFailed, "gate: no sandbox", "")
		s.comes(j)
		pause(s, j.ID)
		if got := s.fires(); got[1] != missed {
			t.Errorf("fires %v", got)
		}
		s.nothingRuns()
	})
	t.Run("a slot that is held", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j")
		s.comes(j)
		s.end(turn.Failed)
		s.comes(j)
		pause(s, j.ID)
		if got := s.fires(); got[1] != missed || s.inputs() != "done it went wrong, dropped the job was paused" {
			t.Errorf("fires %v, inputs %s", got, s.inputs())
		}
		s.nothingRuns()
	})
	t.Run("a slot behind a run, and another job's", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j", func(j *scheduler.Job) { j.Overlap = scheduler.OverlapQueue })
		s.comes(j)
		s.take()
		s.comes(j)
		s.comes(s.job("k"))
		pause(s, j.ID)
		if got, want := s.fires(), []string{"running", missed, "queued"}; !slices.Equal(got, want) || s.inputs() != "joined, dropped the job was paused, queued" {
			t.Errorf("fires %v, want %v; inputs %s", got, want, s.inputs())
		}
		s.end(turn.Done) // the next in line would be taken up first
		s.sql("UPDATE inbox SET state = 'dropped' WHERE state = 'queued'")
		s.nothingRuns()
	})
	t.Run("a watch that is held", func(t *testing.T) {
		s := fresh(t)
		w := s.watch("w")
		s.see(saw(w, 1))
		s.end(turn.Failed)
		s.see(saw(w, 2))
		if err := s.Calls.Record(t.Context(), filewatch.Pause{ID: w.ID, Paused: true}); err != nil {
			t.Fatal(err)
		}
		if got := s.fires(); got[1] != "done missed the watch was paused" || s.inputs() != "done it went wrong, dropped the watch was paused" {
			t.Errorf("fires %v, inputs %s", got, s.inputs())
		}
		s.nothingRuns()
	})
	t.Run("a job that fails and is not to go on", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j")
		for range 5 {
			s.comes(j)
			s.later(3 * time.Hour)
			s.end(turn.Failed)
		}
		s.comes(j)
		s.answer("no")
		if got := s.fires(); got[5] != missed || !strings.Contains(s.inputs(), ", dropped the job was paused, ") {
			t.Errorf("fires %v, inputs %s", got, s.inputs())
		}
		s.nothingRuns()
	})
}

// A change of a job ends its hold; the slot of the job as it was is missed, and the next one runs as it is now.
func TestChangeEndsTheHold(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	s.comes(j)
	s.end(turn.Failed)
	s.comes(j)
	j, err := s.Jobs.Job(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	j.Prompt, j.Trouble = "new", scheduler.Trouble{}
	if err := s.Calls.Record(t.Context(), scheduler.Put{Job: j}); err != nil {
		t.Fatal(err)
	}
	s.comes(j)
	if got, want := s.fires(), []string{"done failed it went wrong", "done missed the job was changed", "queued"}; !slices.Equal(got, want) {
		t.Errorf("fires %v, want %v", got, want)
	}
	s.end(turn.Done)
	if got := one[string](s, "SELECT group_concat(json_extract(parts, '$[0].text') || ' ' || state, ', ' ORDER BY seq) FROM inbox"); got != "do it done, do it dropped, new done" {
		t.Errorf("inputs: %s", got)
	}
	s.nothingRuns()
}

// Whatever ends a hold lets run at once what waits for that, and the row says so: a good run, and the owner's word. A watch that fires too
// often is held for that all the same.
func TestHoldEnds(t *testing.T) {
	held := func(s *testStore, change ...func(*scheduler.Job)) scheduler.Job { // with one slot that waits after a failure
		j := s.job("j", change...)
		s.comes(j)
		s.rulesOrNot(j)
		s.end(turn.Failed)
		s.sql("UPDATE triggers SET failures = 5, hold = ?", sqlite.Micros(s.now().Add(100*time.Hour)))
		s.comes(j)
		if s.take() != 0 || len(s.gated()) != 0 {
			t.Fatalf("it is not held: %v", s.fires())
		}
		return j
	}
	t.Run("a good run", func(t *testing.T) {
		s := fresh(t)
		j := held(s)
		if err := s.Calls.Record(t.Context(), scheduler.RunNow{Job: j, In: scheduler.ByHand(j, "c1", s.now())}); err != nil {
			t.Fatal(err)
		}
		s.end(turn.Done)
		if got := s.fires()[1]; !strings.HasPrefix(got, "queued  held until ") || !strings.HasSuffix(got, " after 5 failures; a good run ended that") {
			t.Errorf("the slot is %q", got)
		}
		if s.end(turn.Done); !strings.HasPrefix(s.fires()[1], "done ran") {
			t.Errorf("fires %v", s.fires())
		}
	})
	t.Run("a good run, of a job with a gate", func(t *testing.T) {
		s := fresh(t)
		j := held(s, gatedJob)
		if err := s.Calls.Record(t.Context(), scheduler.RunNow{Job: j, In: scheduler.ByHand(j, "c1", s.now())}); err != nil {
			t.Fatal(err)
		}
		s.end(turn.Done)
		if list := s.gated(); len(list) != 1 || !strings.HasSuffix(list[0].Reason, "; a good run ended that") {
			t.Errorf("%+v; fires %v", list, s.fires())
		}
	})
	t.Run("the owner", func(t *testing.T) {
		s := fresh(t)
		j := s.job("j")
		for range 5 {
			s.comes(j)
			s.later(3 * time.Hour)
			s.end(turn.Failed)
		}
		s.comes(j)
		s.answer("go on")
		if got := s.fires()[5]; !strings.HasSuffix(got, "; the owner let it go on") || s.take() == 0 {
			t.Errorf("the slot is %q", got)
		}
	})
	t.Run("a watch that fires too often", func(t *testing.T) {
		s := fresh(t)
		w := s.watch("w")
		for n := range 32 {
			s.see(saw(w, int64(n+1)))
		}
		s.end(turn.Failed)
		s.end(turn.Done)
		if n := one[int](s, "SELECT count(*) FROM inbox WHERE state = 'queued' AND not_before > ?", sqlite.Micros(s.now().Add(9*time.Minute))); n != 1 {
			t.Errorf("%d rows are held: %v", n, s.fires())
		}
	})
}

// rulesOrNot opens the gate of a job that has one.
func (s *testStore) rulesOrNot(j scheduler.Job) {
	s.t.Helper()
	if !j.Gate.Always() {
		s.rule("", "", "a")
	}
}

// A run by hand has the key "run:ID".
func TestKeyOfARunByHand(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	if err := s.Calls.Record(t.Context(), scheduler.RunNow{Job: j, In: scheduler.ByHand(j, "t4_2", s.now())}); err != nil {
		t.Fatal(err)
	}
	if rows := s.fireRows(event.Filter{}); len(rows) != 1 || rows[0].Key != "run:t4_2" {
		t.Errorf("%+v", rows)
	}
}

// The slots that pass while a job cannot be used have rows when it is mended: the one at which it was put aside, and those of the schedule that it
// has now. The owner, who was told that it is switched off, is not told of each. A job that stays as it is gets none.
func TestSlotsOfASpoiltJob(t *testing.T) {
	for _, c := range []struct {
		name, spoil string
		mend        func(j *scheduler.Job)
		want        int
	}{
		{"another zone", "UPDATE triggers SET body = json_set(body, '$.zone', 'Nowhere/Land')", func(*scheduler.Job) {}, 4},
		{"the whole row", "UPDATE triggers SET body = '[]'", func(j *scheduler.Job) { j.Spec = "cron */30 * * * *" }, 7},
		{"a period, with the whole row", "UPDATE triggers SET body = '[]'", func(j *scheduler.Job) { j.Spec, j.Created = "every 1h0m0s", j.Created.Add(5*time.Hour) }, 4},
		{"another session", "UPDATE triggers SET body = json_set(body, '$.session', '')", func(j *scheduler.Job) { j.Due = time.Time{} }, 4},
	} {
		for _, aside := range []bool{true, false} { // the runner may have come to it, or not
			s := fresh(t)
			j := s.job("j")
			s.sql(c.spoil)
			if aside {
				if err := s.Jobs.Disable(t.Context(), j.ID, "it is spoilt"); err != nil {
					t.Fatal(err)
				}
			}
			s.later(j.Due.Sub(s.now()) + 3*time.Hour + time.Minute)
			due := j.Due
			c.mend(&j)
			if !j.Due.IsZero() {
				j.Due = due.Add(4 * time.Hour)
			}
			var changes []tools.Change
			for range 2 { // the second time, nothing is due
				changes = append(changes, scheduler.Put{Job: j})
			}
			if err := s.Calls.Record(t.Context(), changes...); err != nil {
				t.Fatal(err)
			}
			rows := s.fireRows(event.Filter{})
			slices.Reverse(rows)
			if len(rows) != c.want {
				t.Fatalf("%s: %d rows, want %d", c.name, len(rows), c.want)
			}
			step := 3 * time.Hour / time.Duration(c.want-1)
			for i, r := range rows {
				if want := due.Add(time.Duration(i) * step); r.Outcome != "missed" || r.Reason != "the job could not be used" || !r.Due.Equal(want) || r.Key != scheduler.Key(want) {
					t.Errorf("%s: row %d is %+v, want %v", c.name, i, r, want)
				}
			}
			if _, err := s.Jobs.Report(t.Context()); err != nil || len(s.away()) != 0 {
				t.Errorf("%s: told %q, %v", c.name, s.away(), err)
			}
		}
	}
}

// What the owner reads after a downtime is true of a job with a gate too: where the gate of the newest slot stays shut, nothing has become of
// those that it stands for; where nobody could look, they are missed; while it waits, nothing is told; and what was folded into a run is not one that ran.
func TestReportOfManyGatedSlots(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*scheduler.Job)
		outcome scheduler.Outcome
		want    string
	}{
		{"opens", func(*scheduler.Job) {}, "", "[g: 3 missed, one run replaces them]"},
		{"stays shut", func(*scheduler.Job) {}, scheduler.OutcomeSkipped, "[]"},
		{"stays shut, and no run was to replace them", func(j *scheduler.Job) { j.Missed = scheduler.MissedSkip }, scheduler.OutcomeSkipped, "[g: 3 runs missed]"},
		{"fails", func(*scheduler.Job) {}, scheduler.OutcomeFailed, "[g: 4 runs missed]"},
	} {
		s := fresh(t)
		j := s.job("g", gatedJob, c.change)
		s.later(j.Due.Sub(s.now()) + 3*time.Hour + 2*time.Minute)
		s.fire(j.ID, s.now())
		told := func() string {
			t.Helper()
			if _, err := s.Jobs.Report(t.Context()); err != nil {
				t.Fatal(err)
			}
			list := s.away()
			for i, text := range list {
				_, list[i], _ = strings.Cut(text, "): ")
			}
			return fmt.Sprint(list)
		}
		s.later(5 * time.Minute) // longer than a look takes
		if got := told(); got != "[]" {
			t.Errorf("%s: before the look %s", c.name, got)
		}
		s.rule(c.outcome, "gate: it is so", "")
		told()
		if got := told(); got != c.want {
			t.Errorf("%s: told %s, want %s", c.name, got, c.want)
		}
		if n := one[int](s, "SELECT count(*) FROM fires WHERE told = 1"); n != 0 {
			t.Errorf("%s: %d slots are told yet", c.name, n)
		}
		if n := one[int](s, "SELECT count(*) FROM fires WHERE outcome = 'coalesced' AND reason NOT LIKE 'the slot of % replaces it'"); n != 0 {
			t.Errorf("%s: the older ones say %v", c.name, s.fires())
		}
	}
}
