package sys

import (
	"context"
	"time"
)

// Pause between two lines for people where no watchdog asks for signs of life.
const statusEvery = time.Minute

// Lifeline tells the service manager how the process does. Its watchdog is fed by progress: the ticker only looks. A manager that hears
// nothing kills the process and starts another.
type Lifeline struct {
	Manager ServiceManager
	Look    func(context.Context) (alive bool, text string) // whether there is progress, and a line for people
}

// Run says that the process is ready, then feeds the watchdog until ctx ends, and says that it stops. Errors are those of the manager's socket.
func (l Lifeline) Run(ctx context.Context) error {
	_, text := l.Look(ctx)
	if err := l.Manager.Ready(text); err != nil {
		return err
	}
	pause := statusEvery
	if w := l.Manager.Watchdog(); w > 0 {
		pause = max(w/3, time.Millisecond) // two looks may be late before one is missed
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

// beat feeds the watchdog when there is progress; when there is none it only says so.
func (l Lifeline) beat(ctx context.Context) error {
	alive, text := l.Look(ctx)
	if alive && l.Manager.Watchdog() > 0 {
		return l.Manager.Alive(text)
	}
	return l.Manager.Status(text)
}
