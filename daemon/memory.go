package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"hob/daemon/agent"
	"hob/daemon/sys"
)

// Settings of Go's memory (docs/decisions/0010-memory-is-given-back-at-rest.md).
const (
	memoryLimit = 200 << 20        // the soft limit, in bytes: a safety net, hob normally needs far less
	restAfter   = 10 * time.Second // a rest this long after work gives memory back to the system
)

// holdGarbage sets the soft memory limit and switches garbage collection off until release is called: a start allocates less than one collection
// would wait for, and needs nearly all of it. The variables GOMEMLIMIT and GOGC win.
func holdGarbage() (release func()) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	// The old value comes back with release.
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// memoryRelease gives memory back to the system: once after the start, and whenever hob rests after work. Go's own runtime would keep most of it, since
// a process at rest allocates nothing and so never collects.
type memoryRelease struct {
	work func() <-chan struct{} // closed by the next work
	turn *agent.RunningTurn
}

// run waits for work, then for rest. At rest it does not wake.
func (m memoryRelease) run(ctx context.Context) error {
	for ctx.Err() == nil {
		// The signal is taken before the rest begins, so that work during the rest is seen.
		next := m.work()
		if !sys.Sleep(ctx, restAfter) {
			return nil
		}
		select {
		case <-next:
			continue
		default:
		}
		// A long turn is no rest, even if nothing new arrives.
		if m.turn.Running() != 0 {
			continue
		}
		debug.FreeOSMemory()
		// Memory is given back once; the next release needs new work.
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
	return nil
}
