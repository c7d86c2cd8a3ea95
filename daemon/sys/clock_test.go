package sys_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
)

func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real, offset := sys.RealClock(), time.Duration(0)
		shifted := sys.ShiftedClock(func() time.Duration { return offset })
		wall, mono := shifted.Wall(), shifted.Mono()
		time.Sleep(time.Minute)
		offset = -time.Hour
		if d := shifted.Wall().Sub(wall); d != time.Minute-time.Hour {
			t.Errorf("the wall clock moved by %v", d)
		}
		if d := shifted.Mono() - mono; d != time.Minute {
			t.Errorf("elapsed time moved by %v: it knows nothing of the wall clock", d)
		}
		now := real.Wall()
		if now.Location() != time.UTC || now != now.Round(0) || !now.Equal(time.Now()) {
			t.Errorf("wall time %v", now)
		}
	})
}
