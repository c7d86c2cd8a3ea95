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
	lanes        = 4                // gates that are looked at at once
	longestLook  = 60 * time.Second // at one gate, all its parts together
	longestSleep = 30 * time.Second // Go's timers stand still while the machine sleeps
	longestWhy   = 300              // characters of why a gate failed
)

// Slot is a fire in the state due: its gate has not been looked at.
type Slot struct {
	Fire   int64
	Key    string
	Job    scheduler.Job // as it is now
	Gone   bool          // the job was removed meanwhile
	Reason string        // what the fire's row says already
	Note   string        // what the run is told beside the prompt
	Seen   string        // what the gate saw when the job last ran well
}

// Verdict is what becomes of a due slot.
type Verdict struct {
	Fire    int64
	Job     int64
	Outcome scheduler.Outcome // "": it runs, and In is its inbox row; Skipped: the gate is shut; Failed: the gate could not be looked at
	Reason  string
	Seen    string // becomes the job's own when the run has ended well
	In      event.In
}

// Store keeps due slots.
type Store interface {
	// Gated lists slots in the state due that can be looked at now, oldest first and at most one of each job: not while an earlier fire of
	// the job is under way, since what that one has dealt with is known at its end, and not while the job backs off after failures.
	Gated(ctx context.Context, now time.Time, most int) ([]Slot, error)
	// Judge commits a verdict in one transaction: the fire's row, the inbox row of one that runs, the job's backoff when the gate failed. It
	// changes nothing when the fire is not due any more.
	Judge(ctx context.Context, v Verdict) error
}

// Evaluator is how a gate looks at the world. An error says why one could not look; it ends as the fire's reason.
type Evaluator interface {
	// Busy says why hob cannot be troubled with the job now, "" when it can.
	Busy(ctx context.Context, j scheduler.Job) (string, error)
	// Content reads the file that must have something in it. One that is missing is empty.
	Content(ctx context.Context, j scheduler.Job) (Text, error)
	// Files hashes what the gate's paths and globs name.
	Files(ctx context.Context, j scheduler.Job) (string, error)
	// Page asks for the gate's address, unless it has not changed since last.
	Page(ctx context.Context, j scheduler.Job, last Page) (Page, error)
	// Command runs the gate's command, confined.
	Command(ctx context.Context, j scheduler.Job) (Output, error)
}

// Runner serves due slots: it looks at their gates, outside any transaction, and commits what comes of it.
type Runner struct {
	store    Store
	world    Evaluator
	clock    sys.Clock
	changed  <-chan struct{}
	log      *slog.Logger
	progress atomic.Int64
}

// NewRunner makes a runner. changed wakes it when slots have come due or runs have ended (a signal may stand for many; nil: never); without
// a signal it looks every 30 s.
func NewRunner(store Store, world Evaluator, c sys.Clock, changed <-chan struct{}, log *slog.Logger) *Runner {
	k := &Runner{store: store, world: world, clock: c, changed: changed, log: log}
	k.progress.Store(int64(c.Mono()))
	return k
}

// Progress is the reading of the monotonic clock when the runner last did something, or when the oldest look under way began: one that
// hangs is no progress. It is never more than about a minute old while the runner is alive. Safe to call from anywhere.
func (k *Runner) Progress() time.Duration { return time.Duration(k.progress.Load()) }

// served is a look that has ended.
type served struct {
	fire int64
	err  error // of the store
}

// Run serves due slots until ctx ends; then it returns nil. It returns an error when the store fails, and may then be called again. What a
// look did not come to the end of is looked at again: the row stays due.
func (k *Runner) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	group := sys.NewGroup(k.log, nil)
	defer group.Wait()
	defer cancel()
	ended := make(chan served, lanes)
	under := map[int64]time.Duration{} // fires whose gates are looked at, and since when
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

// begin looks at as many gates as there are free lanes.
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

// rest waits until a look has ended, something has changed or half a minute has passed.
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

// serve looks at one gate and commits what comes of it. Its errors are the store's.
func (k *Runner) serve(ctx context.Context, slot Slot) error {
	fail.Point("gate.before")
	v := k.judge(ctx, slot)
	if ctx.Err() != nil { // hob stops: who knows what was cut off
		return nil
	}
	if err := k.store.Judge(ctx, v); err != nil {
		return fmt.Errorf("commit what the gate of job %s said: %w", slot.Job.Name, err)
	}
	fail.Point("gate.judged")
	return nil
}

// judge looks at one gate.
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
		v.Outcome, v.Reason = scheduler.Failed, "gate: "+cut(netguard.Defang(err.Error())) // it may name where a stranger leads to
		k.log.Warn("a gate could not be looked at", "job", slot.Job.Name, "err", err)
	case shut != "":
		v.Reason = shut
	default:
		v.Outcome, v.Reason, v.In = "", slot.Reason, l.input(slot, k.clock.Wall())
	}
	return v
}

// look is one look at a gate.
type look struct {
	world Evaluator
	job   scheduler.Job
	last  Seen // when the job last ran well
	now   Seen
	saw   []string // what opened it, in a few words
	text  Text     // of the file that must have something in it
}

// all looks at the parts that are set, the cheap ones first, until one is shut, and returns why that is; "": the gate is open.
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

func (l *look) idle(ctx context.Context) (sight, error) {
	if !l.job.Gate.Idle {
		return sight{}, nil
	}
	why, err := l.world.Busy(ctx, l.job)
	return sight{shut: why}, err
}

func (l *look) content(ctx context.Context) (sight, error) {
	if l.job.Gate.Content == "" {
		return sight{}, nil
	}
	var err error
	l.text, err = l.world.Content(ctx, l.job)
	return byContent(l.job.Gate.Content, l.text), err
}

func (l *look) files(ctx context.Context) (sight, error) {
	if len(l.job.Gate.Files) == 0 {
		return sight{}, nil
	}
	var err error
	l.now.Files, err = l.world.Files(ctx, l.job)
	return byFiles(l.last.Files, l.now.Files), err
}

func (l *look) page(ctx context.Context) (sight, error) {
	if l.job.Gate.URL == "" {
		return sight{}, nil
	}
	var err error
	l.now.Page, err = l.world.Page(ctx, l.job, l.last.Page)
	return byPage(l.last.Page, l.now.Page), err
}

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

// input is the inbox row of a slot whose gate is open: what the gate saw stands behind the prompt, but for a reminder ("say: …"), which is
// told as it is.
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
		in.Typed = false // the prompt is not all that was said
	}
	return in
}

// cut keeps a reason to one line of a bearable length.
func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > longestWhy {
		return string(r[:longestWhy]) + "…"
	}
	return text
}
