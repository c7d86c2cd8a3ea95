package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// Limits of health, besides stuckAfter.
const (
	mostRestarts = 5                // of one component, each soon after the one before
	soonAfter    = 90 * time.Second // longer than the longest pause before a restart
	leastFree    = 1 << 20          // bytes on the disk of the state folder; an input may be as large
)

// restarts counts the restarts of components, to find those that fail again and again.
// It counts in memory only: a new process begins without failures.
type restarts struct {
	mu   sync.Mutex
	list map[string]restarted
}

// restarted is a series of restarts of one component.
type restarted struct {
	times int
	last  time.Duration // on the monotonic clock
}

// note counts a restart. A pause longer than soonAfter begins a new series.
// The group of a stage reports each failure of a component here.
func (r *restarts) note(name string, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]restarted{}
	}
	was := r.list[name]
	if now-was.last > soonAfter {
		was.times = 0
	}
	r.list[name] = restarted{was.times + 1, now}
}

// forget drops the counts; the cause of the failures is gone.
func (r *restarts) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.list)
}

// trouble lists the components that were restarted too often, by name.
func (r *restarts) trouble(now time.Duration) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, c := range r.list {
		// A series that ended a while ago is over: the component runs.
		if c.times >= mostRestarts && now-c.last <= soonAfter {
			list = append(list, fmt.Sprintf("%s fails again and again: restarted %d times", name, c.times))
		}
	}
	slices.Sort(list)
	return list
}

// trouble lists why hob is not healthy, one sentence for each reason. It writes to the database only if the last commit failed.
func (d status) trouble(ctx context.Context, s *api.Status) (list []string) {
	// The storage comes first, because a check below depends on its state.
	if storage := d.store.Backups.Storage(ctx); storage.Fault != nil {
		s.Database.Fault, s.Database.Since = storage.Fault.Text, storage.Since
	} else if free, err := sys.DiskFree(d.opt.state()); err == nil && free < leastFree {
		s.Database.Fault = "the disk is full"
	}
	if s.Database.Fault != "" {
		list = append(list, s.Database.Fault)
	}
	for _, part := range []struct{ name, state string }{{"the thread", s.Thread.State}, {"the scheduler", s.Scheduler.State}} {
		if part.state == "stuck" {
			list = append(list, part.name+" is stuck")
		}
	}
	// A part that fails is restarted with a growing pause. Only a series of failures makes hob unhealthy.
	list = append(list, d.restarts.trouble(d.clock.Mono())...)
	// While a turn runs, inputs wait; the two other states are reported by themselves.
	if s.Thread.Turn != 0 || s.SafeMode.On || s.Database.Fault != "" {
		return list
	}
	// Inputs from before the start waited while hob was off, so they count from the start.
	seq, waits, err := d.store.Turns.OldestWaiting(ctx, d.started)
	if err == nil && waits > stuckAfter {
		list = append(list, fmt.Sprintf("input #%d has waited for %s and no turn runs", seq, waits.Round(time.Second)))
	}
	return list
}

// lostText says that a damaged log has cost rows. Nothing can bring them back but a copy of the file from before the start.
func lostText(commits int) string {
	return fmt.Sprintf("the write-ahead log of the database was damaged when hob started, and at least %d commits in it are lost: messages, answers or runs "+
		"from just before the last stop may be missing, and the disk may be failing", commits)
}

// off lists what is off, gone or refused while the rest of hob works. failing: some of it worked once; the rest waits for the owner to accept it.
func (d status) off(ctx context.Context) (list []string, failing bool) {
	if n := d.store.Boot().Lost; n > 0 {
		list, failing = append(list, lostText(n)), true
	}
	waiting, servers := d.mcp.Faults()
	list = append(list, waiting...)
	for name, fault := range servers {
		list, failing = append(list, fmt.Sprintf("the MCP server %s: %s (hob mcp test %s)", name, fault, name)), true
	}
	// Neither a keyring nor a watched folder is looked at here: both may be slow, and this is a part of the health check.
	for name, fault := range d.accounts.Faults() {
		list, failing = append(list, fmt.Sprintf("the account %s: %s (hob account test %s)", name, fault, name)), true
	}
	watches, unread := d.store.Watches.AllWatches(ctx)
	progress, unseen := d.store.Watches.Progress(ctx)
	for _, row := range watches {
		w := row.View(progress[row.ID])
		if fault := cmp.Or(w.Broken, w.Trouble); fault != "" && !w.Paused {
			list, failing = append(list, fmt.Sprintf("the watch %s: %s (hob watch show %s)", w.Name, fault, w.Name)), true
		}
	}
	slices.Sort(list)
	// The status shows what is known; the database says by itself that it does not answer.
	if err := errors.Join(unread, unseen); err != nil && ctx.Err() == nil {
		d.log.Warn("the list of what is off is incomplete", "err", err)
	}
	for i := range list {
		list[i] = d.hide(list[i])
	}
	return list, failing
}

// Health answers /healthz. hob is healthy if it can store, and thread and scheduler make progress.
// The map names the state of each component for monitors; reason is there only if hob is not healthy.
func (d status) Health(ctx context.Context) (bool, map[string]any) {
	s, err := d.judged(ctx, d.states)
	if err != nil {
		return false, map[string]any{"database": sqlite.Plain(err).Error()}
	}
	said := map[string]any{"thread": s.Thread.State, "scheduler": s.Scheduler.State, "database": "ok", "state": s.State}
	if s.Database.Fault != "" {
		said["database"] = s.Database.Fault
	}
	if len(s.Trouble) > 0 {
		said["reason"] = strings.Join(s.Trouble, "; ")
	}
	if len(s.Off) > 0 {
		said["off"] = s.Off
	}
	return len(s.Trouble) == 0, said
}

// plain turns errors of the database into faults for the API.
func plain(err error) error {
	if _, known := event.AsFault(err); known {
		return err
	}
	return sqlite.Plain(err)
}
