package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/tools"
)

// Limits of the registry.
const (
	maxEnded    = 10 // ended processes that can still be polled
	reportTries = 5
	firstPause  = 250 * time.Millisecond // before the second try; it doubles
)

// Report tells the session that started a background process how the process ended. There is
// exactly one for each process.
type Report struct {
	Session int64         // the session that started it; 0: none, then only Marks matter
	Key     string        // key of the session
	Call    string        // id of the call that started it: unique
	Process string        // id of the process
	ReplyTo event.Address // the reply address of the turn that started it
	Trust   event.Trust   // trust level of the requester
	Foreign string        // why Text is foreign text; "": it is not
	Text    string        // how it ended, and the output that was not polled
	Marks   []tools.Mark  // files that now hold foreign text
}

// Reports stores reports where the sessions find them.
type Reports interface {
	// Report stores a report before it returns. The registry repeats a failed call, 5 tries in all.
	Report(ctx context.Context, r Report) error
}

// Registry holds the commands that run in the background. It also knows which files count as
// foreign text while programs are still writing them. There is one for the life of the daemon. It
// is safe for concurrent use.
type Registry struct {
	Note func(path, why string) // called for a foreign file before its mark is stored; may be nil. Set it before the first use

	reports Reports

	mu              sync.Mutex
	procs           []*proc              // in the order of their start; some have ended
	waiting         map[*origin]struct{} // foreground programs: their callers wait
	activeSandboxes activeSandboxes
	closed          bool
}

// NewRegistry returns an empty registry.
func NewRegistry(reports Reports) *Registry {
	return &Registry{reports: reports, waiting: map[*origin]struct{}{}, activeSandboxes: activeSandboxes{running: map[*running]struct{}{}}}
}

// Run blocks until ctx ends. Then it ends all processes, and returns after each end was reported.
// The store of the reports must outlive it.
func (g *Registry) Run(ctx context.Context) error {
	<-ctx.Done()
	g.mu.Lock()
	g.closed = true
	list := slices.Clone(g.procs)
	g.mu.Unlock()
	for _, p := range list {
		p.stop(stop{cancelled, stopGrace})
	}
	for _, p := range list {
		<-p.reported
	}
	return nil
}

// Running lists the background processes for people, one line each.
func (g *Registry) Running() []string {
	var out []string
	for _, p := range g.all() {
		if s := p.status(p.request.by.Session); s.State == stateRunning {
			out = append(out, fmt.Sprintf("%s %s, for %s: %s", s.ID, s.Where, spanText(time.Duration(s.Seconds)*time.Second), s.Command))
		}
	}
	return out
}

// Foreign returns why a file counts as foreign text although it has no mark yet, or "". A program
// that is still running may have written it: one outside the sandbox, with network access, or with
// foreign files in view.
func (g *Registry) Foreign(path string) string {
	for _, o := range g.running() {
		since, why := o.writing()
		if since.IsZero() || !Touched(path, since) {
			continue
		}
		if why == "" {
			g.recheckAll()
			since, why = o.writing()
		}
		switch {
		case why != "" && Touched(path, since):
			return why
		case why == "" && o.named != nil && o.named(path):
			return byNames
		}
	}
	return ""
}

// recheckAll makes each running program check whether it can now see foreign files. It repeats this
// until nothing changes, because one program may have seen what another one copied.
func (g *Registry) recheckAll() {
	for again := true; again; {
		again = false
		for _, o := range g.running() {
			again = o.recheck != nil && o.recheck() || again
		}
	}
}

// Outside registers an unconfined program of the owner that starts now and may copy foreign text.
// The files that it writes count as foreign from now on. Call ended when the program has exited: it
// passes their marks to keep, which stores them.
func (g *Registry) Outside(guard *fsguard.Guard, why string, keep func([]tools.Change) error) (ended func() error) {
	for now := time.Now(); !FileClock().After(now); {
		pause(time.Millisecond) // earlier changes must not count as its own
	}
	o := &origin{lasting: true, why: why}
	o.markStarted()
	untrack := g.track(o)
	return func() error {
		defer untrack()
		since, why := o.writing()
		if list := changes(marks(guard, since, why)); len(list) > 0 {
			return keep(list)
		}
		return nil
	}
}

// track counts the files that a program writes as foreign, if it can, until untrack is called. By
// then their marks must be stored or noted.
func (g *Registry) track(o *origin) (untrack func()) {
	if g == nil {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting[o] = struct{}{}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.waiting, o)
	}
}

// note announces files that count as foreign before their marks are stored.
func (g *Registry) note(list []tools.Mark) []tools.Mark {
	if g != nil && g.Note != nil {
		for _, m := range list {
			g.Note(m.Path, m.Why)
		}
	}
	return list
}

// foreign lists the files that Foreign would name, as absolute paths, or folders in their place.
func (g *Registry) foreign(guard *fsguard.Guard) []string {
	var list []string
	for _, o := range g.writers() {
		since, _ := o.writing()
		list = append(list, ChangedFiles(guard, since)...)
	}
	return list
}

// writers returns the programs that may write foreign files and have no stored marks yet.
func (g *Registry) writers() []*origin {
	return slices.DeleteFunc(g.running(), func(o *origin) bool {
		_, why := o.writing()
		return why == ""
	})
}

// running returns the programs that run, and the ended ones whose marks are not stored yet.
func (g *Registry) running() (list []*origin) {
	if g == nil {
		return nil
	}
	for _, p := range g.all() {
		if !closed(p.reported) {
			list = append(list, p.text)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.AppendSeq(list, maps.Keys(g.waiting))
}

// sandboxes returns the running sandboxes, or nil without a registry.
func (g *Registry) sandboxes() *activeSandboxes {
	if g == nil {
		return nil
	}
	return &g.activeSandboxes
}

// all returns a copy of the list of processes.
func (g *Registry) all() []*proc {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.procs)
}

// adopt takes a process into the background. It refuses if the process has ended, hob is stopping,
// or most processes run already.
func (g *Registry) adopt(p *proc, most int) error {
	if g == nil {
		return tools.Refuse(tools.ConfigError, "", "nothing can run in the background here")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	alive := 0
	for _, q := range g.procs {
		if !q.over() {
			alive++
		}
	}
	switch {
	case g.closed:
		return tools.Refuse(tools.Cancelled, "", "hob is stopping")
	case alive >= most:
		return tools.Refuse(tools.RateLimited, "process list shows them; process kill ends one", "%d processes run in the background already", alive)
	}
	p.id = g.free()
	if !p.toBackground() {
		return errEnded
	}
	g.procs = append(g.procs, p)
	g.forget()
	return nil
}

// errEnded says that a command ended before it could be adopted.
var errEnded = errors.New("the command has ended")

// free returns an unused id. A random id most likely also differs from those of earlier runs.
func (g *Registry) free() string {
	for {
		id := "p" + sys.RandomIDs().Code(4)
		if !slices.ContainsFunc(g.procs, func(p *proc) bool { return p.id == id }) {
			return id
		}
	}
}

// forget drops the oldest ended process if there are more than maxEnded.
func (g *Registry) forget() {
	ended := 0
	for _, p := range slices.Backward(g.procs) {
		if p.over() {
			ended++
		}
		if ended > maxEnded {
			g.procs = slices.DeleteFunc(g.procs, func(q *proc) bool { return q == p })
			return
		}
	}
}

// drop removes a process that could not be started.
func (g *Registry) drop(p *proc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.procs = slices.DeleteFunc(g.procs, func(q *proc) bool { return q == p })
}

// deliver passes a report on, and retries with a growing pause if that fails.
func (g *Registry) deliver(ctx context.Context, r Report) error {
	err := g.reports.Report(ctx, r)
	for wait, tries := firstPause, 1; err != nil && tries < reportTries; wait, tries = 2*wait, tries+1 {
		pause(wait)
		err = g.reports.Report(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("report the end of process %s: %w", r.Process, err)
	}
	return nil
}
