package sys

import (
	"context"
	"time"
)

// The limits of waiting for a clock that nothing has set yet.
const (
	youngMachine = 10 * time.Minute    // up for longer, a machine has the time that it is going to have
	longAway     = 30 * 24 * time.Hour // hob may have been off for so long before its clock looks wrong
	longestWait  = time.Minute         // under what a watchdog takes for a hang
	syncLook     = time.Second         // between two looks
)

// SyncClock waits for a machine that has just booted to get the right time, as one without a battery behind its clock does. It waits only
// while the time looks wrong: before last, when hob was last seen to work, or more than a month after it; and until the system says that
// its clock is set, the machine is ten minutes old, a minute has passed, or ctx ends. It reports whether it had to wait. Slots must not be judged by a clock that is
// about to jump: one that is ahead would burn slots to come.
func SyncClock(ctx context.Context, c Clock, last time.Time) (waited bool) {
	return wait(ctx, c, last, system)
}

// state is what the system says of its clock: how long it has been up, and whether something has set the clock. known is false where it
// does not say.
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
