package daemon_test

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/policy"
	"hob/daemon/secret"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/schedulertest"
	"hob/tools"
)

var (
	simulated = flag.Int("simulate", 8, "days of the simulation of scheduler, store and thread")
	seed      = flag.Uint64("seed", 11, "seed of the simulation")
)

// planned is a job of the simulation and its slots as an oracle that shares no code with the scheduler finds them.
type planned struct {
	name, when, zone string
	match            func(wall time.Time) bool
}

func plan() []planned {
	at := func(hour, minute int) func(time.Time) bool {
		return func(w time.Time) bool { return w.Hour() == hour && w.Minute() == minute }
	}
	return []planned{
		{"berlin", "30 2 * * *", "Europe/Berlin", at(2, 30)},
		{"york", "every day at 7:15", "America/New_York", at(7, 15)},
		{"monday", "every monday at 9", "Asia/Kathmandu", func(w time.Time) bool { return at(9, 0)(w) && w.Weekday() == time.Monday }},
		{"cairo", "0 0 * * *", "Africa/Cairo", at(0, 0)},
		{"thrice", "0 6,14,22 * * *", "Australia/Lord_Howe", func(w time.Time) bool { return w.Minute() == 0 && w.Hour()%8 == 6 }},
	}
}

// simulation is scheduler, store and thread over one folder, restarted again and again.
type simulation struct {
	t     *testing.T
	dir   string
	clock sys.Clock
	store *store.Store
	jobs  chan struct{} // the scheduler's signal; nil: it looks by itself
	stop  context.CancelFunc
	group *sys.Group
}

func (w *simulation) start() {
	w.store = storetest.Open(w.t, w.dir, func(o *store.Options) { o.Clock = w.clock })
	log := slog.New(slog.DiscardHandler)
	set, err := tools.NewSet()
	if err != nil {
		w.t.Fatal(err)
	}
	settings := func(context.Context) agent.Settings {
		return agent.Settings{Zone: "UTC", Mode: policy.ModeAsk, System: func(bool) []turn.Section { return []turn.Section{{Name: "identity", Text: ""}} }}
	}
	dispatch := &agent.Dispatch{Set: set, Settings: settings, Grants: w.store.Grants.List, Clock: w.clock, Log: log}
	thread := &agent.Thread{
		RunningTurn: &agent.RunningTurn{}, Queue: w.store.Turns, Turns: w.store.Turns, Prompts: w.store.Turns, Dispatch: dispatch, Models: func() *llm.Chain { return llm.NewChain(llmtest.NewScript(llmtest.InOrder())) },
		Settings: settings, Feed: &event.Feed{}, Hidden: (&secret.Redactor{}).Writer, Clock: w.clock, Jitter: func() float64 { return 0 }, Log: log,
		Boundary: func(context.Context, turn.Queued) error { return nil },
	}
	runner := scheduler.NewRunner(w.store.Jobs, w.clock, w.jobs, log)
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop = stop
	w.group = sys.NewGroup(log, func(name string, err error) { w.t.Errorf("%s failed: %v", name, err) })
	w.group.Go(ctx, "thread", thread.Run)
	w.group.Go(ctx, "scheduler", runner.Run)
}

func (w *simulation) end() {
	w.stop()
	w.group.Wait()
	storetest.Close(w.t, w.store)
}

// Reminders over a simulated stretch of time with restarts and downtimes: each slot has one row, each run is said once and
// in time, nothing else is said.
func TestSimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offset := atomic.Int64{}
		offset.Store(int64(time.Until(time.Date(2026, 3, 24, 0, 0, 0, 0, time.UTC)))) // clocks change on the 29th
		w := &simulation{t: t, dir: t.TempDir(), clock: sys.ShiftedClock(func() time.Duration { return time.Duration(offset.Load()) })}
		dice := rand.New(rand.NewPCG(*seed, 1)) // #nosec G404 -- a simulation must be repeatable
		w.start()
		began := w.clock.Wall()
		for _, p := range plan() {
			j, _, err := scheduler.New(scheduler.Draft{Name: p.name, When: p.when, Zone: p.zone, Prompt: "say: " + p.name, Deliver: "cli:main", Trust: event.Owner}, time.UTC, began)
			if err == nil {
				err = w.store.Calls.Record(t.Context(), scheduler.Put{Job: j})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var up []stretch
		for end := began.AddDate(0, 0, *simulated); w.clock.Wall().Before(end); {
			from := w.clock.Wall()
			time.Sleep(time.Duration(dice.IntN(40)) * time.Hour / 2)
			synctest.Wait()
			up = append(up, stretch{from, w.clock.Wall()})
			w.end()
			if dice.IntN(2) == 0 {
				time.Sleep(time.Duration(dice.IntN(20)) * time.Hour / 2)
			}
			w.start()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, p := range plan() {
			w.check(p, began, up)
		}
		if n := w.number("SELECT count(*) FROM outbox WHERE cause_kind = 'step'"); n != w.number("SELECT count(*) FROM fires WHERE outcome = 'ran'") {
			t.Errorf("%d messages for %d runs", n, w.number("SELECT count(*) FROM fires WHERE outcome = 'ran'"))
		}
		if n := w.number("SELECT count(*) FROM fires WHERE state <> 'done'") + w.number("SELECT count(*) FROM inbox WHERE state <> 'done'"); n != 0 {
			t.Errorf("%d rows are unfinished", n)
		}
		w.end()
	})
}

type stretch struct{ from, until time.Time }

func (w *simulation) number(query string, args ...any) (n int) {
	w.t.Helper()
	if err := w.store.Reader().QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// check holds a job's rows against the oracle's slots.
func (w *simulation) check(p planned, began time.Time, up []stretch) {
	zone, err := time.LoadLocation(p.zone)
	if err != nil {
		w.t.Fatal(err)
	}
	slots := schedulertest.Oracle{Zone: zone, Match: p.match}.Slots(began, w.clock.Wall())
	if n := w.number("SELECT count(*) FROM fires f JOIN triggers j ON j.id = f.trigger WHERE j.name = ?", p.name); n != len(slots) {
		w.t.Errorf("%s: %d rows for %d slots", p.name, n, len(slots))
	}
	for _, due := range slots {
		var outcome string
		var started int64
		err := w.store.Reader().QueryRowContext(context.Background(),
			"SELECT f.outcome, f.started FROM fires f JOIN triggers j ON j.id = f.trigger WHERE j.name = ? AND f.due = ?", p.name, due.UnixMicro()).Scan(&outcome, &started)
		if err != nil {
			w.t.Errorf("%s: slot %s: %v", p.name, due.In(zone), err)
			continue
		}
		if !while(up, due) {
			continue
		}
		if late := time.UnixMicro(started).Sub(due); outcome != "ran" || late < 0 || late > time.Second {
			w.t.Errorf("%s: slot %s came while hob was up: %s, %v late", p.name, due.In(zone), outcome, late)
		}
	}
	said := w.number("SELECT count(*) FROM outbox WHERE body = ?", p.name)
	ran := w.number("SELECT count(*) FROM fires f JOIN triggers j ON j.id = f.trigger WHERE j.name = ? AND outcome = 'ran'", p.name)
	if said != ran || ran == 0 && len(slots) > 0 {
		w.t.Errorf("%s: said %d times in %d runs of %d slots", p.name, said, ran, len(slots))
	}
}

// while reports whether an instant lies well within a stretch.
func while(up []stretch, at time.Time) bool {
	for _, s := range up {
		if at.After(s.from.Add(time.Minute)) && at.Before(s.until.Add(-time.Second)) {
			return true
		}
	}
	return false
}
