// Package sys is hob's contact with the operating system: the clock, goroutines, random ids, free disk space and the service manager.
// It decides nothing.
//
// The clock keeps two times apart: wall time for people and slots, monotonic time for durations. It is injected, so that a test can
// simulate a year.
package sys

import "time"

// Clock tells wall time and elapsed time apart.
type Clock struct {
	wall func() time.Time
	mono func() time.Duration
}

// RealClock is the machine's clock.
func RealClock() Clock {
	start := time.Now()
	return Clock{
		wall: func() time.Time { return time.Now().Round(0).UTC() },
		mono: func() time.Duration { return time.Since(start) },
	}
}

// ShiftedClock is the machine's clock with its wall time moved by what offset returns at each reading.
func ShiftedClock(offset func() time.Duration) Clock {
	c := RealClock()
	wall := c.wall
	c.wall = func() time.Time { return wall().Add(offset()) }
	return c
}

// Wall is the time of day, in UTC, without a monotonic part. It may jump.
func (c Clock) Wall() time.Time { return c.wall() }

// Mono is the time since some fixed instant. It never goes back, and stands still while the machine sleeps.
func (c Clock) Mono() time.Duration { return c.mono() }
