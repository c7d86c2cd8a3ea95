package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/netguard"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/scheduler"
)

const (
	maxWorkers    = 4                // gates evaluated at the same time
	maxEvaluation = 60 * time.Second // for all parts of one gate together
	lookEvery     = 30 * time.Second // between two looks while a slot waits
	maxReason     = 300              // length of a failure's reason, in characters
)

// Slot is a due fire whose gate has not been evaluated.
type Slot struct {
	Fire   int64
	Key    string
	Job    scheduler.Job // in its present state
	Gone   bool          // the job was removed meanwhile
	Reason string        // the reason in the fire's row
	Note   string        // text for the run after the prompt
	Seen   string        // what the gate saw when the job last succeeded
}

// Verdict is the result for a due slot.
type Verdict struct {
	Fire    int64
	Job     int64
	Outcome scheduler.Outcome // "": it runs, and In is its inbox row; Skipped: the gate is closed; Failed: the gate could not be evaluated
	Reason  string
	Seen    string // stored with the job after a successful run
	In      event.In
}

// Store holds due slots.
type Store interface {
	// Gated lists due slots whose gates can be evaluated now, oldest first, at most one per job. A slot waits while an earlier fire of its
	// job is open, because that run may still handle the change, and during the pause after a failure.
	Gated(ctx context.Context, now time.Time, most int) ([]Slot, error)
	// GatesWait reports whether there are due slots at all, also such that wait.
	GatesWait(ctx context.Context) (bool, error)
	// Judge commits a verdict in one transaction: the fire's row, the inbox row of a run, and the job's backoff after a failure. It changes
	// nothing if the fire is no longer due.
	Judge(ctx context.Context, v Verdict) error
}

// Evaluator collects the facts that a gate compares: the state of hob, files, a page, the output of a command. Its error becomes the reason of the fire.
type Evaluator interface {
	// Busy returns the reason that hob is busy, or "".
	Busy(ctx context.Context, j scheduler.Job) (string, error)
	// Content reads the file that must have content. A missing file is empty.
	Content(ctx context.Context, j scheduler.Job) (Text, error)
	// Files hashes the files of the gate's paths and globs.
	Files(ctx context.Context, j scheduler.Job) (string, error)
	// Page requests the gate's address, unless it has not changed since last.
	Page(ctx context.Context, j scheduler.Job, last Page) (Page, error)
	// Command runs the gate's command in the sandbox.
	Command(ctx context.Context, j scheduler.Job) (Output, error)
}

// Runner evaluates the gates of due slots, outside any transaction, and commits the verdicts.
type Runner struct {
	store     Store
	evaluator Evaluator
	clock     sys.Clock
	changed   <-chan struct{}
	log       *slog.Logger
	progress  atomic.Int64
}

// NewRunner returns a runner. changed wakes it when slots have come due or runs have ended; one signal may stand for many, and nil means
// none. While slots wait it also looks every 30 s.
func NewRunner(store Store, evaluator Evaluator, c sys.Clock, changed <-chan struct{}, log *slog.Logger) *Runner {
	r := &Runner{store: store, evaluator: evaluator, clock: c, changed: changed, log: log}
	r.progress.Store(int64(c.Mono()))
	return r
}

// Progress returns the monotonic time at which the runner was last active or, if earlier, the start of the oldest running evaluation: a
// hanging one is no progress. While it works, this is at most about a minute ago. It may be called from any goroutine.
func (r *Runner) Progress() time.Duration {
	return min(time.Duration(r.progress.Load()), r.clock.Mono())
}

// served is a finished evaluation.
type served struct {
	fire int64
	err  error // of the store
}

// Run evaluates gates until ctx ends, and then returns nil. It returns an error if the store fails; it may then be called again. An
// interrupted evaluation is repeated, because its row is still due.
func (r *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	group := sys.NewGroup(r.log, nil)
	defer group.Wait()
	defer cancel()
	ended := make(chan served, maxWorkers)
	running := map[int64]time.Duration{} // fires whose gates are being evaluated, with the start time
	for ctx.Err() == nil {
		if err := r.begin(ctx, group, running, ended); err != nil {
			return sys.UnlessDone(ctx, err)
		}
		if err := r.rest(ctx, running, ended); err != nil {
			return sys.UnlessDone(ctx, err)
		}
	}
	return nil
}

// begin starts as many evaluations as there are free workers.
func (r *Runner) begin(ctx context.Context, group *sys.Group, running map[int64]time.Duration, ended chan<- served) error {
	if len(running) == maxWorkers {
		return nil
	}
	slots, err := r.store.Gated(ctx, r.clock.Wall(), maxWorkers+len(running))
	if err != nil {
		return fmt.Errorf("list due slots: %w", err)
	}
	slots = slices.DeleteFunc(slots, func(s Slot) bool { _, ok := running[s.Fire]; return ok })
	for _, slot := range slots[:min(len(slots), maxWorkers-len(running))] {
		running[slot.Fire] = r.clock.Mono()
		group.Once("gate", func() error {
			done := served{slot.Fire, sys.ErrPanic}
			defer func() { ended <- done }()
			done.err = r.serve(ctx, slot)
			return nil
		})
	}
	return nil
}

// rest waits until an evaluation has ended or something has changed, and while slots wait at most half a minute.
func (r *Runner) rest(ctx context.Context, running map[int64]time.Duration, ended <-chan served) error {
	waits, err := r.store.GatesWait(ctx)
	if err != nil {
		return fmt.Errorf("look for due slots: %w", err)
	}
	sleep := sys.LongestSleep
	if waits || len(running) > 0 {
		sleep = lookEvery
	}
	timer := r.clock.Timer(sleep)
	defer timer.Stop()
	mark := func(at time.Duration) {
		for _, since := range running {
			at = min(at, since)
		}
		r.progress.Store(int64(at))
	}
	// A sleeping runner need not show progress until its timer ends.
	mark(timer.End)
	defer func() { mark(r.clock.Mono()) }()
	select {
	case <-ctx.Done():
	case <-r.changed:
	case <-timer.C:
	case done := <-ended:
		delete(running, done.fire)
		return done.err
	}
	return nil
}

// serve evaluates one gate and commits the verdict. Its errors are the store's.
func (r *Runner) serve(ctx context.Context, slot Slot) error {
	fail.Point("gate.before")
	v := r.judge(ctx, slot)
	if ctx.Err() != nil { // hob stops, so the result may be incomplete
		return nil
	}
	if err := r.store.Judge(ctx, v); err != nil {
		return fmt.Errorf("commit what the gate of job %s said: %w", slot.Job.Name, err)
	}
	fail.Point("gate.judged")
	return nil
}

// judge evaluates one gate.
func (r *Runner) judge(ctx context.Context, slot Slot) Verdict {
	v := Verdict{Fire: slot.Fire, Job: slot.Job.ID, Outcome: scheduler.OutcomeSkipped}
	switch {
	case slot.Gone:
		v.Reason = "the job was removed"
		return v
	case slot.Job.Broken != "":
		v.Reason = "the job cannot be used"
		return v
	}
	inner, cancel := context.WithTimeout(ctx, maxEvaluation)
	defer cancel()
	e := &evaluation{evaluator: r.evaluator, job: slot.Job, last: remembered(slot.Seen)}
	closed, err := e.all(inner, r.clock.Wall())
	if err == nil && closed == "" {
		v.Seen, err = e.now.stored()
	}
	switch {
	case err != nil:
		if inner.Err() != nil && errors.Is(inner.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it took longer than %s", maxEvaluation)
		}
		v.Outcome, v.Reason = scheduler.OutcomeFailed, "gate: "+text.Line(netguard.Defang(err.Error()), maxReason) // the text may name a foreign address, so its links are disarmed
		r.log.Warn("a gate could not be evaluated", "job", slot.Job.Name, "err", err)
	case closed != "":
		v.Reason = closed
	default:
		v.Outcome, v.Reason, v.In = "", slot.Reason, e.input(slot, r.clock.Wall())
	}
	return v
}

// evaluation is one evaluation of a gate.
type evaluation struct {
	evaluator Evaluator
	job       scheduler.Job
	last      Seen // when the job last succeeded
	now       Seen
	opened    []string // what opened it, in a few words
	text      Text     // of the file that must have content
}

// all evaluates the configured parts, the cheap ones first, until one is closed. It returns the reason, or "" for an open gate.
func (e *evaluation) all(ctx context.Context, now time.Time) (closed string, err error) {
	for _, part := range []func(context.Context) (partResult, error){
		func(context.Context) (partResult, error) { return e.hours(now) }, e.idle, e.content, e.files, e.page, e.command,
	} {
		s, err := part(ctx)
		if err != nil || s.closed != "" {
			return s.closed, err
		}
		if s.opened != "" {
			e.opened = append(e.opened, s.opened)
		}
	}
	return "", nil
}

// hours closes the gate outside the active hours.
func (e *evaluation) hours(now time.Time) (partResult, error) {
	zone, err := scheduler.Zone(e.job.Zone)
	if err != nil {
		return partResult{}, err
	}
	awake, err := e.job.Gate.Awake(now.In(zone))
	if err != nil || awake {
		return partResult{}, err
	}
	return partResult{closed: "gate: outside " + e.job.Gate.Active}, nil
}

// idle closes the gate while hob is busy.
func (e *evaluation) idle(ctx context.Context) (partResult, error) {
	if !e.job.Gate.Idle {
		return partResult{}, nil
	}
	why, err := e.evaluator.Busy(ctx, e.job)
	return partResult{closed: why}, err
}

// content closes the gate when there is no content. The text is kept for the prompt.
func (e *evaluation) content(ctx context.Context) (partResult, error) {
	if e.job.Gate.Content == "" {
		return partResult{}, nil
	}
	var err error
	e.text, err = e.evaluator.Content(ctx, e.job)
	return byContent(e.job.Gate.Content, e.text), err
}

// files closes the gate when the files are the same as at the last check.
func (e *evaluation) files(ctx context.Context) (partResult, error) {
	if len(e.job.Gate.Files) == 0 {
		return partResult{}, nil
	}
	var err error
	e.now.Files, err = e.evaluator.Files(ctx, e.job)
	return byFiles(e.last.Files, e.now.Files), err
}

// page closes the gate when the page is the same as at the last check.
func (e *evaluation) page(ctx context.Context) (partResult, error) {
	if e.job.Gate.URL == "" {
		return partResult{}, nil
	}
	var err error
	e.now.Page, err = e.evaluator.Page(ctx, e.job, e.last.Page)
	return byPage(e.last.Page, e.now.Page), err
}

// command opens the gate by the command's exit code, or when its output has changed.
func (e *evaluation) command(ctx context.Context) (partResult, error) {
	if e.job.Gate.Command == "" {
		return partResult{}, nil
	}
	out, err := e.evaluator.Command(ctx, e.job)
	if !e.job.Gate.Exit {
		e.now.Command = out.Hash
	}
	return byCommand(e.job.Gate, e.last.Command, out), err
}

// input returns the inbox row of a slot with an open gate. What the gate saw follows the prompt, except for a reminder ("say: …"), which is
// sent unchanged.
func (e *evaluation) input(slot Slot, now time.Time) event.In {
	in := scheduler.Input(slot.Job, slot.Key, slot.Note, now)
	in.Fire = slot.Fire
	if strings.HasPrefix(slot.Job.Prompt, "say:") {
		return in
	}
	if len(e.opened) > 0 {
		in.Parts = append(in.Parts, event.Say("(gate: "+strings.Join(e.opened, "; ")+")")...)
	}
	if e.text.Text != "" {
		in.Parts = append(in.Parts, event.Say("# "+e.job.Gate.Content+"\n"+e.text.Text)...)
		in.Tainted = in.Tainted || e.text.Foreign != ""
		in.Typed = false // the message is more than the owner's prompt
	}
	return in
}
