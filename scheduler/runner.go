package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

const (
	lookEvery  = 30 * time.Second // between two looks while a report waits, or without a signal
	firstRetry = time.Second      // after a failed commit of a job's fire; doubles each time
	lastRetry  = time.Minute
	batchSize  = 128  // firings per commit
	batchRows  = 2000 // slots per commit, approximately
	fullRead   = time.Hour
	staleSpare = 10_000 // outdated hints that are allowed before a full read
)

// Runner commits fires when they come due. It keeps 16 bytes per job in memory, and reads a job again when its time has come.
type Runner struct {
	store    Store
	clock    sys.Clock
	changed  <-chan struct{}
	log      *slog.Logger
	progress atomic.Int64

	heap        dueHeap
	live        int           // number of hints at the last full read
	loaded      time.Duration // monotonic time of the last full read
	version     int64
	moved       bool // the store has changes that the heap does not have yet
	zones       map[string]*time.Location
	wall        time.Time
	mono        time.Duration
	slept       time.Duration // of the machine
	rules       Zones
	fingerprint func() string // fingerprint of the time zone rules; nil: not followed
	jumps       ClockJumps    // nil: every time is accepted
	jumped      []ClockJump   // oldest first
	unsaved     bool          // jumped has one that is not stored yet
	high        time.Time     // the latest time that was not taken back
	held        bool          // the clock went back before high, and the owner was told that jobs wait
	failed      map[int64]failure
	unlisted    time.Time // since when jobs cannot be listed; zero: they can
}

// failure records that a job's fire could not be committed.
type failure struct {
	since time.Time     // wall time of the first failed commit
	pause time.Duration // wait before the next attempt
}

// NewRunner returns a runner. changed wakes it after changes of jobs; one signal may stand for many, and nil means none. Without a signal
// it looks every 30 s.
func NewRunner(store Store, c sys.Clock, changed <-chan struct{}, log *slog.Logger) *Runner {
	r := &Runner{store: store, clock: c, changed: changed, log: log, failed: map[int64]failure{}}
	r.progress.Store(int64(c.Mono()))
	return r
}

// Progress returns the monotonic time at which the runner was last active. While it works, this is at most about half a minute ago. It may
// be called from any goroutine.
func (r *Runner) Progress() time.Duration {
	return min(time.Duration(r.progress.Load()), r.clock.Mono())
}

// Run fires jobs until ctx ends, and then returns nil. It returns an error if jobs cannot be listed; it may then be called again. A fire
// that cannot be committed is retried after 1 s, doubling up to 60 s. A job that cannot be used is disabled.
func (r *Runner) Run(ctx context.Context) error {
	err := sys.UnlessDone(ctx, r.run(ctx))
	// The next call uses this time to explain why slots are late.
	if err != nil && r.unlisted.IsZero() {
		r.unlisted = r.clock.Wall()
	}
	return err
}

// run loads all jobs and serves them until ctx ends. In each round it notices jumps of the clock, commits what is due and sleeps until the
// next due time, a change or a look at the clock.
func (r *Runner) run(ctx context.Context) error {
	r.zones = map[string]*time.Location{}
	if r.wall.IsZero() {
		r.wall, r.mono = r.clock.Wall(), r.clock.Mono()
		r.slept, _ = r.clock.Slept()
	}
	if err := r.loadJumps(ctx); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		r.step()
		unreported, err := r.round(ctx)
		if err != nil {
			return err
		}
		// After a conflict with a changed job, the next round follows at once.
		if !r.moved {
			r.rest(ctx, unreported)
		}
	}
	return nil
}

// round serves everything that is due at the last reading of the clock. unreported: slots wait for their report.
func (r *Runner) round(ctx context.Context) (unreported bool, err error) {
	if err := r.followClock(ctx); err != nil {
		return false, err
	}
	if err := r.refresh(ctx); err != nil {
		return false, err
	}
	// Between two batches the clock is read again, so a jump is noticed before the next commit.
	for ctx.Err() == nil && !r.clockJumped() && r.ready() {
		r.serve(ctx, r.collect(ctx))
		r.step()
	}
	r.unlisted = time.Time{}
	return r.report(ctx), nil
}

// load reads all jobs and builds the heap.
func (r *Runner) load(ctx context.Context) error {
	if err := r.followZones(ctx); err != nil {
		return fmt.Errorf("follow the rules of time zones: %w", err)
	}
	r.heap, r.version = r.heap[:0], 0
	moved, version, err := r.store.Moved(ctx, 0)
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	r.heap = slices.Grow(r.heap, len(moved))
	// A job that never fires again needs no hint.
	for _, e := range moved {
		if !e.Due.IsZero() {
			r.heap = append(r.heap, hintOf(e))
		}
	}
	r.heap.order()
	r.live, r.version, r.loaded = len(r.heap), version, r.clock.Mono()
	return nil
}

// refresh adds the changes to the heap. Outdated hints remain in the heap until their time comes. When there are twice as many hints as
// jobs, all jobs are read again, and also once an hour, so that a lost hint is not lost for long.
func (r *Runner) refresh(ctx context.Context) error {
	r.moved = false
	if len(r.heap) > 2*r.live+staleSpare || r.clock.Mono()-r.loaded > fullRead {
		return r.load(ctx)
	}
	moved, version, err := r.store.Moved(ctx, r.version)
	if err != nil {
		return fmt.Errorf("list changed jobs: %w", err)
	}
	for _, e := range moved {
		if !e.Due.IsZero() {
			r.heap.push(hintOf(e))
		}
	}
	r.version = version
	return nil
}

// ready reports whether the first hint is due at the last reading of the clock.
func (r *Runner) ready() bool {
	return len(r.heap) > 0 && r.heap[0].due <= r.wall.UnixMilli()
}

// collect removes due hints from the heap, earliest first, and computes their firings.
func (r *Runner) collect(ctx context.Context) []Firing {
	now := r.wall // not the present time: jumps were checked for the last reading
	seen := map[int64]bool{}
	var batch []Firing
	for rows := 0; len(batch) < batchSize && rows < batchRows; {
		if len(r.heap) == 0 || r.heap[0].due > now.UnixMilli() || ctx.Err() != nil {
			break
		}
		e := r.heap.pop()
		// Several hints for one job make one firing.
		if seen[e.id] {
			continue
		}
		seen[e.id] = true
		if f, ok := r.firing(ctx, e.id, now); ok {
			batch = append(batch, f)
			rows += len(f.Slots)
		}
	}
	return batch
}

// firing reads a job and computes its slots; false if there is nothing to commit.
func (r *Runner) firing(ctx context.Context, id int64, now time.Time) (Firing, bool) {
	job, err := r.store.Job(ctx, id)
	fault, isFault := event.AsFault(err)
	switch {
	case isFault && fault.Kind == event.Missing:
		delete(r.failed, id)
		return Firing{}, false
	case errors.Is(err, ErrUnreadable):
		r.disable(ctx, id, err)
		return Firing{}, false
	case err != nil:
		r.later(ctx, id, fmt.Errorf("read job: %w", err))
		return Firing{}, false
	}
	// A job that is resumed or repaired later gets a new hint from refresh.
	if job.Paused || job.Broken != "" {
		delete(r.failed, id)
		return Firing{}, false
	}
	zone, err := r.zone(job.Zone)
	if err != nil {
		r.disable(ctx, id, err)
		return Firing{}, false
	}
	f, due, err := slotsIn(job, zone, wake{now: now, jumped: r.passedOver(job.Due), unstored: r.unstored(id)})
	switch {
	case err != nil:
		r.disable(ctx, id, err)
	case !due && !f.Job.Due.IsZero() && !f.Job.Due.Equal(job.Due): // the slot at Due was served before the clock was put back, so the heap needs the next one
		r.heap.push(hintOf(Entry{ID: id, Due: f.Job.Due}))
	}
	return f, due && err == nil
}

// zone caches loaded zones, because loading costs more than the rest of a fire.
func (r *Runner) zone(name string) (*time.Location, error) {
	if zone, ok := r.zones[name]; ok {
		return zone, nil
	}
	zone, err := Zone(name)
	if err == nil {
		r.zones[name] = zone
	}
	return zone, err
}

// serve commits a batch. If that fails, it commits each firing separately, so that one bad job does not block the others.
func (r *Runner) serve(ctx context.Context, batch []Firing) {
	if len(batch) == 0 {
		return
	}
	err := r.commit(ctx, batch)
	if err == nil {
		return
	}
	if len(batch) > 1 {
		for _, f := range batch {
			r.serve(ctx, []Firing{f})
		}
		return
	}
	job := batch[0].Job
	// The job changed between the read and the commit, so refresh must read it again.
	if errors.Is(err, ErrMoved) {
		r.moved = true
		return
	}
	r.later(ctx, job.ID, fmt.Errorf("fire job %s: %w", job.Name, err))
}

// commit commits firings and queues their jobs for the next due times.
func (r *Runner) commit(ctx context.Context, batch []Firing) error {
	fail.Point("fire.before")
	err := r.store.Fire(ctx, batch)
	fail.Point("fire.after")
	if err != nil {
		return err
	}
	for _, f := range batch {
		delete(r.failed, f.Job.ID)
		if !f.Job.Due.IsZero() {
			r.heap.push(hintOf(Entry{ID: f.Job.ID, Due: f.Job.Due}))
		}
	}
	return nil
}

// report tells the owner what was not served in time, once everything is served. It runs at each wake, for reports that had to wait and for
// those of an earlier run.
func (r *Runner) report(ctx context.Context) (later bool) {
	if ctx.Err() != nil {
		return false
	}
	later, err := r.store.Report(ctx)
	if err == nil || ctx.Err() != nil {
		return later
	}
	r.log.Error("the missed runs could not be reported; trying again at the next wake", "err", err)
	return true
}

// later retries a job after a pause, which doubles with each failure. Only the heap has the retry; the job's row is unchanged.
func (r *Runner) later(ctx context.Context, id int64, err error) {
	now := r.clock.Wall()
	f, again := r.failed[id]
	if !again {
		f = failure{since: now, pause: firstRetry}
	}
	if ctx.Err() == nil {
		r.log.Error("a job could not be fired; trying again", "job", id, "pause", f.pause, "err", err)
	}
	r.heap.push(hintOf(Entry{ID: id, Due: now.Add(f.pause)}))
	f.pause = min(2*f.pause, lastRetry)
	r.failed[id] = f
}

// unstored returns since when the fires of a job could not be committed; zero: they can.
func (r *Runner) unstored(id int64) time.Time {
	since := r.failed[id].since
	if since.IsZero() || !r.unlisted.IsZero() && r.unlisted.Before(since) {
		return r.unlisted
	}
	return since
}

// disable takes a job whose row or schedule cannot be used out of service, so that it does not stop the others.
func (r *Runner) disable(ctx context.Context, id int64, why error) {
	if err := r.store.Disable(ctx, id, why.Error()); err != nil {
		r.later(ctx, id, fmt.Errorf("disable a broken job: %w", err))
		return
	}
	r.log.Warn("a job cannot be used and is disabled", "job", id, "err", why)
}

// step records progress and jumps of the wall clock.
func (r *Runner) step() {
	wall, mono := r.clock.Wall(), r.clock.Mono()
	// Without a jump, both clocks advance by the same time.
	expected := r.wall.Add(mono - r.mono)
	jump := wall.Sub(expected)
	slept, known := r.clock.Slept()
	set := known && jump-(slept-r.slept) > NormalDelay && mono > settling
	r.wall, r.mono, r.slept = wall, mono, slept
	r.progress.Store(int64(mono))
	if jump > NormalDelay {
		r.forward(ClockJump{From: expected, To: wall, Set: set})
		r.log.Warn("the clock went forward or the machine slept; what came due meanwhile counts as late or missed", "by", jump, "set", set)
	}
	if jump < -NormalDelay {
		r.log.Warn("the clock went back", "by", -jump)
	}
	r.high = latest(r.high, wall)
}

// rest sleeps until the next job is due or something changes, and while a report waits at most half a minute.
func (r *Runner) rest(ctx context.Context, unreported bool) {
	sleep := sys.LongestSleep
	if unreported || r.changed == nil {
		sleep = lookEvery
	}
	if len(r.heap) > 0 {
		sleep = min(sleep, time.UnixMilli(r.heap[0].due).Sub(r.clock.Wall()))
	}
	timer := r.clock.Timer(sleep)
	defer timer.Stop()
	// A sleeping runner need not show progress until its timer ends.
	r.progress.Store(int64(timer.End))
	select {
	case <-ctx.Done():
	case <-r.changed:
	case <-timer.C:
	}
}
