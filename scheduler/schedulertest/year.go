package schedulertest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/scheduler"
)

// World is a store under test, opened.
type World struct {
	Store   scheduler.Store
	Changed <-chan struct{}
	Put     func(context.Context, scheduler.Job) (scheduler.Job, error)    // stores a new job and answers with its ID
	Fires   func(ctx context.Context, job int64) ([]scheduler.Slot, error) // all rows of a job
	Finish  func(context.Context) error                                    // ends all unfinished fires as ran
	Close   func() error
}

// Year runs a dozen jobs for so many days from 2026-01-01, with random restarts, downtimes and clocks put forward and back, and
// compares the rows with an oracle: each slot has exactly one row, and what came due while all was well was on time.
// open opens the same data again at each restart; it is called inside a bubble of testing/synctest.
func Year(t *testing.T, seed uint64, days int, open func(*testing.T, clock.Clock) World) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		y := newYear(t, seed, open)
		end := y.clock.Wall().AddDate(0, 0, days)
		y.start()
		y.put()
		for y.clock.Wall().Before(end) {
			y.stretch()
			y.stop()
			time.Sleep(y.random(96 * time.Hour))
			y.start()
		}
		y.calm(time.Hour)
		y.check()
		y.stop()
	})
}

// planned is a job and how its slots are found without the scheduler.
type planned struct {
	draft scheduler.Draft
	slots func(created, until time.Time) []time.Time
	job   scheduler.Job
}

// span is a stretch of wall time in which the runner was up and the clock ran on evenly.
type span struct{ from, until time.Time }

type year struct {
	t       *testing.T
	open    func(*testing.T, clock.Clock) World
	clock   clock.Clock
	offset  *atomic.Int64
	rand    *rand.Rand
	world   World
	jobs    []*planned
	cancel  context.CancelFunc
	ended   chan error
	horizon time.Time // the latest wall time at which a runner was up
	even    []span
}

func newYear(t *testing.T, seed uint64, open func(*testing.T, clock.Clock) World) *year {
	y := &year{t: t, open: open, offset: &atomic.Int64{}, jobs: plan(t)}
	y.offset.Store(int64(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))))
	y.clock = clock.Shifted(func() time.Duration { return time.Duration(y.offset.Load()) })
	y.rand = rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- a simulation must be repeatable
	return y
}

// random is a length of time up to limit, short ones more often.
func (y *year) random(limit time.Duration) time.Duration {
	f := y.rand.Float64()
	return time.Duration(f * f * float64(limit))
}

func (y *year) start() {
	y.world = y.open(y.t, y.clock)
	var ctx context.Context
	ctx, y.cancel = context.WithCancel(y.t.Context())
	y.ended = make(chan error, 1)
	runner := scheduler.NewRunner(y.world.Store, y.clock, y.world.Changed, slog.New(slog.DiscardHandler))
	go func() { y.ended <- runner.Run(ctx) }()
	synctest.Wait()
}

func (y *year) stop() {
	y.cancel()
	if err := <-y.ended; err != nil {
		y.t.Fatalf("run: %v", err)
	}
	if err := y.world.Close(); err != nil {
		y.t.Fatalf("close: %v", err)
	}
}

func (y *year) put() {
	for _, p := range y.jobs {
		job, _, err := scheduler.New(p.draft, time.UTC, y.clock.Wall())
		if err != nil {
			y.t.Fatalf("draft %+v: %v", p.draft, err)
		}
		if p.job, err = y.world.Put(y.t.Context(), job); err != nil {
			y.t.Fatalf("put: %v", err)
		}
	}
	y.horizon = y.clock.Wall()
}

// stretch is some days of being up, with a jump of the clock now and then.
func (y *year) stretch() {
	for range 1 + y.rand.IntN(200) {
		y.calm(time.Hour + y.random(time.Hour))
		switch y.rand.IntN(80) {
		case 0:
			y.offset.Add(int64(y.random(8 * time.Hour)))
		case 1:
			y.offset.Add(-int64(y.random(4 * time.Hour)))
		}
	}
}

// calm lets time pass while the runner is up.
func (y *year) calm(d time.Duration) {
	from := y.clock.Wall()
	if from.Before(y.horizon) {
		from = y.horizon
	}
	time.Sleep(d)
	synctest.Wait()
	until := y.clock.Wall()
	// A clock put forward is noticed within half a minute.
	y.even = append(y.even, span{from.Add(31 * time.Second), until})
	if until.After(y.horizon) {
		y.horizon = until
	}
	if err := y.world.Finish(y.t.Context()); err != nil {
		y.t.Fatalf("finish: %v", err)
	}
}

func (y *year) check() {
	for _, p := range y.jobs {
		fires, err := y.world.Fires(y.t.Context(), p.job.ID)
		if err != nil {
			y.t.Fatalf("fires of %s: %v", p.job.Name, err)
		}
		rows := map[string]scheduler.Slot{}
		for _, f := range fires {
			if _, twice := rows[f.Key]; twice {
				y.t.Errorf("%s: slot %s has two rows", p.job.Name, f.Key)
			}
			rows[f.Key] = f
		}
		wanted := p.slots(p.job.Created, y.horizon)
		for _, due := range wanted {
			y.checkSlot(p, due, rows)
		}
		if len(rows) != len(wanted) {
			y.t.Errorf("%s: %d rows for %d slots", p.job.Name, len(rows), len(wanted))
		}
	}
}

func (y *year) checkSlot(p *planned, due time.Time, rows map[string]scheduler.Slot) {
	row, ok := rows[scheduler.Key(due)]
	if !ok {
		y.t.Errorf("%s: slot %s has no row", p.job.Name, scheduler.Key(due))
		return
	}
	for _, s := range y.even {
		if due.Before(s.from) || !due.Before(s.until) {
			continue
		}
		if row.Late > time.Second || row.Outcome == scheduler.MissedOut {
			y.t.Errorf("%s: slot %s came due while all was well, and is %q %v late (%s)", p.job.Name, row.Key, row.Outcome, row.Late, row.Reason)
		}
	}
}

func plan(t *testing.T) []*planned {
	at := func(zone string, hour, minute int, more func(time.Time) bool) func(a, b time.Time) []time.Time {
		loc, err := scheduler.Zone(zone)
		if err != nil {
			t.Fatal(err)
		}
		return Oracle{Zone: loc, Match: func(w time.Time) bool { return w.Hour() == hour && w.Minute() == minute && more(w) }}.Slots
	}
	daily := func(time.Time) bool { return true }
	draft := func(name, when, zone, missed string) scheduler.Draft {
		return scheduler.Draft{Name: name, When: when, Zone: zone, Missed: missed, Prompt: "say: " + name, Trust: event.Owner}
	}
	queue := draft("often", "every 20m", "UTC", "once")
	queue.Overlap = "queue"
	return []*planned{
		{draft: draft("berlin", "30 2 * * *", "Europe/Berlin", "once"), slots: at("Europe/Berlin", 2, 30, daily)},
		{draft: draft("york", "30 1 * * *", "America/New_York", "all"), slots: at("America/New_York", 1, 30, daily)},
		{draft: draft("howe", "15 2 * * *", "Australia/Lord_Howe", "skip"), slots: at("Australia/Lord_Howe", 2, 15, daily)},
		{draft: draft("cairo", "0 0 * * *", "Africa/Cairo", "ask"), slots: at("Africa/Cairo", 0, 0, daily)},
		{draft: draft("beirut", "every day at 0:30", "Asia/Beirut", "once"), slots: at("Asia/Beirut", 0, 30, daily)},
		{draft: draft("havana", "every monday at 9", "America/Havana", "once"), slots: at("America/Havana", 9, 0, func(w time.Time) bool { return w.Weekday() == time.Monday })},
		{draft: draft("dublin", "every weekday at 1:30", "Europe/Dublin", "skip"), slots: at("Europe/Dublin", 1, 30, func(w time.Time) bool { return w.Weekday()%6 != 0 })},
		{draft: draft("first", "every month on the 1st at 7", "Africa/Casablanca", "all"), slots: at("Africa/Casablanca", 7, 0, func(w time.Time) bool { return w.Day() == 1 })},
		{draft: draft("once", "at 2026-06-15 12:00", "Asia/Tokyo", "once"), slots: at("Asia/Tokyo", 12, 0, func(w time.Time) bool { return w.Format(time.DateOnly) == "2026-06-15" })},
		{draft: draft("hourly", "@hourly", "Australia/Lord_Howe", "ask"), slots: wholeHours(t, "Australia/Lord_Howe")},
		{draft: draft("half", "every 30m", "Europe/Berlin", "all"), slots: periods(30 * time.Minute)},
		{draft: queue, slots: periods(20 * time.Minute)},
	}
}

func wholeHours(t *testing.T, zone string) func(a, b time.Time) []time.Time {
	loc, err := scheduler.Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return Oracle{Zone: loc, Elapsed: true, Match: func(w time.Time) bool { return w.Minute() == 0 }}.Slots
}

func periods(d time.Duration) func(a, b time.Time) []time.Time {
	return func(created, until time.Time) []time.Time {
		var list []time.Time
		for t := created.Add(d); !t.After(until); t = t.Add(d) {
			list = append(list, t)
		}
		return list
	}
}
