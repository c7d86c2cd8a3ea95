package scheduler_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

// A country moves its clocks: what stands at nine is due at nine, by the clocks of then.
func TestRedate(t *testing.T) {
	east := func(minutes int) *time.Location { return time.FixedZone("new", minutes*60) }
	nine := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC) // 09:00 in a zone one hour east
	for _, c := range []struct {
		name, spec string
		zone       *time.Location
		last, want time.Duration // from nine; want 0: it stays
	}{
		{"nothing changed", "cron 0 9 * * *", east(60), -24 * time.Hour, 0},
		{"summer time came", "cron 0 9 * * *", east(120), -24 * time.Hour, -time.Hour},
		{"it went", "cron 0 9 * * *", east(0), -24 * time.Hour, time.Hour},
		{"half an hour", "cron 0 9 * * *", east(90), -24 * time.Hour, -30 * time.Minute},
		{"the nearest of many", "cron 0,40 * * * *", east(75), -time.Hour, -15 * time.Minute}, // 09:15 by the new clocks
		{"every minute matches", "cron * * * * *", east(75), -time.Minute, 0},
		{"not before what has run", "cron 0 9 * * *", east(120), -time.Hour, 0},
		{"too far", "cron 0 9 * * *", east(6 * 60), -24 * time.Hour, 0},
		{"a period knows no zone", "every 1h0m0s", east(75), -time.Hour, 0},
		{"nor does an instant", "at 2026-11-21T08:00:00Z", east(75), 0, 0},
	} {
		j := job(c.spec, scheduler.MissedOnce)
		j.Due, j.Last = nine, nine.Add(c.last)
		due, ok := scheduler.Redate(j, c.zone)
		if ok != (c.want != 0) || ok && !due.Equal(nine.Add(c.want)) {
			t.Errorf("%s: %v after nine (%v), want %v", c.name, due.Sub(nine), ok, c.want)
		}
	}
}

// A runner that starts under new rules moves what was due by the old ones, once; so does one that runs, within the hour.
func TestRunnerFollowsTheRulesOfZones(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		stale := func(j *scheduler.Job) { j.Due = j.Due.Add(time.Hour) } // as by rules in which the zone lay an hour to the west
		wrong, right := r.add("cron 30 9 * * *", stale), r.add("cron 30 9 * * *", nil)
		var print atomic.Value
		print.Store("a")
		r.follow = func(runner *scheduler.Runner) {
			runner.FollowZones(r.Memory, func() string { return print.Load().(string) })
		}
		due := func(id int64) string {
			j, err := r.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return j.Due.Format("15:04")
		}
		r.run()
		if due(wrong.ID) != "09:30" || due(right.ID) != "09:30" {
			t.Fatalf("due at %s and %s", due(wrong.ID), due(right.ID))
		}
		j, _ := r.Job(t.Context(), wrong.ID)
		stale(&j)
		if _, err := r.Put(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		r.wait(2 * time.Hour)
		if due(wrong.ID) != "10:30" {
			t.Errorf("it is looked at again by the same rules: %s", due(wrong.ID))
		}
		print.Store("b")
		r.wait(61 * time.Minute)
		if due(wrong.ID) != "09:30" || strings.Count(r.log.String(), "have changed") != 2 {
			t.Errorf("by new rules it is due at %s; log %s", due(wrong.ID), r.log.String())
		}
		r.wait(24 * time.Hour)
		for _, id := range []int64{wrong.ID, right.ID} {
			if rows := r.rows(id); len(rows) != 1 || rows[0].Late != 0 || rows[0].Due.Format("15:04") != "09:30" {
				t.Errorf("job %d: %+v", id, rows)
			}
		}
	})
}

// The print tells the version of hob; the same machine has the same one.
func TestZonePrint(t *testing.T) {
	if a, b := scheduler.ZoneFingerprint("1"), scheduler.ZoneFingerprint("2"); a == b || a != scheduler.ZoneFingerprint("1") || !strings.HasPrefix(a, "1") {
		t.Errorf("%q, %q", a, b)
	}
	zones := t.TempDir()
	before := scheduler.ZoneFingerprint("1")
	t.Setenv("ZONEINFO", zones)
	if scheduler.ZoneFingerprint("1") == before {
		t.Error("the rules that ZONEINFO names are not looked at")
	}
}

// racing is a store in which somebody does something right before the first commit of the runner.
type racing struct {
	*schedulertest.Memory
	first func()
}

func (s *racing) Fire(ctx context.Context, batch []scheduler.Firing) error {
	if s.first != nil {
		s.first()
		s.first = nil
	}
	return s.Memory.Fire(ctx, batch)
}

// A job that was changed in place between the runner's look and its commit fires by what it is now, though its next slot is the same.
func TestRunnerSeesAChangeWithTheSameDue(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		j := r.add("every 1m0s", nil)
		r.store = &racing{r.Memory, func() {
			j.Spec, j.Prompt = "every 1h0m0s", "new"
			if _, err := r.Put(t.Context(), j); err != nil {
				t.Error(err)
			}
		}}
		r.run()
		r.wait(10 * time.Minute)
		if rows, in := r.rows(j.ID), r.Inbox(); len(rows) != 1 || len(in) != 1 || in[0].Text() != "new" {
			t.Errorf("%d rows, %+v", len(rows), in)
		}
	})
}

// A clock that was put back leaves slots ahead that have their rows; a schedule that is changed then goes on behind them, on the dot.
func TestRunnerGoesOnBehindWhatHasRun(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		start := r.clock.Wall()
		j := r.add("every 1h0m0s", func(j *scheduler.Job) {
			j.Last, j.Due = start.Add(150*time.Minute), start.Add(time.Hour) // Due as a change of the job works it out, from now
		})
		r.run()
		r.wait(2*time.Hour + 59*time.Minute)
		if rows := r.rows(j.ID); len(rows) != 0 {
			t.Fatalf("%+v", rows)
		}
		r.wait(2 * time.Minute)
		if rows := r.rows(j.ID); len(rows) != 1 || rows[0].Late != 0 || !rows[0].Due.Equal(start.Add(3*time.Hour)) {
			t.Errorf("%+v", rows)
		}
	})
}
