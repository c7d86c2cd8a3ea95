package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// RunningTurn is the turn that a thread runs now, and the time of the thread's last progress. The zero value is an idle thread. It is safe
// for concurrent use.
type RunningTurn struct {
	claim  sync.Mutex // held while the thread takes a turn from the database and records it here; Stop waits for that
	mu     sync.Mutex // guards id and cancel
	id     int64      // 0 when the thread is idle
	cancel context.CancelCauseFunc
	beat   atomic.Int64 // monotonic time of the last progress
}

// set records the turn that the thread now runs, and how to cancel it; 0 and nil mean that the thread is idle.
func (r *RunningTurn) set(id int64, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.cancel = id, cancel
}

// Stop cancels turn id if it is running; with id 0 it cancels whichever turn runs. It returns the cancelled turn, 0 for none.
// The next turn starts as usual. A turn that the database calls running is never missed, because Stop waits while the thread takes one.
func (r *RunningTurn) Stop(id int64) int64 {
	r.claim.Lock()
	defer r.claim.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil || (id != 0 && id != r.id) {
		return 0
	}
	r.cancel(errStopped)
	return r.id
}

// Running returns the turn that is being stepped, 0 when the thread is idle.
func (r *RunningTurn) Running() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// progress records the time of a sign of life. If none comes for too long, the watchdog restarts hob.
func (r *RunningTurn) progress(now time.Duration) { r.beat.Store(int64(now)) }

// Beat returns the monotonic time of the thread's last progress, at most now. The watchdog compares it with the clock.
func (r *RunningTurn) Beat(now time.Duration) time.Duration {
	return min(time.Duration(r.beat.Load()), now)
}
