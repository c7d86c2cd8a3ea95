package sys_test

import (
	"runtime"
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

// The machine's own clock knows its sleeps on Linux; a clock that a test moves does not.
func TestSlept(t *testing.T) {
	d, known := sys.RealClock().Slept()
	if known != (runtime.GOOS == "linux") || d < 0 {
		t.Errorf("%v, known: %v", d, known)
	}
	if again, _ := sys.RealClock().Slept(); again-d > time.Second {
		t.Errorf("the machine was awake: %v, then %v", d, again)
	}
	moved := sys.ShiftedClock(func() time.Duration { return time.Hour })
	if _, known := moved.Slept(); known {
		t.Error("a moved clock knows")
	}
	if d, known := moved.WithSleep(func() time.Duration { return time.Minute }).Slept(); d != time.Minute || !known {
		t.Errorf("%v, known: %v", d, known)
	}
}
