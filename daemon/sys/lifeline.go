package sys

import (
	"context"
	"time"
)

// statusEvery is the interval of status lines if there is no watchdog.
const statusEvery = time.Minute

// Lifeline reports the state of the process to the service manager. It feeds the watchdog only if Look sees progress. A manager that
// hears nothing kills the process and starts another.
type Lifeline struct {
	Manager ServiceManager
	Look    func(context.Context) (alive bool, text string) // whether there is progress, and a line for people
}

// Run reports that the process is ready, feeds the watchdog until ctx ends, and reports that it stops. Errors are those of the manager's
// socket.
func (l Lifeline) Run(ctx context.Context) error {
	_, text := l.Look(ctx)
	if err := l.Manager.Ready(text); err != nil {
		return err
	}
	pause := statusEvery
	if w := l.Manager.Watchdog(); w > 0 {
		pause = max(w/3, time.Millisecond) // two beats may be late before the watchdog expires
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return l.Manager.Stopping("stopping")
		case <-tick.C:
			if err := l.beat(ctx); err != nil {
				return err
			}
		}
	}
}

// beat feeds the watchdog if there is progress; otherwise it only updates the status line.
func (l Lifeline) beat(ctx context.Context) error {
	alive, text := l.Look(ctx)
	if alive && l.Manager.Watchdog() > 0 {
		return l.Manager.Alive(text)
	}
	return l.Manager.Status(text)
}
