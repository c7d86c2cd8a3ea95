package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

func (s *testStore) job(name string, change ...func(*scheduler.Job)) scheduler.Job {
	s.t.Helper()
	j, _, err := scheduler.New(scheduler.Draft{Name: name, Cron: "0 * * * *", Prompt: "do it", Trust: event.Owner, Deliver: "chat:1"}, time.UTC, s.now())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range change {
		f(&j)
	}
	if err := s.Calls.Record(context.Background(), scheduler.Put{Job: j}); err != nil {
		s.t.Fatal(err)
	}
	if j, err = s.Jobs.JobNamed(context.Background(), name); err != nil {
		s.t.Fatal(err)
	}
	return j
}

// due is the firing of a job's next slot.
func (s *testStore) due(id int64) scheduler.Firing {
	s.t.Helper()
	j, err := s.Jobs.Job(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	f, ok, err := scheduler.Slots(j, j.Due.Add(time.Second))
	if err != nil || !ok {
		s.t.Fatalf("nothing is due: %v", err)
	}
	return f
}

func (s *testStore) fires() (list []string) {
	s.t.Helper()
	rows, err := s.FireRows(context.Background(), event.Filter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		list = append(list, strings.TrimSpace(rows[i].State+" "+rows[i].Outcome+" "+rows[i].Reason))
	}
	return list
}

func TestFireOnce(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	j := s.job("j")
	f := s.due(j.ID)
	if err := s.Jobs.Fire(ctx, []scheduler.Firing{f}); err != nil {
		t.Fatal(err)
	}
	if err := s.Jobs.Fire(ctx, []scheduler.Firing{f}); !errors.Is(err, scheduler.ErrMoved) {
		t.Errorf("the same firing again: %v, want ErrMoved", err)
	}
	s.sql("UPDATE fires SET reason = 'as it was'")
	again := f // a clock put back: the same slot with the row as it is now
	again.From = f.Job.Due
	if err := s.Jobs.Fire(ctx, []scheduler.Firing{again}); err != nil {
		t.Fatal(err)
	}
	if n := one[int](s, "SELECT count(*) FROM fires"); n != 1 || one[int](s, "SELECT count(*) FROM inbox") != 1 {
		t.Errorf("%d fires, %d inputs", n, one[int](s, "SELECT count(*) FROM inbox"))
	}
	if got := s.fires()[0]; got != "queued  as it was" {
		t.Errorf("the slot's row was changed: %s", got)
	}
	// Nothing of a batch is committed when one of its jobs was changed.
	k := s.job("k")
	s.later(2 * time.Hour)
	stale := s.due(k.ID)
	if err := s.Calls.Record(ctx, scheduler.Pause{ID: k.ID, Paused: true, Due: k.Due}); err != nil {
		t.Fatal(err)
	}
	if err := s.Jobs.Fire(ctx, []scheduler.Firing{s.due(j.ID), stale}); !errors.Is(err, scheduler.ErrMoved) {
		t.Errorf("a paused job: %v", err)
	}
	if n := one[int](s, "SELECT count(*) FROM fires WHERE outcome <> 'missed'"); n != 1 { // what k missed before its pause has rows
		t.Errorf("%d fires: half a batch was committed", n)
	}
	if err := s.Calls.Record(ctx, scheduler.Remove{ID: k.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Calls.Record(ctx, scheduler.Remove{ID: k.ID}); err == nil {
		t.Error("a job was removed twice")
	}
	s.job("k") // its name is free again
}

// A slot that comes due while the last one is unfinished is folded into it, unless the job queues.
func TestOverlap(t *testing.T) {
	for _, queue := range []bool{false, true} {
		s := fresh(t)
		j := s.job("j", func(j *scheduler.Job) {
			if queue {
				j.Overlap = scheduler.OverlapQueue
			}
		})
		for range 2 {
			if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
				t.Fatal(err)
			}
		}
		want := "[queued done coalesced waiting for #1]"
		if queue {
			want = "[queued queued]"
		}
		if got := fmt.Sprint(s.fires()); got != want {
			t.Errorf("queue %v: %s, want %s", queue, got, want)
		}
	}
}

// All missed slots of a job with "all" run: those of one catch-up do not fold into each other.
func TestCatchUpAll(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Missed = scheduler.MissedAll })
	f, ok, err := scheduler.Slots(j, j.Due.Add(4*time.Hour))
	if err != nil || !ok || len(f.Run) != 5 {
		t.Fatalf("%d runs, %v", len(f.Run), err)
	}
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{f}); err != nil {
		t.Fatal(err)
	}
	if n := one[int](s, "SELECT count(*) FROM inbox"); n != 5 {
		t.Errorf("%d of 5 slots run: %v", n, s.fires())
	}
}

// end ends the turn of the newest fire with a state.
func (s *testStore) end(state turn.Status) {
	s.t.Helper()
	id := s.take()
	if id == 0 {
		s.t.Fatal("no turn to end")
	}
	err := s.Turns.Commit(context.Background(), turn.Commit{Turn: id, End: &turn.Finish{State: state, Why: "it went wrong"}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A job's failures back it off without losing slots; the fifth in a row asks the owner.
func TestBackoff(t *testing.T) {
	for _, tc := range []struct {
		answer string
		paused bool
	}{{"once", false}, {"go on", false}, {"1", false}, {"no", true}, {"pause", true}, {"2", true}} {
		s := fresh(t)
		ctx := t.Context()
		j := s.job("j")
		for n, wait := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour} {
			if err := s.Jobs.Fire(ctx, []scheduler.Firing{s.due(j.ID)}); err != nil {
				t.Fatal(err)
			}
			s.later(3 * time.Hour) // over any hold
			s.end(turn.Failed)
			j, err := s.Jobs.Job(ctx, j.ID)
			if err != nil || j.Failures != n+1 {
				t.Fatalf("%d failures after %d, %v", j.Failures, n+1, err)
			}
			if hold := j.BackoffUntil.Sub(s.now()); hold > wait || hold < wait-10*time.Second {
				t.Errorf("after failure %d it is held for %v, want %v", n+1, hold, wait)
			}
			if asked := one[int](s, "SELECT count(*) FROM questions"); asked != map[bool]int{true: 1}[n == 4] {
				t.Errorf("after failure %d: %d questions", n+1, asked)
			}
		}
		in := message("answer")
		in.ExtID, in.Kind = "a", event.Answer
		if _, err := s.Commands.AnswerFrom(ctx, in, one[string](s, "SELECT code FROM questions"), tc.answer); err != nil {
			t.Fatalf("%s: %v", tc.answer, err)
		}
		j, err := s.Jobs.Job(ctx, j.ID)
		if err != nil || j.Paused != tc.paused || j.Failures != 0 || !j.BackoffUntil.IsZero() {
			t.Errorf("after %q: %+v, %v", tc.answer, j, err)
		}
		if tc.paused {
			continue
		}
		if err := s.Jobs.Fire(ctx, []scheduler.Firing{s.due(j.ID)}); err != nil {
			t.Fatal(err)
		}
		s.end(turn.Done)
		if j, err = s.Jobs.Job(ctx, j.ID); err != nil || j.Failures != 0 {
			t.Errorf("a run that went well left %d failures (%v)", j.Failures, err)
		}
	}
}

// The question whether a failing job shall go on ends with a good run, a pause and a removal.
func TestTheQuestionOfAFailingJobEnds(t *testing.T) {
	for name, over := range map[string]func(*testStore, scheduler.Job) error{
		"a good run": func(s *testStore, j scheduler.Job) error {
			err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)})
			s.later(3 * time.Hour)
			s.end(turn.Done)
			return err
		},
		"a pause": func(s *testStore, j scheduler.Job) error {
			return s.Jobs.Record(t.Context(), scheduler.Pause{ID: j.ID, Paused: true})
		},
		"a removal": func(s *testStore, j scheduler.Job) error {
			return s.Jobs.Record(t.Context(), scheduler.Remove{ID: j.ID})
		},
	} {
		s := fresh(t)
		j := s.job("j")
		for range 5 {
			if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
				t.Fatal(err)
			}
			s.later(3 * time.Hour)
			s.end(turn.Failed)
		}
		if n := one[int](s, "SELECT count(*) FROM questions WHERE state = 'open'"); n != 1 {
			t.Fatalf("%d questions are open", n)
		}
		if err := over(s, j); err != nil {
			t.Fatal(err)
		}
		if state := one[string](s, "SELECT state FROM questions"); state != "expired" {
			t.Errorf("after %s it is %s", name, state)
		}
	}
}

// A stopped run is not the job's failure.
func TestStopIsNoFailure(t *testing.T) {
	s := fresh(t)
	j := s.job("j")
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{s.due(j.ID)}); err != nil {
		t.Fatal(err)
	}
	s.end(turn.Stopped)
	if j, err := s.Jobs.Job(t.Context(), j.ID); err != nil || j.Failures != 0 {
		t.Errorf("%d failures, %v", j.Failures, err)
	}
}

func TestMissedAsk(t *testing.T) {
	s := fresh(t)
	j := s.job("j", func(j *scheduler.Job) { j.Missed = scheduler.MissedAsk })
	f, _, err := scheduler.Slots(j, j.Due.Add(59*time.Minute))
	if err != nil || f.Ask == "" {
		t.Fatalf("no question: %+v, %v", f, err)
	}
	if err := s.Jobs.Fire(t.Context(), []scheduler.Firing{f}); err != nil {
		t.Fatal(err)
	}
	in := message("answer")
	in.ExtID, in.Kind = "a", event.Answer
	if _, err := s.Commands.AnswerFrom(t.Context(), in, one[string](s, "SELECT code FROM questions"), "run once now"); err != nil {
		t.Fatal(err)
	}
	if id := s.take(); id == 0 {
		t.Errorf("nothing runs; fires %v", s.fires())
	}
}

// A list of jobs shows first what runs next, then what does not run; it comes in pages. Those in trouble are found among all.
func TestJobRows(t *testing.T) {
	s := fresh(t)
	for i, name := range []string{"paused", "late", "soon", "done"} {
		s.job(name, func(j *scheduler.Job) {
			j.Due = s.now().Add(time.Duration(10-i) * time.Hour)
			j.Paused = name == "paused"
			if name == "done" {
				j.Due = time.Time{}
			}
			if name == "soon" {
				j.Origin = "config"
			}
		})
	}
	s.sql("UPDATE triggers SET failures = 3 WHERE name = 'late'")
	names := func(list []scheduler.Job, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, j := range list {
			all = append(all, j.Name)
		}
		return strings.Join(all, " ")
	}
	for _, x := range []struct {
		f    event.Filter
		want string
	}{
		{event.Filter{}, "soon late done paused"}, {event.Filter{Limit: 1}, "soon"}, {event.Filter{Limit: 3}, "soon late done"}, {event.Filter{State: scheduler.InTrouble}, "late"},
	} {
		if got := names(s.Jobs.JobRows(t.Context(), x.f)); got != x.want {
			t.Errorf("%+v: %s, want %s", x.f, got, x.want)
		}
	}
	if got := names(s.Jobs.ConfigJobs(t.Context())); got != "soon" {
		t.Errorf("jobs of the config: %s", got)
	}
}

// A spoilt row disables only itself.
func TestSpoiltRow(t *testing.T) {
	s := fresh(t)
	j := s.job("bad")
	s.job("good")
	s.sql(`UPDATE triggers SET body = '[]' WHERE id = ?`, j.ID)
	if _, err := s.Jobs.Job(t.Context(), j.ID); !errors.Is(err, scheduler.ErrUnreadable) {
		t.Errorf("%v, want ErrUnreadable", err)
	}
	if err := s.Jobs.Disable(t.Context(), j.ID, "it is spoilt"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Jobs.JobRows(t.Context(), event.Filter{})
	if err != nil || len(list) != 2 || list[0].Broken != "" || list[1].Broken == "" {
		t.Errorf("jobs %+v, %v", list, err)
	}
	moved, _, err := s.Jobs.Moved(t.Context(), 0)
	if err != nil || len(moved) != 2 || !moved[0].Due.IsZero() && !moved[1].Due.IsZero() {
		t.Errorf("moved %+v, %v", moved, err)
	}
	if o := s.outs(); len(o) != 1 || !strings.Contains(o[0].Body, "Job bad cannot be used") {
		t.Errorf("the owner was told %+v", o)
	}
}

var days = flag.Int("days", 6, "days of the simulated year over the real store")

// The scheduler over the real store for some days with restarts and clock jumps, compared with an oracle.
func TestYear(t *testing.T) {
	dir := t.TempDir()
	schedulertest.Year(t, 7, *days, func(t *testing.T, c sys.Clock) schedulertest.World {
		return world(storetest.Open(t, dir, func(o *store.Options) { o.Clock = c }))
	})
}

func world(s *store.Store) schedulertest.World {
	return schedulertest.World{
		Store: s.Jobs,
		Put: func(ctx context.Context, j scheduler.Job) (scheduler.Job, error) {
			if err := s.Calls.Record(ctx, scheduler.Put{Job: j}); err != nil {
				return j, err
			}
			return s.Jobs.JobNamed(ctx, j.Name)
		},
		Fires: func(ctx context.Context, job int64) ([]scheduler.Slot, error) {
			rs, err := s.Reader().QueryContext(ctx, "SELECT key, due, state, outcome, late_us, reason FROM fires WHERE trigger = ? ORDER BY id", job)
			if err != nil {
				return nil, err
			}
			defer rs.Close() //nolint:errcheck // read to its end
			var list []scheduler.Slot
			for rs.Next() {
				var slot scheduler.Slot
				var late int64
				if err := rs.Scan(&slot.Key, sqlite.Stamp(&slot.Due), &slot.State, &slot.Outcome, &late, &slot.Reason); err != nil {
					return nil, err
				}
				slot.Late = time.Duration(late) * time.Microsecond
				list = append(list, slot)
			}
			return list, rs.Err()
		},
		Finish: func(ctx context.Context) error {
			return s.Write(ctx, func(tx *store.Tx) error {
				if err := tx.Run("UPDATE inbox SET state = 'done' WHERE state = 'queued'"); err != nil {
					return err
				}
				return tx.Run("UPDATE fires SET state = 'done', outcome = 'ran' WHERE state <> 'done'")
			})
		},
		Close: func() error { return s.Close(context.Background()) },
	}
}

// Jobs that run each other come to an end: turns may run a job so often and no more. People may go on, and so may turns a little later.
func TestJobsThatRunEachOther(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	j, other := s.job("j"), s.job("other")
	run := func(j scheduler.Job, call string) error {
		return s.Calls.Record(ctx, scheduler.RunNow{Job: j, In: scheduler.ByHand(j, call, s.now())})
	}
	for n := range 30 {
		if err := run(j, fmt.Sprintf("t%d_1", n+1)); err != nil {
			t.Fatalf("run %d: %v", n+1, err)
		}
	}
	if f, ok := event.AsFault(run(j, "t31_1")); !ok || f.Kind != event.Clash || !strings.Contains(f.Text, "30 times within ten minutes") {
		t.Errorf("the next one: %v", f)
	}
	for _, c := range []struct {
		job  scheduler.Job
		call string
	}{{j, "cABC"}, {j, "question-x"}, {j, "t30_1"}, {other, "t31_1"}} { // by people; once more the same; another job
		if err := run(c.job, c.call); err != nil {
			t.Errorf("%s %s: %v", c.job.Name, c.call, err)
		}
	}
	s.later(11 * time.Minute)
	if err := run(j, "t32_1"); err != nil {
		t.Errorf("later: %v", err)
	}
	if n := one[int](s, "SELECT count(*) FROM inbox WHERE kind = 'fire'"); n != 34 {
		t.Errorf("%d runs are queued, want 34", n)
	}
}
