package sys_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
)

// SyncClock waits for a freshly booted machine with an implausible time until its clock is set or the machine is no longer young. It
// waits for no other machine.
func TestSync(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		away     time.Duration // time since hob last worked, by the present clock; 0: never
		up       time.Duration // at the first check
		setAfter time.Duration // when the system reports that the clock is set
		silent   bool          // the system reports nothing
		want     time.Duration
	}{
		"never seen before":       {up: time.Minute, setAfter: time.Hour},
		"a plausible time":        {away: day, up: time.Minute, setAfter: time.Hour},
		"back, and set":           {away: -day, up: time.Minute},
		"back, an old machine":    {away: -day, up: time.Hour, setAfter: time.Hour},
		"back, nobody knows":      {away: -day, up: time.Minute, setAfter: time.Hour, silent: true},
		"back, set a little late": {away: -day, up: time.Minute, setAfter: 20 * time.Second, want: 20 * time.Second},
		"far ahead, set late":     {away: 400 * day, up: time.Minute, setAfter: 20 * time.Second, want: 20 * time.Second},
		"back, growing old":       {away: -day, up: 570 * time.Second, setAfter: time.Hour, want: 30 * time.Second},
		"back, never set":         {away: -day, up: 4 * time.Minute, setAfter: time.Hour, want: time.Minute},
		"back, but soon over it":  {away: -30 * time.Second, up: time.Minute, setAfter: time.Hour, want: 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			last := begin.Add(-c.away)
			if c.away == 0 {
				last = time.Time{}
			}
			waited := sys.Wait(t.Context(), sys.RealClock(), last, func() (time.Duration, bool, bool) {
				return c.up + time.Since(begin), time.Since(begin) >= c.setAfter, !c.silent
			})
			if got := time.Since(begin); got != c.want || waited != (c.want > 0) {
				t.Errorf("%s: waited %v (%v), want %v", name, got, waited, c.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		begin := time.Now()
		sys.Wait(ctx, sys.RealClock(), begin.Add(time.Hour), func() (time.Duration, bool, bool) { return 0, false, true })
		if got := time.Since(begin); got != 5*time.Second {
			t.Errorf("it ended %v after the start, not with its context", got)
		}
	})
}
