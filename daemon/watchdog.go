package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hob/daemon/notify"
)

// Pause between two lines for people where no watchdog asks for signs of life.
const statusEvery = time.Minute

// lifeline tells the service manager how hob does. Its watchdog is fed by the progress of thread and scheduler: the ticker
// only looks, and what it sees is what /healthz says. A manager that hears nothing kills the process and starts another.
type lifeline struct {
	manager notify.Manager
	look    func(context.Context) (alive bool, text string)
}

// supervise reports to the service manager that started hob, if one did, from now until the stage ends. It belongs after
// everything else: its first word is that hob is ready.
func (d *daemon) supervise(in stage) {
	manager, err := notify.Find(os.Getenv, os.Getpid())
	if err != nil {
		d.log.Warn("the service manager is not understood", "err", err)
	}
	if manager.Listens() {
		in.Go(in.ctx, "lifeline", lifeline{manager, overview{d}.sign}.run)
	}
}

func (l lifeline) run(ctx context.Context) error {
	_, text := l.look(ctx)
	if err := l.manager.Ready(text); err != nil {
		return err
	}
	pause := statusEvery
	if w := l.manager.Watchdog(); w > 0 {
		pause = max(w/3, time.Millisecond) // two looks may be late before one is missed
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return l.manager.Stopping("stopping")
		case <-tick.C:
			if err := l.beat(ctx); err != nil {
				return err
			}
		}
	}
}

// beat feeds the watchdog when there is progress; when there is none it only says so.
func (l lifeline) beat(ctx context.Context) error {
	alive, text := l.look(ctx)
	if alive && l.manager.Watchdog() > 0 {
		return l.manager.Alive(text)
	}
	return l.manager.Status(text)
}

// sign is one line for people, and whether hob makes progress.
func (d overview) sign(ctx context.Context) (alive bool, text string) {
	s, err := d.status(ctx)
	if err != nil {
		return false, "the database does not answer: " + err.Error()
	}
	parts := []string{s.State, "model " + s.Model, fmt.Sprintf("%d queued, %d waiting", s.Thread.Queued, s.Thread.Waiting), fmt.Sprintf("%d jobs", s.Scheduler.Jobs)}
	if n := len(s.Config); n > 0 {
		parts = append(parts, fmt.Sprintf("%d remarks on the config: hob status", n))
	}
	alive = s.moves()
	if !alive {
		parts = append(parts, "thread "+s.Thread.State, "scheduler "+s.Scheduler.State)
	}
	return alive, strings.Join(parts, " · ")
}

// moves reports whether thread and scheduler make progress.
func (s Status) moves() bool { return s.Thread.State != "stuck" && s.Scheduler.State != "stuck" }
