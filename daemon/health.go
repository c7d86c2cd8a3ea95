package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// When health says that something is wrong, beside what is stuck.
const (
	mostRestarts = 5                // of one component, each soon after the one before
	soonAfter    = 90 * time.Second // longer than the longest pause before a restart
	lasting      = 30 * time.Second // a failure of the disk, before the owner is told past the outbox
	leastFree    = 1 << 20          // bytes on the disk of the state folder; an input may be as large
)

// restarts are the components that fail again and again.
type restarts struct {
	mu   sync.Mutex
	list map[string]restarted
}

type restarted struct {
	times int
	last  time.Duration // on the monotonic clock
}

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

// forget is for when the cause is gone.
func (r *restarts) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.list)
}

// trouble names the components that were restarted too often, by name.
func (r *restarts) trouble(now time.Duration) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, c := range r.list {
		if c.times >= mostRestarts && now-c.last <= soonAfter {
			list = append(list, fmt.Sprintf("%s fails again and again: restarted %d times", name, c.times))
		}
	}
	slices.Sort(list)
	return list
}

// trouble is why hob is not healthy, a sentence each. It writes nothing while the last commit worked.
func (d overview) trouble(ctx context.Context, s *api.Status) (list []string) {
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
	list = append(list, d.restarts.trouble(d.clock.Mono())...)
	if s.Thread.Turn != 0 || s.SafeMode.On || s.Database.Fault != "" {
		return list
	}
	seq, waits, err := d.store.Turns.Untaken(ctx, d.started)
	if err == nil && waits > stuckAfter {
		list = append(list, fmt.Sprintf("input #%d has waited for %s and no turn runs", seq, waits.Round(time.Second)))
	}
	return list
}

// Health is what /healthz says: hob can store, and thread and scheduler make progress.
func (d overview) Health(ctx context.Context) (bool, map[string]any) {
	s, err := d.look(ctx)
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
	return len(s.Trouble) == 0, said
}

// watchStorage tells the owner that hob cannot store, when that lasts, and when it can again, each at most once an hour.
func (d notices) watchStorage(ctx context.Context) error {
	var failing sqlite.Storage
	told := map[string]int64{} // texts, by the hour
	for {
		bell := d.store.Backups.StorageSignal()
		now, hour := d.store.Backups.Storage(ctx), d.clock.Wall().Unix()/3600
		var later <-chan time.Time
		switch {
		case now.Fault != nil:
			failing = now
			if wait := lasting - d.clock.Wall().Sub(now.Since); wait > 0 && !errors.Is(now.Fault, sqlite.ErrMoved) {
				later = time.After(wait)
			} else if told[now.Fault.Text] != hour {
				told[now.Fault.Text] = hour
				d.sayAtOnce(ctx, fmt.Sprintf("I cannot store anything: %s. What comes in is refused until that is over. To do: %s.", now.Fault.Text, now.Fault.Hint))
			}
		case failing.Fault != nil:
			d.restarts.forget() // their cause is gone
			text := fmt.Sprintf("hob could not write to its disk from %s to %s: %s. What came in meanwhile was refused; now it is stored again.", d.local(failing.Since), d.local(d.clock.Wall()), failing.Fault.Text)
			if err := d.store.Events.Notice(ctx, fmt.Sprintf("storage:%d", hour), text); err != nil {
				return err
			}
			failing = sqlite.Storage{}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-bell:
		case <-later:
		}
	}
}

// sayAtOnce sends a text to the owner past the outbox, which needs the database: to the first of the addresses that takes it.
func (d notices) sayAtOnce(ctx context.Context, text string) {
	for _, to := range d.owner() {
		ch, err := d.host.Channel(to.Channel())
		if err != nil {
			continue
		}
		ctx, stop := context.WithTimeout(ctx, drainTime)
		_, err = ch.Send(ctx, channels.Delivery{To: to, Parts: 1, Body: text, Nonce: d.ids.Code(20), Attempts: 1, Urgent: true})
		stop()
		if err == nil {
			return
		}
		d.log.LogAttrs(ctx, slog.LevelWarn, "the owner could not be told that nothing is stored", slog.String("to", string(to)), slog.Any("err", err))
	}
}

// plain names errors of the database for the API.
func plain(err error) error {
	if _, known := event.AsFault(err); known {
		return err
	}
	return sqlite.Plain(err)
}
