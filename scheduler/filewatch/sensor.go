package filewatch

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// mostDirty limits the folders that are recorded as dirty. With more, everything is scanned.
const mostDirty = 1 << 14

// notifier reports changes in folders. fsnotify implements it.
type notifier interface {
	Add(path string) error
	Remove(path string) error
	Feed() (<-chan fsnotify.Event, <-chan error)
	Close() error
}

// system is the operating system's notifier.
type system struct{ *fsnotify.Watcher }

// openSystem opens the system's file events.
// The buffer holds 1,024 events, so that a burst of changes rarely has to wait for the sensor.
func openSystem() (notifier, error) {
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return system{w}, nil
}

// Feed implements notifier.
func (s system) Feed() (<-chan fsnotify.Event, <-chan error) { return s.Events, s.Errors }

// Remove implements notifier. fsnotify 1.10 panics in this case: a watched folder was removed, another watched folder was renamed to its
// name, and neither event has been read. Its table then has the name without the watch (compare its issue 652). The next Add of the name
// repairs the table.
func (s system) Remove(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stop watching %s: %v", path, p)
		}
	}()
	return s.Watcher.Remove(path)
}

// sensor reads a notifier as fast as it can and marks folders as dirty. It never blocks.
//
// Its own goroutine calls run; the watcher takes the marks. mu guards the marks of both.
type sensor struct {
	notifier
	wake chan struct{} // something is dirty; one value may announce several changes

	mu    sync.Mutex
	dirty map[string]struct{}
	went  map[string]struct{} // names of removed or renamed files and folders
	all   bool                // everything is dirty
	lost  bool                // the system dropped events
	err   error               // any other error of the notifier
}

func newSensor(n notifier) *sensor {
	return &sensor{notifier: n, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}, went: map[string]struct{}{}}
}

// run reads until the notifier is closed, even after the watcher stops: fsnotify may hold its lock while it waits for a reader, and adding
// a folder would wait for that lock.
func (s *sensor) run() error {
	events, problems := s.Feed()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return nil
			}
			// New permission bits alone are no new content.
			if e.Op != fsnotify.Chmod {
				s.mark(e.Name, e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename))
			}
		case err, ok := <-problems:
			if !ok {
				return nil
			}
			s.problem(err)
		}
	}
}

// mark marks the folder that contains a name as dirty. A name that went away may have been a watched folder. A new one with the same name,
// even the same inode, may already exist, and is not watched.
func (s *sensor) mark(name string, went bool) {
	s.mu.Lock()
	if !s.all {
		s.dirty[filepath.Dir(name)] = struct{}{}
	}
	if !s.all && went {
		s.went[name] = struct{}{}
	}
	if len(s.dirty)+len(s.went) > mostDirty {
		s.everything()
	}
	s.mu.Unlock()
	s.signal()
}

// everything replaces all marks by one. The caller holds the lock.
func (s *sensor) everything() {
	s.all = true
	clear(s.dirty)
	clear(s.went)
}

// problem marks everything as dirty, since events may be lost.
func (s *sensor) problem(err error) {
	s.mu.Lock()
	s.everything()
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		s.lost = true
	} else {
		s.err = err
	}
	s.mu.Unlock()
	s.signal()
}

// signal wakes the watcher without blocking.
func (s *sensor) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// marks is what a sensor has collected.
type marks struct {
	dirs map[string]struct{}
	went map[string]struct{}
	all  bool
	lost bool
	err  error
}

// take returns and clears the marks.
func (s *sensor) take() marks {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := marks{s.dirty, s.went, s.all, s.lost, s.err}
	s.dirty, s.went = map[string]struct{}{}, map[string]struct{}{}
	s.all, s.lost, s.err = false, false, nil
	return m
}
