package filewatch

import (
	"context"
	"time"
)

// Notifier is the seam at which tests stand in for the system.
type Notifier = notifier

// OpenWith replaces the system's notifier.
func (w *Watcher) OpenWith(open func() (Notifier, error)) { w.open = open }

// OpenSystem is the system's own.
func OpenSystem() (Notifier, error) { return openSystem() }

// Rescanner looks at everything again, as after an overflow, for a watcher that has ended. The caller closes it.
func (w *Watcher) Rescanner() (rescan func(context.Context), end func() error, err error) {
	n, err := openSystem()
	if err != nil {
		return nil, nil, err
	}
	w.sensor = newSensor(n)
	return func(ctx context.Context) {
		for _, t := range w.list {
			w.lookAtAll(ctx, t)
		}
	}, n.Close, nil
}

// Known is how many folders and files a watcher that has ended keeps in memory.
func (w *Watcher) Known() (folders, files int) {
	for _, t := range w.list {
		folders += len(t.tree.folders)
		for _, f := range t.tree.folders {
			files += len(f.rows())
		}
	}
	return folders, files
}

// The pure parts.
var (
	Compose    = compose
	CommonMove = commonMove
	CutGlob    = splitGlob
	Unified    = unified
	Unreadable = unreadable
)

// Cut cuts diffs to what an event has room for.
func Cut(diffs ...string) []string {
	b := budget{left: maxDiffs}
	for i, d := range diffs {
		diffs[i] = ""
		if b.open() {
			diffs[i] = b.take(d)
		}
	}
	return diffs
}

// Scope is what a watch means.
type Scope struct{ scope }

// ScopeOf reads a watch.
func ScopeOf(w Watch) (Scope, error) {
	s, err := newScope(w)
	return Scope{s}, err
}

// Wants and Enters are the scope's.
func (s Scope) Wants(path string) bool { return s.wants(path) }

// Enters says that a folder is gone into.
func (s Scope) Enters(path string) bool { return s.enters(path) }

// Candidates are the changed paths of one folder.
type Candidates struct{ candidates }

// Note takes in that a file has a size now; -1: it is gone.
func (p *Candidates) Note(name string, size int64, now time.Duration) {
	p.note("/d", name, stat{size: max(size, 0)}, size < 0, now)
}

// Ready lists the names that are to be told, those that still change with a "!".
func (p *Candidates) Ready(settle, now time.Duration) (names []string, next time.Duration) {
	list, next := p.ready(settle, now)
	for _, r := range list {
		if r.unsettled {
			p.tell(r.dir, r.name)
			r.name += "!"
		} else {
			p.drop(r.dir, r.name)
		}
		names = append(names, r.name)
	}
	return names, next
}

// Left is how many candidates there are.
func (p *Candidates) Left() int { return p.n }

// MaxFirst is how many files one commit of a first look has at most.
const MaxFirst = maxFirst
