package daemon

import (
	"context"
	"time"

	"hob/daemon/notify"
	"hob/scheduler"
	"hob/scheduler/gate"
	"hob/scheduler/watch"
)

// StuckAfter is how long a part may make no progress.
const StuckAfter = stuckAfter

// Idle lets the tests ask parts of their own how long the slowest of them has made no progress.
func Idle(now time.Duration, r *scheduler.Runner, k *gate.Keeper, w *watch.Watcher) time.Duration {
	return (&parts{runner: r, keeper: k, watcher: w}).idle(now)
}

// Moves lets the tests see what feeds the watchdog.
var Moves = Status.moves

// Lifeline lets the tests starve the watchdog.
func Lifeline(ctx context.Context, m notify.Manager, look func(context.Context) (bool, string)) error {
	return lifeline{m, look}.run(ctx)
}
