package scheduler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/sys/systest"
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
		if told := r.JumpNotices(); len(told) != 2 || !strings.HasPrefix(told[1], "The clock was ahead. It is back from") {
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
		"ahead, and set right":      {steps: []time.Duration{40 * day, -time.Hour}, told: 2, runs: 1},
		"ahead for long, then back": {steps: []time.Duration{40 * day, -20 * day}, apart: 31 * day, told: 2, runs: 43},
		"slewed":                    {steps: []time.Duration{-50 * time.Second, 50 * time.Second, -50 * time.Second}},
		"back":                      {steps: []time.Duration{-10 * day}, apart: 31 * day, told: 1, runs: 21},
		"back and right again":      {steps: []time.Duration{-400 * day, 400 * day}, told: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *runnerHarness) {
				j := r.add("cron 0 22 * * *", nil)
				r.followClock()
				r.Seen(r.clock.Wall().Add(-time.Minute))
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

// V1: a clock that was ahead by any step from a minute to years, and comes back, costs no job a slot of the right time, and runs none of
// them twice. So it is over restarts, while the machine sleeps in between, and in the nights in which the clocks of a country change.
func TestAClockThatWasAhead(t *testing.T) {
	berlin, err := scheduler.Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(40)
	if systest.Thorough() {
		seeds = 600
	}
	for seed := range seeds {
		bubble(t, func(r *runnerHarness) {
			random := rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- repeatable
			upTo := func(d time.Duration) time.Duration { return time.Duration(random.Float64() * float64(d)) }
			night := []time.Time{time.Date(2026, 3, 28, 22, 0, 0, 0, berlin), time.Date(2026, 10, 24, 22, 0, 0, 0, berlin)}[seed%2]
			right := time.Until(night) // the offset of a clock that is right
			r.offset.Store(int64(right))
			var jobs []scheduler.Job
			for _, s := range []string{"every 5m0s", "cron 30 2 * * *", "cron 0 9 * * *", "cron */20 * * * *", "at " + night.Add(20*time.Hour).Format(time.RFC3339)} {
				jobs = append(jobs, r.add(s, func(j *scheduler.Job) {
					j.Zone = "Europe/Berlin"
					next, err := scheduler.Upcoming(*j, j.Created, 1)
					if err != nil {
						t.Fatal(err)
					}
					j.Due = next[0]
				}))
			}
			r.followClock()
			r.Seen(r.clock.Wall())
			r.run()
			did, ahead := "", time.Duration(0)
			step := func(by time.Duration) { // with or without a restart
				down := random.IntN(3) == 0
				if down {
					r.Seen(r.clock.Wall())
					r.cancel()
					if err := <-r.ended; err != nil {
						t.Fatal(err)
					}
					r.wait(upTo(20 * time.Minute))
				}
				ahead += by
				r.offset.Add(int64(by))
				did += fmt.Sprintf(" %v (down: %v)", by.Round(time.Minute), down)
				if down {
					r.run()
				}
				r.wait(time.Minute)
				if err := r.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 1 + random.IntN(3) {
				r.wait(upTo(2 * time.Hour))
				step(time.Duration(math.Exp(random.Float64()*math.Log(float64(3*365*24*time.Hour/(2*time.Minute)))) * float64(2*time.Minute)))
				r.wait(upTo(2 * time.Hour))
				if random.IntN(3) == 0 && ahead > 10*time.Minute {
					step(-upTo(ahead-5*time.Minute) - 2*time.Minute)
				}
				if random.IntN(3) == 0 {
					sleep := upTo(3 * time.Hour)
					right += sleep
					r.offset.Add(int64(sleep))
					did += " slept"
					r.wait(time.Minute)
				}
			}
			told := len(r.JumpNotices())
			step(-ahead)
			if n := r.JumpNotices(); (len(n) != told+1 || !strings.HasPrefix(n[told], "The clock was ahead.")) && ahead > 25*time.Minute { // hob may be off for 20 min
				t.Errorf("seed %d:%s: told %q", seed, did, n)
			}
			back := r.clock.Wall()
			for range 26 * 12 {
				r.wait(5 * time.Minute)
				if err := r.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, j := range jobs {
				count := map[string]int{}
				for _, key := range r.runs(j.ID) {
					count[key]++
				}
				next, err := scheduler.Upcoming(j, back, 24*12)
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range next {
					if at.Before(back.Add(25*time.Hour)) && count[scheduler.Key(at)] != 1 {
						t.Errorf("seed %d:%s: back at %v; %s: the slot of %v ran %d times", seed, did, back.In(berlin), j.Spec, at.In(berlin), count[scheduler.Key(at)])
						break
					}
				}
			}
		})
	}
}

// V1: where the system tells how long the machine slept, a clock that was set is told at once, and told again when it is back. A sleep is not told.
func TestAClockThatWasSetIsTold(t *testing.T) {
	for _, c := range []struct {
		name        string
		jump, slept time.Duration
		told        string // "": nothing
		early       bool   // soon after hob's start
	}{
		{"a sleep", 3 * time.Hour, 3 * time.Hour, "", false},
		{"a sleep, and a clock that is corrected by seconds", 3 * time.Hour, 3*time.Hour - 50*time.Second, "", false},
		{"a clock that was set", 3 * time.Hour, 0, "The clock went ahead by 3 h, from 1 Jan 2000 00:30 UTC to 1 Jan 2000 03:30 UTC.", false},
		{"two minutes", 2 * time.Minute, 0, "The clock went ahead by 2 min, from 1 Jan 2000 00:30 UTC to 1 Jan 2000 00:32 UTC.", false},
		{"set during a sleep", 3 * time.Hour, time.Hour, "The clock went ahead by 3 h, from", false},
		{"within a minute", 55 * time.Second, 0, "", false},
		{"soon after the start", 3 * time.Hour, 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *runnerHarness) {
				var slept atomic.Int64
				slept.Store(int64(20 * time.Hour)) // before hob was started
				r.clock = r.clock.WithSleep(func() time.Duration { return time.Duration(slept.Load()) })
				r.add("every 1h0m0s", nil)
				r.followClock()
				r.run()
				if !c.early {
					r.wait(30 * time.Minute)
				}
				slept.Add(int64(c.slept))
				r.offset.Add(int64(c.jump))
				r.wait(time.Minute)
				if told := strings.Join(r.JumpNotices(), "\n"); c.told == "" && told != "" || !strings.HasPrefix(told, c.told) {
					t.Fatalf("told %q, want %q", told, c.told)
				}
				if c.told == "" {
					return
				}
				r.offset.Add(-int64(c.jump))
				r.wait(time.Minute)
				if told := r.JumpNotices(); len(told) != 2 || !strings.HasPrefix(told[1], "The clock was ahead. It is back from") {
					t.Errorf("told %q", told)
				}
			})
		})
	}
}
