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
	"hob/scheduler"
)

const (
	lanes        = 4                // gates evaluated at the same time
	longestLook  = 60 * time.Second // for all parts of one gate together
	longestSleep = 30 * time.Second // Go's timers stop while the machine sleeps
	longestWhy   = 300              // length of a failure's reason, in characters
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
	// Judge commits a verdict in one transaction: the fire's row, the inbox row of a run, and the job's backoff after a failure. It changes
	// nothing if the fire is no longer due.
	Judge(ctx context.Context, v Verdict) error
}

// Evaluator makes the looks of a gate. An error is the reason that a look failed; it becomes the fire's reason.
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
	store    Store
	world    Evaluator
	clock    sys.Clock
	changed  <-chan struct{}
	log      *slog.Logger
	progress atomic.Int64
}

// NewRunner returns a runner. changed wakes it when slots have come due or runs have ended; one signal may stand for many, and nil means
// none. Without a signal it looks every 30 s.
func NewRunner(store Store, world Evaluator, c sys.Clock, changed <-chan struct{}, log *slog.Logger) *Runner {
	k := &Runner{store: store, world: world, clock: c, changed: changed, log: log}
	k.progress.Store(int64(c.Mono()))
	return k
}

// Progress returns the monotonic time at which the runner was last active or, if earlier, the start of the oldest running evaluation: a
// hanging one is no progress. While it works, this is at most about a minute ago. It may be called from any goroutine.
func (k *Runner) Progress() time.Duration { return time.Duration(k.progress.Load()) }

// served is a finished evaluation.
type served struct {
	fire int64
	err  error // of the store
}

// Run evaluates gates until ctx ends, and then returns nil. It returns an error if the store fails; it may then be called again. An
// interrupted evaluation is repeated, because its row is still due.
func (k *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	group := sys.NewGroup(k.log, nil)
	defer group.Wait()
	defer cancel()
	ended := make(chan served, lanes)
	under := map[int64]time.Duration{} // fires whose gates are being evaluated, with the start time
	for ctx.Err() == nil {
		if err := k.begin(ctx, group, under, ended); err != nil {
			return sys.UnlessDone(ctx, err)
		}
		if err := k.rest(ctx, under, ended); err != nil {
			return sys.UnlessDone(ctx, err)
		}
	}
	return nil
}

// begin starts as many evaluations as there are free lanes.
func (k *Runner) begin(ctx context.Context, group *sys.Group, under map[int64]time.Duration, ended chan<- served) error {
	if len(under) == lanes {
		return nil
	}
	slots, err := k.store.Gated(ctx, k.clock.Wall(), lanes+len(under))
	if err != nil {
		return fmt.Errorf("list due slots: %w", err)
	}
	slots = slices.DeleteFunc(slots, func(s Slot) bool { _, ok := under[s.Fire]; return ok })
	for _, slot := range slots[:min(len(slots), lanes-len(under))] {
		under[slot.Fire] = k.clock.Mono()
		group.Once("gate", func() error {
			done := served{slot.Fire, sys.ErrPanic}
			defer func() { ended <- done }()
			done.err = k.serve(ctx, slot)
			return nil
		})
	}
	return nil
}

// rest waits until an evaluation has ended, something has changed, or half a minute has passed.
func (k *Runner) rest(ctx context.Context, under map[int64]time.Duration, ended <-chan served) error {
	timer := time.NewTimer(longestSleep)
	defer timer.Stop()
	defer func() {
		oldest := k.clock.Mono()
		for _, since := range under {
			oldest = min(oldest, since)
		}
		k.progress.Store(int64(oldest))
	}()
	select {
	case <-ctx.Done():
	case <-k.changed:
	case <-timer.C:
	case done := <-ended:
		delete(under, done.fire)
		return done.err
	}
	return nil
}

// serve evaluates one gate and commits the verdict. Its errors are the store's.
func (k *Runner) serve(ctx context.Context, slot Slot) error {
	fail.Point("gate.before")
	v := k.judge(ctx, slot)
	if ctx.Err() != nil { // hob stops, so the result may be incomplete
		return nil
	}
	if err := k.store.Judge(ctx, v); err != nil {
		return fmt.Errorf("commit what the gate of job %s said: %w", slot.Job.Name, err)
	}
	fail.Point("gate.judged")
	return nil
}

// judge evaluates one gate.
func (k *Runner) judge(ctx context.Context, slot Slot) Verdict {
	v := Verdict{Fire: slot.Fire, Job: slot.Job.ID, Outcome: scheduler.Skipped}
	switch {
	case slot.Gone:
		v.Reason = "the job was removed"
		return v
	case slot.Job.Broken != "":
		v.Reason = "the job cannot be used"
		return v
	}
	inner, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	l := &look{world: k.world, job: slot.Job, last: remembered(slot.Seen)}
	shut, err := l.all(inner, k.clock.Wall())
	if err == nil && shut == "" {
		v.Seen, err = l.now.stored()
	}
	switch {
	case err != nil:
		if inner.Err() != nil && errors.Is(inner.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it took longer than %s", longestLook)
		}
		v.Outcome, v.Reason = scheduler.Failed, "gate: "+cut(netguard.Defang(err.Error())) // the text may name a foreign address, so its links are disarmed
		k.log.Warn("a gate could not be evaluated", "job", slot.Job.Name, "err", err)
	case shut != "":
		v.Reason = shut
	default:
		v.Outcome, v.Reason, v.In = "", slot.Reason, l.input(slot, k.clock.Wall())
	}
	return v
}

// look is one evaluation of a gate.
type look struct {
	world Evaluator
	job   scheduler.Job
	last  Seen // when the job last succeeded
	now   Seen
	saw   []string // what opened it, in a few words
	text  Text     // of the file that must have content
}

// all evaluates the configured parts, the cheap ones first, until one is closed. It returns the reason, or "" for an open gate.
func (l *look) all(ctx context.Context, now time.Time) (shut string, err error) {
	for _, part := range []func(context.Context) (sight, error){
		func(context.Context) (sight, error) { return l.hours(now) }, l.idle, l.content, l.files, l.page, l.command,
	} {
		s, err := part(ctx)
		if err != nil || s.shut != "" {
			return s.shut, err
		}
		if s.open != "" {
			l.saw = append(l.saw, s.open)
		}
	}
	return "", nil
}

// hours shuts the gate outside the active hours.
func (l *look) hours(now time.Time) (sight, error) {
	zone, err := scheduler.Zone(l.job.Zone)
	if err != nil {
		return sight{}, err
	}
	awake, err := l.job.Gate.Awake(now.In(zone))
	if err != nil || awake {
		return sight{}, err
	}
	return sight{shut: "gate: outside " + l.job.Gate.Active}, nil
}

// idle shuts the gate while hob is busy.
func (l *look) idle(ctx context.Context) (sight, error) {
	if !l.job.Gate.Idle {
		return sight{}, nil
	}
	why, err := l.world.Busy(ctx, l.job)
	return sight{shut: why}, err
}

// content shuts the gate when there is no content. The text is kept for the prompt.
func (l *look) content(ctx context.Context) (sight, error) {
	if l.job.Gate.Content == "" {
		return sight{}, nil
	}
	var err error
	l.text, err = l.world.Content(ctx, l.job)
	return byContent(l.job.Gate.Content, l.text), err
}

// files shuts the gate when the files are the same as at the last check.
func (l *look) files(ctx context.Context) (sight, error) {
	if len(l.job.Gate.Files) == 0 {
		return sight{}, nil
	}
	var err error
	l.now.Files, err = l.world.Files(ctx, l.job)
	return byFiles(l.last.Files, l.now.Files), err
}

// page shuts the gate when the page is the same as at the last check.
func (l *look) page(ctx context.Context) (sight, error) {
	if l.job.Gate.URL == "" {
		return sight{}, nil
	}
	var err error
	l.now.Page, err = l.world.Page(ctx, l.job, l.last.Page)
	return byPage(l.last.Page, l.now.Page), err
}

// command opens the gate by the command's exit code, or when its output has changed.
func (l *look) command(ctx context.Context) (sight, error) {
	if l.job.Gate.Command == "" {
		return sight{}, nil
	}
	out, err := l.world.Command(ctx, l.job)
	if !l.job.Gate.Exit {
		l.now.Command = out.Hash
	}
	return byCommand(l.job.Gate, l.last.Command, out), err
}

// input returns the inbox row of a slot with an open gate. What the gate saw follows the prompt, except for a reminder ("say: …"), which is
// sent unchanged.
func (l *look) input(slot Slot, now time.Time) event.In {
	in := scheduler.Input(slot.Job, slot.Key, slot.Note, now)
	in.Fire = slot.Fire
	if strings.HasPrefix(slot.Job.Prompt, "say:") {
		return in
	}
	if len(l.saw) > 0 {
		in.Parts = append(in.Parts, event.Say("(gate: "+strings.Join(l.saw, "; ")+")")...)
	}
	if l.text.Text != "" {
		in.Parts = append(in.Parts, event.Say("# "+l.job.Gate.Content+"\n"+l.text.Text)...)
		in.Tainted = in.Tainted || l.text.Foreign != ""
		in.Typed = false // the message is more than the owner's prompt
	}
	return in
}

// cut shortens a reason to one line.
func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > longestWhy {
		return string(r[:longestWhy]) + "…"
	}
	return text
}
