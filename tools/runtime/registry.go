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

// Limits of what the registry remembers and tries.
const (
	maxEnded    = 10 // ended processes that can still be polled
	reportTries = 5
	firstPause  = 250 * time.Millisecond // between two tries; it doubles
)

// Report says how a background process ended, to the session that started it. It is made once for each of them.
type Report struct {
	Session int64         // which started it; 0: none, then only Marks count
	Key     string        // of the session
	Call    string        // id of the call that started it; unique
	Process string        // its own id
	ReplyTo event.Address // where the turn that started it answered
	Trust   event.Trust   // who asked
	Foreign string        // why Text is somebody else's text; "" when it is not
	Text    string        // how it ended, and what of its output was not polled
	Marks   []tools.Mark  // files that hold foreign text since
}

// Reports takes reports to where the sessions find them.
type Reports interface {
	// Report stores a report before it returns. It is tried again when it fails, at most 5 times.
	Report(ctx context.Context, r Report) error
}

// Registry holds the commands that run in the background, and knows whose files are foreign while they are written. There is one for the
// life of the daemon. It is safe for concurrent use.
type Registry struct {
	Note func(path, why string) // is told of a foreign file before its mark is stored; nil: nobody is. It is set before the first use

	reports Reports

	mu      sync.Mutex
	procs   []*proc              // in the order in which they began; some have ended
	waiting map[*origin]struct{} // of what runs while its caller waits
	boxes   boxes
	closed  bool
}

// NewRegistry makes an empty registry.
func NewRegistry(reports Reports) *Registry {
	return &Registry{reports: reports, waiting: map[*origin]struct{}{}, boxes: boxes{running: map[*running]struct{}{}}}
}

// Run blocks until ctx ends. Then it ends all processes, and returns when they are gone and reported. Whoever stores the
// reports must still be there.
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
		<-p.told
	}
	return nil
}

// Running says in a line each what runs in the background, for people.
func (g *Registry) Running() []string {
	var out []string
	for _, p := range g.all() {
		if s := p.status(p.by.Session); s.State == stateRunning {
			out = append(out, fmt.Sprintf("%s %s, for %s: %s", s.ID, s.Where, spanText(time.Duration(s.Seconds)*time.Second), s.Command))
		}
	}
	return out
}

// Foreign says why a file counts as somebody else's text although nothing has marked it yet: a program that still runs, outside the
// sandbox, with the network or with foreign files in its sight, may have written it. "" when none may.
func (g *Registry) Foreign(path string) string {
	for _, o := range g.running() {
		since, why := o.writing()
		if since.IsZero() || !Touched(path, since) {
			continue
		}
		if why == "" {
			g.look()
			since, why = o.writing()
		}
		if why != "" && Touched(path, since) {
			return why
		}
	}
	return ""
}

// look has each program that runs notice that it has come to see foreign files. What one of them has copied another may have seen.
func (g *Registry) look() {
	for again := true; again; {
		again = false
		for _, o := range g.running() {
			again = o.look != nil && o.look() || again
		}
	}
}

// Outside says that a program of the owner's begins that is not confined, and so may copy foreign text. What it writes counts as foreign from
// now on. The returned function is called when it has ended: keep stores the marks of what it wrote.
func (g *Registry) Outside(guard *fsguard.Guard, why string, keep func([]tools.Change) error) (ended func() error) {
	for now := time.Now(); !FileClock().After(now); {
		pause(time.Millisecond) // what was written until now is not its own
	}
	o := &origin{lasting: true, why: why}
	o.starts()
	leave := g.waits(o)
	return func() error {
		defer leave()
		since, why := o.writing()
		if list := changes(marks(guard, since, why)); len(list) > 0 {
			return keep(list)
		}
		return nil
	}
}

// waits has what a program writes count as foreign, when it is, until the returned function is called: its marks are stored or noted then.
func (g *Registry) waits(o *origin) (leave func()) {
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

// note tells of files that count as foreign, before their marks are stored.
func (g *Registry) note(list []tools.Mark) []tools.Mark {
	if g != nil && g.Note != nil {
		for _, m := range list {
			g.Note(m.Path, m.Why)
		}
	}
	return list
}

// foreign are the files, absolute, that Foreign speaks of, or the folders that stand for them.
func (g *Registry) foreign(guard *fsguard.Guard) []string {
	var list []string
	for _, o := range g.writers() {
		since, _ := o.writing()
		list = append(list, ChangedFiles(guard, since)...)
	}
	return list
}

// writers are the programs that may write what must be marked, and whose marks are not stored yet.
func (g *Registry) writers() []*origin {
	return slices.DeleteFunc(g.running(), func(o *origin) bool {
		_, why := o.writing()
		return why == ""
	})
}

// running are the programs that run, and those that have ended and whose marks are not stored yet.
func (g *Registry) running() (list []*origin) {
	if g == nil {
		return nil
	}
	for _, p := range g.all() {
		if !closed(p.told) {
			list = append(list, p.text)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.AppendSeq(list, maps.Keys(g.waiting))
}

// sandboxes are those that run; nil where they are not known.
func (g *Registry) sandboxes() *boxes {
	if g == nil {
		return nil
	}
	return &g.boxes
}

func (g *Registry) all() []*proc {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.procs)
}

// adopt takes a process into the background, unless it has ended, hob is ending or there are too many.
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
		return tools.Refuse(tools.Cancelled, "", "hob is ending")
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

var errEnded = errors.New("the command has ended")

// free makes an id that no process here has, and most likely none of an earlier run had.
func (g *Registry) free() string {
	for {
		id := "p" + sys.RandomIDs().Code(4)
		if !slices.ContainsFunc(g.procs, func(p *proc) bool { return p.id == id }) {
			return id
		}
	}
}

// forget drops the oldest ended processes.
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

// drop forgets a process that could not be started.
func (g *Registry) drop(p *proc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.procs = slices.DeleteFunc(g.procs, func(q *proc) bool { return q == p })
}

// deliver hands a report over, trying again when that fails.
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
