package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runnerHarness is a runner over a store in memory, inside a bubble.
type runnerHarness struct {
	*schedulertest.Memory
	t      *testing.T
	clock  sys.Clock
	offset atomic.Int64
	log    strings.Builder
	runner *scheduler.Runner
	ended  chan error
	cancel context.CancelFunc
	store  scheduler.Store         // nil: the one in memory
	follow func(*scheduler.Runner) // done before it runs
}

func bubble(t *testing.T, test func(r *runnerHarness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &runnerHarness{Memory: schedulertest.NewMemory(), t: t}
		r.clock = sys.ShiftedClock(func() time.Duration { return time.Duration(r.offset.Load()) })
		test(r)
		if r.cancel != nil {
			r.cancel()
			if err := <-r.ended; err != nil {
				t.Errorf("run ended with %v", err)
			}
		}
	})
}

func (r *runnerHarness) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.cancel, r.ended = cancel, make(chan error, 1)
	if r.store == nil {
		r.store = r.Memory
	}
	r.runner = scheduler.NewRunner(r.store, r.clock, r.Changed(), slog.New(slog.NewTextHandler(&r.log, nil)))
	if r.follow != nil {
		r.follow(r.runner)
	}
	go func() { r.ended <- r.runner.Run(ctx) }()
	synctest.Wait()
}

func (r *runnerHarness) add(spec string, change func(*scheduler.Job)) scheduler.Job {
	r.t.Helper()
	j := job(spec, scheduler.MissedOnce)
	j.ID, j.Zone, j.Created, j.Overlap = 0, "UTC", r.clock.Wall(), scheduler.OverlapQueue
	next, err := scheduler.Upcoming(j, j.Created, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	j.Due = next[0].UTC()
	if change != nil {
		change(&j)
	}
	stored, err := r.Put(r.t.Context(), j)
	if err != nil {
		r.t.Fatal(err)
	}
	return stored
}

func (r *runnerHarness) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *runnerHarness) rows(id int64) []scheduler.Slot {
	r.t.Helper()
	list, err := r.Fires(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func TestRunnerFiresOnTheDot(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		r.run()
		j := r.add("every 7s", nil) // put while the runner sleeps
		r.wait(70 * time.Second)
		rows := r.rows(j.ID)
		if len(rows) != 10 {
			t.Fatalf("%d rows, want 10", len(rows))
		}
		for i, s := range rows {
			if s.Late != 0 || !s.Due.Equal(j.Created.Add(time.Duration(i+1)*7*time.Second)) {
				t.Errorf("row %d: due %v, late %v", i, s.Due, s.Late)
			}
		}
	})
}

func TestRunnerNoticesAClockPutForward(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 24h0m0s", nil)
		r.run()
		r.offset.Add(int64(50 * time.Hour))
		r.wait(30 * time.Second)
		rows := r.rows(j.ID)
		if len(rows) != 2 || rows[0].Outcome != scheduler.OutcomeCoalesced || rows[1].State != scheduler.StateQueued {
			t.Errorf("got %+v", rows)
		}
		r.offset.Add(-int64(49 * time.Hour))
		r.wait(time.Hour)
		if again := r.rows(j.ID); len(again) != 2 {
			t.Errorf("put back: %+v", again)
		}
		if log := r.log.String(); !strings.Contains(log, "the clock went forward") || !strings.Contains(log, "the clock went back") {
			t.Errorf("log: %s", log)
		}
	})
}

func TestRunnerProgress(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		r.run()
		for range 50 {
			r.wait(17 * time.Second)
			if age := r.clock.Mono() - r.runner.Progress(); age > 30*time.Second {
				t.Fatalf("the last sign of life is %v old", age)
			}
		}
	})
}

func TestRunnerDisablesOnlyWhatIsBroken(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		good := r.add("every 1m0s", nil)
		spoilt := r.add("every 1m0s", nil)
		r.Spoil(spoilt.ID)
		nonsense := r.add("every 1m0s", func(j *scheduler.Job) { j.Spec = "cron L * * * *" })
		lost := r.add("every 1m0s", func(j *scheduler.Job) { j.Zone = "Atlantis/Capital" })
		r.run()
		r.wait(5 * time.Minute)
		if n := len(r.rows(good.ID)); n != 5 {
			t.Errorf("the good job has %d rows", n)
		}
		for _, bad := range []scheduler.Job{spoilt, nonsense, lost} {
			j, err := r.Job(t.Context(), bad.ID)
			if err != nil || j.Broken == "" || len(r.rows(bad.ID)) != 0 {
				t.Errorf("job %d: broken %q, %v", bad.ID, j.Broken, err)
			}
		}
	})
}

func TestRunnerTriesAgainAndHoldsUpNoOther(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		bad, good := r.add("every 30m0s", nil), r.add("every 30m0s", nil)
		full := errors.New("the disk is full")
		r.Refuse(func(f scheduler.Firing) error {
			if f.Job.ID == bad.ID {
				return full
			}
			return nil
		})
		r.run()
		r.wait(30 * time.Minute)
		if len(r.rows(bad.ID)) != 0 || len(r.rows(good.ID)) != 1 {
			t.Fatalf("bad %v, good %v", r.rows(bad.ID), r.rows(good.ID))
		}
		r.Refuse(nil)
		r.wait(time.Minute)
		if rows := r.rows(bad.ID); len(rows) != 1 || rows[0].Late != time.Second {
			t.Errorf("got %+v", rows)
		}
		if !strings.Contains(r.log.String(), "the disk is full") {
			t.Errorf("log: %s", r.log.String())
		}
	})
}

func TestRunnerFollowsChanges(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		r.run()
		later, paused, gone := r.add("every 1m0s", nil), r.add("every 1m0s", nil), r.add("every 1m0s", nil)
		r.wait(30 * time.Second)
		later.Due = later.Due.Add(90 * time.Second)
		paused.Paused = true
		for _, j := range []scheduler.Job{later, paused} {
			if _, err := r.Put(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
		r.Remove(gone.ID)
		r.wait(2 * time.Minute)
		if rows := r.rows(later.ID); len(rows) != 1 || !rows[0].Due.Equal(later.Due) {
			t.Errorf("put off: %+v", rows)
		}
		if len(r.rows(paused.ID)) != 0 || len(r.rows(gone.ID)) != 0 {
			t.Errorf("paused %+v, removed %+v", r.rows(paused.ID), r.rows(gone.ID))
		}
	})
}

// TestRunnerMovedMeanwhile changes a job between the runner's read and its commit.
func TestRunnerMovedMeanwhile(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 1m0s", nil)
		moved := false
		r.Refuse(func(scheduler.Firing) error {
			if moved {
				return nil
			}
			moved = true
			return scheduler.ErrMoved
		})
		r.run()
		r.wait(time.Minute)
		j.Due = j.Due.Add(10 * time.Second)
		if _, err := r.Put(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		r.wait(20 * time.Second)
		if rows := r.rows(j.ID); len(rows) != 1 || !rows[0].Due.Equal(j.Due) {
			t.Errorf("got %+v", rows)
		}
	})
}

func TestRunnerOrderAndBatches(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		start := r.clock.Wall()
		for i := range 1000 {
			r.add("every 1h0m0s", func(j *scheduler.Job) {
				j.Due = start.Add(time.Duration(rand.IntN(600)) * time.Second) // #nosec G404 -- any order will do
				j.Name = fmt.Sprint("job", i)
			})
		}
		r.wait(20 * time.Minute)
		r.run()
		inbox := r.Inbox()
		if len(inbox) != 1000 || r.Commits() > 10 {
			t.Fatalf("%d inputs in %d commits", len(inbox), r.Commits())
		}
		for i, in := range inbox[1:] {
			if due(inbox[i].ExtID) > due(in.ExtID) {
				t.Fatalf("%s came before %s", inbox[i].ExtID, in.ExtID)
			}
		}
	})
}

func due(extID string) string { return strings.SplitN(extID, ":", 3)[2] }

func TestRunnerAsks(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		r.add("every 1h0m0s", func(j *scheduler.Job) { j.Missed = scheduler.MissedAsk })
		r.wait(225 * time.Minute)
		r.run()
		if asked := r.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "missed 3 runs") || len(r.Inbox()) != 0 {
			t.Errorf("asked %v, inbox %v", asked, r.Inbox())
		}
	})
}

// failing is a store whose list cannot be read.
type failing struct{ scheduler.Store }

func (failing) Moved(context.Context, int64) ([]scheduler.Entry, int64, error) {
	return nil, 0, errors.New("locked")
}

func TestRunnerSaysWhenJobsCannotBeListed(t *testing.T) {
	r := scheduler.NewRunner(failing{}, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
	if err := r.Run(t.Context()); err == nil || err.Error() != "list jobs: locked" {
		t.Errorf("got %v", err)
	}
}
