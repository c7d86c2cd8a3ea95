package daemon_test

import (
	"runtime/debug"
	"testing"

	"hob/daemon"
)

func TestGarbageIsCollectedAgainAfterTheStart(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	release := daemon.HoldGarbage()
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Errorf("during the start: %d", got)
	}
	release()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("after it: %d", got)
	}
	t.Setenv("GOGC", "50")
	daemon.HoldGarbage()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC is set, but the percentage changed to %d", got)
	}
}
