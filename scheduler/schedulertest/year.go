package schedulertest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
	"hob/scheduler"
)

// World is an opened store under test.
type World struct {
	Store   scheduler.Store
	Changed <-chan struct{}
	Put     func(context.Context, scheduler.Job) (scheduler.Job, error)    // stores a new job and returns it with its ID
	Fires   func(ctx context.Context, job int64) ([]scheduler.Slot, error) // all rows of a job
	Finish  func(context.Context) error                                    // ends all unfinished fires with the outcome ran
	Close   func() error
}

// Year simulates jobs of every kind in six zones for some days from 2026-03-05 (clocks change on 8 and 29 March, 5 and 24 April), with
// random restarts, downtimes, suspends and clock jumps. Then it compares all rows with the rules: each slot has exactly one row, was served
// as early as possible, and has the outcome that its job's policies demand. open opens the same data again at each restart, inside a bubble
// of testing/synctest.
func Year(t *testing.T, seed uint64, days int, open func(*testing.T, sys.Clock) World) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := newYear(t, seed, open)
		end := y.clock.Wall().AddDate(0, 0, days)
		y.start()
		y.put()
		// Times with a running runner alternate with downtimes.
		for y.clock.Wall().Before(end) {
			y.stretch(min(4*days, 200))
			y.stop()
			time.Sleep(y.random(time.Duration(min(8*days, 96)) * time.Hour))
			y.start()
		}
		// In a last hour without jumps the runner serves what is due, so that no slot is missing from the check.
		y.calm(time.Hour)
		y.check()
		y.stop()
	})
}

// span is a period in which the runner was up and the clock did not jump. Runs finish at its end.
type span struct {
	from, until time.Time
	slack       time.Duration // how long the runner may take to notice its beginning
}

// noticed is how long a runner sleeps at most before it looks at the clock again.
const noticed = 31 * time.Second

// year is one simulation. Its wall clock is the time of the synctest bubble plus offset.
type year struct {
	t      *testing.T
	open   func(*testing.T, sys.Clock) World
	clock  sys.Clock
	offset *atomic.Int64
	rand   *rand.Rand
	world  World
	jobs   []*planned
	cancel context.CancelFunc
	ended  chan error
	jumped bool
	spans  []span // in the order of the simulation
}

// newYear prepares a simulation. The same seed gives the same jumps and downtimes.
func newYear(t *testing.T, seed uint64, open func(*testing.T, sys.Clock) World) *year {
	y := &year{t: t, open: open, offset: &atomic.Int64{}, jobs: plan(t)}
	y.offset.Store(int64(time.Until(yearBegins())))
	y.clock = sys.ShiftedClock(func() time.Duration { return time.Duration(y.offset.Load()) })
	y.rand = rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- a simulation must be repeatable
	return y
}

// random returns a duration up to limit; short ones are more likely.
func (y *year) random(limit time.Duration) time.Duration {
	f := y.rand.Float64()
	return time.Duration(f * f * float64(limit))
}

// start opens the data and starts a runner, as after a restart of hob.
func (y *year) start() {
	y.world = y.open(y.t, y.clock)
	var ctx context.Context
	ctx, y.cancel = context.WithCancel(y.t.Context())
	y.ended = make(chan error, 1)
	y.jumped = false // a runner looks at the clock when it starts
	runner := scheduler.NewRunner(y.world.Store, y.clock, y.world.Changed, slog.New(slog.DiscardHandler))
	go func() { y.ended <- runner.Run(ctx) }()
	synctest.Wait()
}

// stop ends the runner and closes the data, which the next start opens again.
func (y *year) stop() {
	y.cancel()
	if err := <-y.ended; err != nil {
		y.t.Fatalf("run: %v", err)
	}
	if err := y.world.Close(); err != nil {
		y.t.Fatalf("close: %v", err)
	}
}

func (y *year) put() {
	for _, p := range y.jobs {
		job, _, err := scheduler.New(p.draft, time.UTC, y.clock.Wall())
		if err != nil {
			y.t.Fatalf("draft %+v: %v", p.draft, err)
		}
		if p.job, err = y.world.Put(y.t.Context(), job); err != nil {
			y.t.Fatalf("put: %v", err)
		}
	}
}

// stretch keeps the runner up for some time with occasional clock jumps. A suspend is a jump forward, as timers stop during it.
func (y *year) stretch(longest int) {
	for range 1 + y.rand.IntN(longest) {
		y.calm(time.Hour + y.random(time.Hour))
		switch y.rand.IntN(min(longest, 80)) {
		case 0:
			y.jump(y.random(8 * time.Hour))
		case 1:
			y.jump(-y.random(4 * time.Hour))
		}
	}
}

// jump moves the wall clock only. Timers do not notice it.
func (y *year) jump(by time.Duration) {
	y.offset.Add(int64(by))
	y.jumped = true
}

// calm lets time pass while the runner is up.
func (y *year) calm(d time.Duration) {
	s := span{from: y.clock.Wall()}
	// After a jump the runner may sleep on until it looks at the clock again.
	if y.jumped {
		s.slack, y.jumped = noticed, false
	}
	time.Sleep(d)
	// Wait until the runner has served everything and sleeps.
	synctest.Wait()
	s.until = y.clock.Wall()
	y.spans = append(y.spans, s)
	if err := y.world.Finish(y.t.Context()); err != nil {
		y.t.Fatalf("finish: %v", err)
	}
}
