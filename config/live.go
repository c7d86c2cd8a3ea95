package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hob/daemon/fail"
)

// Live is the configuration of a running daemon: the last good snapshot, swapped whole when the file changes.
// It is safe for concurrent use.
type Live struct {
	path string
	kept string
	env  []string

	now atomic.Pointer[state]

	mu       sync.Mutex // one reload at a time; guards what follows
	doc      []byte     // the bytes behind now's snapshot
	readable bool
	wakes    map[chan struct{}]bool
}

// state is what readers see.
type state struct {
	snap     *Snapshot
	problems []Problem
	err      error // why the file as it stands is not in force
}

// Open reads the configuration. kept is where a copy of the last good file is kept (in hob's state folder; "": nowhere):
// a start with a file that cannot be read at all runs on that copy, or on the defaults where there is none. The error is
// that of the file; Live is there in any case.
func Open(path, kept string, env []string) (*Live, error) {
	l := &Live{path: path, kept: kept, env: slices.Clone(env), wakes: map[chan struct{}]bool{}}
	l.now.Store(&state{snap: Default()})
	_, _, err := l.reload(time.Time{}, true)
	if kept != "" { // a crash may have left it
		if bad := os.Remove(kept + Unfinished); bad != nil && !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("clean up: %w", bad))
		}
	}
	return l, err
}

// Current is the snapshot in force.
func (l *Live) Current() *Snapshot { return l.now.Load().snap }

// Problems are the mistakes in the file in force. The error says why the file as it stands is not in force; it is nil
// when it is.
func (l *Live) Problems() ([]Problem, error) {
	s := l.now.Load()
	return slices.Clone(s.problems), s.err
}

// Reload reads the file again. changed tells that another snapshot is in force than before. On an error (the file is
// not TOML, or cannot be read) the last good snapshot stays.
func (l *Live) Reload() (problems []Problem, changed bool, err error) {
	return l.reload(time.Time{}, false)
}

// errHollow is a file that was emptied a moment ago: whoever writes a file in its place empties it first.
var errHollow = errors.New("the file is empty")

// reload reads the file. An empty one is not believed before wary, when the last one was not: errHollow.
func (l *Live) reload(wary time.Time, first bool) ([]Problem, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.now.Load()
	doc, readable, err := ReadFile(l.path)
	if err == nil && len(doc) == 0 && len(l.doc) > 0 && time.Now().Before(wary) {
		return slices.Clone(before.problems), false, errHollow
	}
	if err == nil && !first && before.err == nil && readable == l.readable && bytes.Equal(doc, l.doc) {
		return slices.Clone(before.problems), false, nil
	}
	var snap *Snapshot
	var problems []Problem
	if err == nil {
		snap, problems, err = load(l.path, doc, readable, l.env)
	}
	if err != nil {
		l.refuse(before, first, err)
		return slices.Clone(l.now.Load().problems), false, err
	}
	if err := l.keep(doc); err != nil {
		problems = append(problems, Problem{File: l.kept, Text: "no copy of this configuration could be kept: " + err.Error(), Advice: true})
	}
	fail.Point("config.load")
	changed := first || !bytes.Equal(doc, l.doc)
	l.doc, l.readable = doc, readable
	l.swap(&state{snap: snap, problems: problems})
	return slices.Clone(problems), changed, nil
}

// refuse keeps the snapshot in force and notes why; at the start it falls back on the kept copy.
func (l *Live) refuse(before *state, first bool, err error) {
	next := &state{snap: before.snap, problems: before.problems, err: err}
	if first && l.kept != "" {
		doc, _, bad := ReadFile(l.kept)
		if bad == nil {
			next.snap, next.problems, bad = load(l.kept, doc, false, l.env)
		}
		if bad != nil {
			next.snap, next.problems = before.snap, nil
			next.err = errors.Join(err, fmt.Errorf("nor can the copy of the last good one: %w", bad))
		}
		l.doc = doc
	}
	if before.err == nil || before.err.Error() != err.Error() {
		l.swap(next)
	}
}

// swap puts a state in force and wakes everybody who wants to know.
func (l *Live) swap(s *state) {
	l.now.Store(s)
	for wake := range l.wakes {
		select {
		case wake <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// Changes returns a channel that wakes after the snapshot, the problems or the error changed; several changes may
// be one wake. stop ends it.
func (l *Live) Changes() (wake <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakes[c] = true
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.wakes, c)
	}
}

// keep writes the copy for the next start: a file beside it, synced and renamed over it.
func (l *Live) keep(doc []byte) error {
	if l.kept == "" {
		return nil
	}
	if old, _, err := ReadFile(l.kept); err == nil && len(old) > 0 && bytes.Equal(old, doc) {
		return nil
	}
	if len(doc) == 0 {
		if err := os.Remove(l.kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the old copy: %w", err)
		}
		return nil
	}
	return replace(l.kept, doc)
}

func replace(path string, doc []byte) error {
	f, err := os.OpenFile(path+Unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return FinishFile(f, path, doc, 0o600, func() error { return nil })
}
