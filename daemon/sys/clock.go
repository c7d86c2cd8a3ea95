// Package sys is hob's contact with the operating system: the clock, goroutines, random ids, free disk space and the service manager. It
// decides nothing.
//
// The clock separates wall time, for people and slots, from monotonic time, for durations. It is injected, so a test can simulate a year.
package sys

import (
	"context"
	"time"
)

// Clock separates wall time from elapsed time.
type Clock struct {
	wall  func() time.Time
	mono  func() time.Duration
	slept func() (time.Duration, error) // nil: it is not known
	jumps *jumps                        // nil for the zero clock
}

// RealClock returns the machine's clock.
func RealClock() Clock {
	start := time.Now()
	return Clock{
		wall:  func() time.Time { return time.Now().Round(0).UTC() },
		mono:  func() time.Duration { return time.Since(start) },
		slept: machineSlept,
		jumps: &jumps{timers: map[*time.Timer]struct{}{}},
	}
}

// ShiftedClock returns the machine's clock, with its wall time moved by the result of offset at each reading.
func ShiftedClock(offset func() time.Duration) Clock {
	c := RealClock()
	wall := c.wall
	c.wall = func() time.Time { return wall().Add(offset()) }
	c.slept = nil
	return c
}

// WithSleep returns the clock of a machine that has slept for the result of slept at each reading.
func (c Clock) WithSleep(slept func() time.Duration) Clock {
	c.slept = func() (time.Duration, error) { return slept(), nil }
	return c
}

// RecordedClock returns a clock that shows the time of something that was recorded.
func RecordedClock(at func() time.Time) Clock {
	return Clock{wall: func() time.Time { return at().UTC() }, mono: func() time.Duration { return at().Sub(time.Unix(0, 0)) }}
}

// Wall returns the time of day, in UTC, without a monotonic part. It may jump.
func (c Clock) Wall() time.Time { return c.wall() }

// Mono returns the time since a fixed instant. It never goes back, and it does not advance while the machine sleeps.
func (c Clock) Mono() time.Duration { return c.mono() }

// Slept returns how long the machine has slept since it was started. It is false where the system does not tell, and for a ShiftedClock.
func (c Clock) Slept() (time.Duration, bool) {
	if c.slept == nil {
		return 0, false
	}
	d, err := c.slept()
	return d, err == nil
}

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Rest waits for a time of day that is d away, and ends early if the clock jumps. It returns false if ctx ends first.
func Rest(ctx context.Context, c Clock, d time.Duration) bool {
	timer := c.Timer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// UnlessDone returns err, or nil when ctx has ended: what fails then fails because of it.
func UnlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
