package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

const longJump = 183 * 24 * time.Hour

// runs are the slots of a job that ran, or run, by their keys.
func (r *runnerHarness) runs(id int64) (keys []string) {
	r.t.Helper()
	for _, s := range r.rows(id) {
		if s.State != scheduler.StateDone || s.Outcome == scheduler.OutcomeRan {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

func (r *runnerHarness) followClock() {
	r.follow = func(runner *scheduler.Runner) { runner.FollowClock(r.store.(*schedulertest.Memory)) }
}

// A clock that goes half a year ahead, and back after two hours, costs no job a slot, and runs none twice; each runs at most once for it,
// whatever its policy. The owner is told of both.
func TestAClockJumpIsUndone(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		start := r.clock.Wall()
		hourly := r.add("every 1h0m0s", nil)
		daily := r.add("cron 0 9 * * *", func(j *scheduler.Job) { j.Missed = scheduler.MissedAll })
		asks := r.add("cron 0 10 * * *", func(j *scheduler.Job) { j.Missed = scheduler.MissedAsk })
		skips := r.add("cron 0 11 * * *", func(j *scheduler.Job) { j.Missed = scheduler.MissedSkip })
		once := r.add("at "+start.Add(100*24*time.Hour).Format(time.RFC3339), nil)
		later := r.add("at "+start.Add(400*24*time.Hour).Format(time.RFC3339), nil)
		r.followClock()
		r.run()
		r.wait(30 * time.Minute)

		r.offset.Add(int64(longJump))
		r.wait(30 * time.Second)
		for _, c := range []struct {
			job  scheduler.Job
			want int
		}{{hourly, 1}, {daily, 1}, {asks, 0}, {skips, 0}, {once, 1}, {later, 0}} {
			if got := r.runs(c.job.ID); len(got) != c.want || len(r.rows(c.job.ID)) > 2 {
				t.Errorf("%s: %d runs for the jump, want %d; rows %+v", c.job.Spec, len(got), c.want, r.rows(c.job.ID))
			}
		}
		if why := r.rows(daily.ID)[0].Reason; !strings.HasSuffix(why, "only the newest is caught up") {
			t.Errorf("the others of a job with the policy all: %s", why)
		}
		if told := r.JumpNotices(); len(told) != 1 || !strings.HasPrefix(told[0], "The clock went ahead by 183 days, from 1 Jan 2000 00:") {
			t.Errorf("told %q", told)
		}
		if err := r.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wait(2 * time.Hour)
		if got := r.runs(hourly.ID); len(got) != 3 {
			t.Errorf("two hours by the wrong clock: %v", got)
		}

		r.offset.Add(-int64(longJump))
		r.wait(30 * time.Second)
		if told := r.JumpNotices(); len(told) != 2 || !strings.HasPrefix(told[1], "The clock is back from") {
			t.Errorf("told %q", told)
		}
		for range 101 {
			if err := r.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.wait(24 * time.Hour)
		}
		seen := map[string]int{}
		for _, j := range []scheduler.Job{hourly, daily, asks, skips, once, later} {
			for _, key := range r.runs(j.ID) {
				seen[j.Spec+" "+key]++
			}
		}
		for slot, n := range seen {
			if n > 1 {
				t.Errorf("%s ran %d times", slot, n)
			}
		}
		due := func(j scheduler.Job, at time.Time) int { return seen[j.Spec+" "+scheduler.Key(at)] }
		for day := range 100 {
			midnight := start.Add(time.Duration(day) * 24 * time.Hour)
			for hour, j := range map[int]scheduler.Job{9: daily, 10: asks, 11: skips, 12: hourly} {
				if at := midnight.Add(time.Duration(hour) * time.Hour); due(j, at) != 1 {
					t.Errorf("%s: the slot of %v ran %d times", j.Spec, at, due(j, at))
				}
			}
		}
		if at := start.Add(100 * 24 * time.Hour); due(once, at) != 1 || len(r.runs(later.ID)) != 0 {
			t.Errorf("once: %v, later: %v", r.runs(once.ID), r.runs(later.ID))
		}
	})
}

// The slots of a false future are run when it has become the present, also by those jobs that the wrong clock has run.
func TestTheFalseFutureComes(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		daily := r.add("cron 0 9 * * *", nil)
		r.followClock()
		r.run()
		r.wait(time.Hour)
		r.offset.Add(int64(31 * 24 * time.Hour))
		r.wait(3 * 24 * time.Hour)
		r.offset.Add(-int64(31 * 24 * time.Hour))
		wrong := len(r.runs(daily.ID))
		for range 40 {
			r.wait(24 * time.Hour)
		}
		count := map[string]int{}
		for _, key := range r.runs(daily.ID) {
			count[key]++
		}
		if wrong != 4 || len(count) != wrong+41 { // and one for those whose time passed while the clock was wrong
			t.Errorf("%d runs by the wrong clock, then 40 days: %v", wrong, count)
		}
	})
}

// What happens around a jump that is not undone.
func TestClockJumpsThatStay(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		steps []time.Duration // of the wall clock, an hour apart
		apart time.Duration
		told  int
		runs  int // of a daily job
	}{
		"a month of sleep":          {steps: []time.Duration{29 * day}, runs: 1},
		"ahead":                     {steps: []time.Duration{40 * day}, told: 1, runs: 1},
		"ahead, and set right":      {steps: []time.Duration{40 * day, -time.Hour}, told: 1, runs: 1},
		"ahead for long, then back": {steps: []time.Duration{40 * day, -20 * day}, apart: 31 * day, told: 1, runs: 43},
		"back":                      {steps: []time.Duration{-400 * day}},
		"back and right again":      {steps: []time.Duration{-400 * day, 400 * day}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *runnerHarness) {
				j := r.add("cron 0 22 * * *", nil)
				r.followClock()
				r.run()
				for _, step := range c.steps {
					r.offset.Add(int64(step))
					r.wait(max(c.apart, time.Hour))
				}
				if told, runs := r.JumpNotices(), r.runs(j.ID); len(told) != c.told || len(runs) != c.runs {
					t.Errorf("told %q, want %d things; ran %v, want %d", told, c.told, runs, c.runs)
				}
			})
		})
	}
}

// A jump is undone even if hob was stopped in between.
func TestAClockJumpOutlivesTheProcess(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		daily := r.add("cron 0 9 * * *", nil)
		r.followClock()
		r.run()
		r.wait(time.Hour)
		r.offset.Add(int64(longJump))
		r.wait(time.Hour)
		r.cancel()
		if err := <-r.ended; err != nil {
			t.Fatal(err)
		}
		r.offset.Add(-int64(longJump))
		r.run()
		r.wait(24 * time.Hour)
		if got := r.runs(daily.ID); len(r.JumpNotices()) != 2 || len(got) != 2 || !strings.HasPrefix(got[0], "ahead:") || got[1] != "2000-01-01T09:00:00Z" {
			t.Errorf("told %q, ran %v", r.JumpNotices(), got)
		}
	})
}

// A clock that returns only in part is still ahead.
func TestAClockJumpUndoneInParts(t *testing.T) {
	bubble(t, func(r *runnerHarness) {
		daily := r.add("cron 0 9 * * *", nil)
		r.followClock()
		r.run()
		for _, step := range []time.Duration{longJump, -100 * 24 * time.Hour, -83 * 24 * time.Hour} {
			r.wait(time.Hour)
			r.offset.Add(int64(step))
		}
		r.wait(24 * time.Hour)
		got := r.runs(daily.ID)
		if len(r.JumpNotices()) != 3 || len(got) != 3 || got[2] != "2000-01-01T09:00:00Z" {
			t.Errorf("told %q, ran %v", r.JumpNotices(), got)
		}
	})
}
