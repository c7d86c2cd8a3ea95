package sys

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Go's timers stand still while the machine sleeps, and they know nothing of a change of the wall clock. A part that waits for a time of
// day therefore needs to be woken when the clock jumps.
const (
	LongestSleep = 15 * time.Minute // the longest sleep of a part that waits for a time of day: a clock that is slewed is half a second off by then
	uncertain    = 30 * time.Second // the longest sleep while nobody watches the clock
	leap         = time.Second      // a smaller difference between the two clocks is no jump
)

// jumps holds the timers that end when the wall clock jumps.
type jumps struct {
	mu      sync.Mutex
	watched bool
	timers  map[*time.Timer]struct{}
}

// Timer ends after its time, or as soon as the wall clock jumps. The owner must call Stop.
type Timer struct {
	C     <-chan time.Time // receives once
	End   time.Duration    // monotonic time of the end, if no jump comes first
	timer *time.Timer
	jumps *jumps
}

// Timer makes a timer for a part that waits for a time of day. It lasts d, at most LongestSleep. While WatchJumps does not run it lasts at most
// 30 s, because a jump would not end it.
func (c Clock) Timer(d time.Duration) Timer {
	d = max(min(d, LongestSleep), 0)
	if c.jumps == nil {
		d = min(d, uncertain)
		timer := time.NewTimer(d)
		return Timer{C: timer.C, End: c.Mono() + d, timer: timer}
	}
	j := c.jumps
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.watched {
		d = min(d, uncertain)
	}
	timer := time.NewTimer(d)
	j.timers[timer] = struct{}{}
	return Timer{C: timer.C, End: c.Mono() + d, timer: timer, jumps: j}
}

// Stop ends a timer that is not needed any more.
func (t Timer) Stop() {
	t.timer.Stop()
	if t.jumps != nil {
		t.jumps.mu.Lock()
		defer t.jumps.mu.Unlock()
		delete(t.jumps.timers, t.timer)
	}
}

// watch notes whether jumps end the timers. Both times the timers end at once, so that their owners make new ones of the right length.
func (j *jumps) watch(on bool) {
	j.mu.Lock()
	j.watched = on
	j.mu.Unlock()
	j.happened()
}

// happened ends all timers.
func (j *jumps) happened() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for t := range j.timers {
		t.Reset(0)
	}
}

// WatchJumps ends the timers of the clock at each jump of the wall clock, until ctx ends. Where the system reports jumps, it does not
// wake in between. Elsewhere it compares the wall clock with the monotonic one every 30 s.
func (c Clock) WatchJumps(ctx context.Context) error {
	return c.WatchJumpsBy(ctx, func(ctx context.Context, happened func()) error {
		if err := reportedJumps(ctx, happened); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return c.compare(ctx, happened)
	})
}

// WatchJumpsBy is WatchJumps with another way to find out about jumps: report calls happened at each, until ctx ends.
func (c Clock) WatchJumpsBy(ctx context.Context, report func(ctx context.Context, happened func()) error) error {
	c.jumps.watch(true)
	defer c.jumps.watch(false)
	return report(ctx, c.jumps.happened)
}

// compare looks for jumps by comparing the two clocks.
func (c Clock) compare(ctx context.Context, happened func()) error {
	wall, mono := c.Wall(), c.Mono()
	for Sleep(ctx, uncertain) {
		w, m := c.Wall(), c.Mono()
		if off := w.Sub(wall) - (m - mono); off.Abs() > leap {
			happened()
		}
		wall, mono = w, m
	}
	return nil
}
