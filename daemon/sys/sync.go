package sys

import (
	"context"
	"time"
)

// Limits of the wait for a clock that is not set yet.
const (
	youngMachine = 10 * time.Minute    // a machine that is up for longer will not get a better time
	longAway     = 30 * 24 * time.Hour // hob may have been off for this long before the clock looks wrong
	longestWait  = time.Minute         // shorter than the timeout of a watchdog
	syncLook     = time.Second         // interval of the checks
)

// SyncClock waits until a machine that has just booted has the right time. A machine without a battery for its clock starts with a wrong
// one.
//
// It waits only while the time looks wrong: before last, which is when hob last worked, or more than 30 days after it. The wait ends when
// the system reports that its clock is set, when the machine has been up for ten minutes, after one minute, or when ctx ends. It returns
// whether it had to wait.
//
// Slots must not be computed with a clock that is about to jump: one that is ahead would use up future slots.
func SyncClock(ctx context.Context, c Clock, last time.Time) (waited bool) {
	return wait(ctx, c, last, system)
}

// state is the system's report about its clock: the uptime, and whether the clock was set. known is false if the system does not say.
type state func() (up time.Duration, set, known bool)

func wait(ctx context.Context, c Clock, last time.Time, look state) (waited bool) {
	tick := time.NewTicker(syncLook)
	defer tick.Stop()
	for begin := c.Mono(); ctx.Err() == nil && c.Mono()-begin < longestWait; {
		now := c.Wall()
		up, set, known := look()
		if plausible := !now.Before(last) && now.Sub(last) <= longAway; last.IsZero() || plausible || !known || set || up >= youngMachine {
			return waited
		}
		waited = true
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return waited
}
