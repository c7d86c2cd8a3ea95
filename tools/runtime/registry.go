package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/ident"
	"hob/tools"
	"hob/tools/runtime/display"
	"hob/tools/runtime/sweep"
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

// Registry holds the commands that run in the background. There is one for the life of the daemon. It is safe for concurrent use.
type Registry struct {
	reports Reports

	mu     sync.Mutex
	procs  []*proc // in the order in which they began; some have ended
	closed bool
}

// NewRegistry makes an empty registry.
func NewRegistry(reports Reports) *Registry { return &Registry{reports: reports} }

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
		if s := p.status(); s.State == stateRunning {
			out = append(out, fmt.Sprintf("%s %s, for %s: %s", s.ID, s.Where, display.Span(time.Duration(s.Seconds)*time.Second), s.Command))
		}
	}
	return out
}

// Foreign says why a file counts as somebody else's text although nothing has marked it yet: a process that still runs, outside the
// sandbox or with the network, may have written it. "" when none may.
func (g *Registry) Foreign(path string) string {
	for _, p := range g.writers() {
		if since, why := p.text.writing(); why != "" && sweep.Touched(path, since) {
			return why
		}
	}
	return ""
}

// foreign are the files, absolute, that Foreign speaks of, or the folders that stand for them.
func (g *Registry) foreign(guard *fsguard.Guard) []string {
	var list []string
	for _, p := range g.writers() {
		since, _ := p.text.writing()
		list = append(list, sweep.Changed(guard, since)...)
	}
	return list
}

// writers are the processes that may write what must be marked, and whose marks are not stored yet.
func (g *Registry) writers() []*proc {
	return slices.DeleteFunc(g.all(), func(p *proc) bool {
		_, why := p.text.writing()
		return why == "" || closed(p.told)
	})
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
		id := "p" + ident.Random().Code(4)
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
