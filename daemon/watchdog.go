package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"

	"hob/daemon/api"
	"hob/daemon/sys"
)

// supervise reports to the service manager that started hob, if one did, from now until the stage ends. It must be called
// last, because it begins by reporting that hob is ready.
func (d *daemon) supervise(in stage) {
	manager, err := sys.FindServiceManager(os.Getenv, os.Getpid())
	if err != nil {
		d.log.Warn("the service manager is not understood", "err", err)
	}
	if manager.Listens() {
		in.Go(in.ctx, "lifeline", sys.Lifeline{Manager: manager, Look: d.status.sign}.Run)
	}
}

// sign returns whether hob makes progress, and one line for people.
func (d status) sign(ctx context.Context) (alive bool, text string) {
	s, err := d.show(ctx)
	if err != nil {
		return false, "the database does not answer: " + plain(err).Error()
	}
	// The line is what systemctl status shows.
	parts := []string{s.State, "model " + s.Model, fmt.Sprintf("%d queued, %d waiting", s.Thread.Queued, s.Thread.Waiting), fmt.Sprintf("%d jobs", s.Scheduler.Jobs)}
	if n := len(s.Config); n > 0 {
		parts = append(parts, fmt.Sprintf("%d remarks on the config: hob status", n))
	}
	parts = append(parts, s.Trouble...)
	alive = moves(s)
	if !alive {
		parts = append(parts, "thread "+s.Thread.State, "scheduler "+s.Scheduler.State)
	}
	return alive, strings.Join(parts, " · ")
}

// moves reports whether thread and scheduler make progress.
func moves(s api.Status) bool { return s.Thread.State != "stuck" && s.Scheduler.State != "stuck" }
