// Package clock tells the time: wall time for what people and slots mean,
// monotonic time for how long something took. It is injected so that a year can be simulated.
package clock

import "time"

// Clock tells wall time and elapsed time apart.
type Clock struct {
	wall func() time.Time
	mono func() time.Duration
}

// Real is the machine's clock.
func Real() Clock {
	start := time.Now()
	return Clock{
		wall: func() time.Time { return time.Now().Round(0).UTC() },
		mono: func() time.Duration { return time.Since(start) },
	}
}

// Shifted is the machine's clock with its wall time moved by what offset returns at each reading.
func Shifted(offset func() time.Duration) Clock {
	c := Real()
	wall := c.wall
	c.wall = func() time.Time { return wall().Add(offset()) }
	return c
}

// Wall is the time of day, in UTC, without a monotonic part. It may jump.
func (c Clock) Wall() time.Time { return c.wall() }

// Mono is the time since some fixed instant. It never goes back, and stands still while the machine sleeps.
func (c Clock) Mono() time.Duration { return c.mono() }
