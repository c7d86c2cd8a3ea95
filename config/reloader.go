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

// Reloader is the configuration of a running daemon: the last good snapshot, replaced as a whole when the file changes. It is safe for
// concurrent use.
type Reloader struct {
	path string
	kept string
	env  []string

	now atomic.Pointer[state]

	mu       sync.Mutex // serializes reloads, and guards the following fields
	doc      []byte     // the document of the current snapshot
	readable bool
	fallen   bool // Open could not use the file, and used the copy
	wakes    map[chan struct{}]bool
}

// state is one snapshot with its problems, as readers see it.
type state struct {
	snap     *Snapshot
	problems []Problem
	err      error // why the current content of the file is not in use
}

// Open reads the configuration. kept is the path of the copy of the last good file (in hob's state folder; "": no copy). If the file cannot
// be read at all, hob starts with that copy, or with the defaults if there is none. The error describes the file; the Reloader is valid in any
// case.
func Open(path, kept string, env []string) (*Reloader, error) {
	l := &Reloader{path: path, kept: kept, env: slices.Clone(env), wakes: map[chan struct{}]bool{}}
	// Current needs a snapshot even if nothing can be read.
	l.now.Store(&state{snap: Default()})
	_, _, err := l.reload(time.Time{}, true)
	// Possibly left by a crash. Without it nothing is removed: on a disk that is mounted read-only that would be an error all the same.
	if _, none := os.Lstat(kept + Unfinished); kept != "" && none == nil {
		if bad := os.Remove(kept + Unfinished); bad != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", bad))
		}
	}
	return l, err
}

// FromCopy reports whether Open could not use the file, and used the copy of the last good one.
func (l *Reloader) FromCopy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fallen
}

// OnDefaults reports whether no version of the file could be used so far, neither the file nor its copy.
func (l *Reloader) OnDefaults() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.Load().err != nil && !l.fallen && l.doc == nil
}

// Current returns the snapshot in use.
func (l *Reloader) Current() *Snapshot { return l.now.Load().snap }

// Problems returns the mistakes in the configuration in use. The error says why the current content of the file is not in use; otherwise it
// is nil.
func (l *Reloader) Problems() ([]Problem, error) {
	s := l.now.Load()
	return slices.Clone(s.problems), s.err
}

// Reload reads the file again. changed reports whether a new snapshot is in use. On an error (the file is not TOML, or cannot be read) the
// last good snapshot stays.
func (l *Reloader) Reload() (problems []Problem, changed bool, err error) {
	return l.reload(time.Time{}, false)
}

// errEmptied reports a file that was emptied or removed a moment ago. Programs that overwrite a file empty or remove it first.
var errEmptied = errors.New("the file was emptied a moment ago")

// errEmpty reports an empty file where one with content was in use: a power cut or a full disk leaves such a file. Somebody who wants the
// defaults removes the file.
var errEmpty = errors.New("config.toml is empty; the last good one stays in use: write it again, or remove the file to run on the defaults")

// reload reads the file. Before acceptEmptyAt an empty or missing file returns errEmptied if the last one had content. An empty file that
// follows one with content is never accepted: errEmpty.
func (l *Reloader) reload(acceptEmptyAt time.Time, first bool) ([]Problem, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.now.Load()
	doc, readable, err := ReadFile(l.path)
	if err == nil && blank(doc) && l.hadContent(first) {
		if time.Now().Before(acceptEmptyAt) {
			return slices.Clone(before.problems), false, errEmptied
		}
		if doc != nil {
			err = errEmpty
		}
	}
	// Most events in the folder concern other files, so the content is compared first.
	if err == nil && !first && before.err == nil && readable == l.readable && bytes.Equal(doc, l.doc) {
		return slices.Clone(before.problems), false, nil
	}
	var snap *Snapshot
	var problems []Problem
	if err == nil {
		snap, problems, err = load(l.path, doc, readable, l.env)
	}
	if err != nil {
		// The last valid config stays in use.
		l.refuse(before, first, err)
		return slices.Clone(l.now.Load().problems), false, err
	}
	// A failed copy only matters at a later start with a broken file, so the new snapshot is used all the same.
	if err := l.keep(doc); err != nil {
		problems = append(problems, Problem{File: l.kept, Text: "the copy of this configuration could not be written: " + err.Error(), Advice: true})
	}
	fail.Point("config.load")
	changed := first || !bytes.Equal(doc, l.doc)
	l.doc, l.readable = doc, readable
	l.swap(&state{snap: snap, problems: problems})
	return slices.Clone(problems), changed, nil
}

// blank reports a document without content. That of a missing file is nil.
func blank(doc []byte) bool { return len(bytes.TrimSpace(doc)) == 0 }

// hadContent reports whether the file had content before: as the last good one of this process or, at the start, of the process before.
func (l *Reloader) hadContent(first bool) bool {
	if first && l.kept != "" {
		doc, _, err := ReadFile(l.kept)
		return err == nil && !blank(doc)
	}
	return !blank(l.doc)
}

// refuse keeps the current snapshot and records the error. At the start it falls back to the copy.
func (l *Reloader) refuse(before *state, first bool, err error) {
	next := &state{snap: before.snap, problems: before.problems, err: err}
	if first && l.kept != "" {
		doc, _, bad := ReadFile(l.kept)
		if bad == nil {
			next.snap, next.problems, bad = load(l.kept, doc, false, l.env)
		}
		if bad != nil {
			next.snap, next.problems = before.snap, nil
			next.err = errors.Join(err, fmt.Errorf("the copy of the last good file cannot be used either: %w", bad))
		}
		l.doc, l.fallen = doc, bad == nil && len(doc) > 0
	}
	// The same error again wakes no listener: a watched file is often read several times.
	if before.err == nil || before.err.Error() != err.Error() {
		l.swap(next)
	}
}

// swap makes a state current and wakes all listeners.
// The caller holds mu, which guards wakes.
func (l *Reloader) swap(s *state) {
	l.now.Store(s)
	for wake := range l.wakes {
		select {
		case wake <- struct{}{}:
		default: // it has not consumed the previous wake
		}
	}
}

// Changes returns a channel that receives a value after the snapshot, the problems or the error have changed. Several changes may cause one
// value. stop ends it.
func (l *Reloader) Changes() (wake <-chan struct{}, stop func()) {
	// The buffer keeps a value for a listener that is still busy with the previous one.
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

// keep writes the copy for the next start: to a new file that is synced and renamed.
func (l *Reloader) keep(doc []byte) error {
	if l.kept == "" {
		return nil
	}
	// An unchanged copy is not written again: each start would otherwise cost a sync of the disk.
	if old, _, err := ReadFile(l.kept); err == nil && len(old) > 0 && bytes.Equal(old, doc) {
		return nil
	}
	// Without a copy the next start uses the defaults, which is the meaning of a missing file.
	if len(doc) == 0 {
		if err := os.Remove(l.kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the old copy: %w", err)
		}
		return nil
	}
	return replace(l.kept, doc)
}

// replace writes the copy of the last valid config atomically.
func replace(path string, doc []byte) error {
	f, err := os.OpenFile(path+Unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return FinishFile(f, path, doc, 0o600, func() error { return nil })
}
