package filewatch

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// mostDirty bounds how many folders are kept as dirty; when there are more, all are looked at.
const mostDirty = 1 << 14

// notifier is what tells of changes in folders: fsnotify.
type notifier interface {
	Add(path string) error
	Remove(path string) error
	Feed() (<-chan fsnotify.Event, <-chan error)
	Close() error
}

// system is the operating system's notifier.
type system struct{ *fsnotify.Watcher }

func openSystem() (notifier, error) {
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return system{w}, nil
}

// Feed is part of notifier.
func (s system) Feed() (<-chan fsnotify.Event, <-chan error) { return s.Events, s.Errors }

// Remove is part of notifier. fsnotify 1.10 panics where a watched folder was removed and another watched one has taken its name before
// it has read of either: its table then has the name without the watch (compare its issue 652). The next Add of the name mends the table.
func (s system) Remove(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stop watching %s: %v", path, p)
		}
	}()
	return s.Watcher.Remove(path)
}

// sensor reads a notifier as fast as it can and marks folders as dirty. It never waits for anybody.
type sensor struct {
	notifier
	wake chan struct{} // something is dirty; one signal stands for many

	mu    sync.Mutex
	dirty map[string]struct{}
	went  map[string]struct{} // names of what was removed or renamed
	all   bool                // everything is dirty
	lost  bool                // because the system has dropped events
	err   error               // what else the notifier has said
}

func newSensor(n notifier) *sensor {
	return &sensor{notifier: n, wake: make(chan struct{}, 1), dirty: map[string]struct{}{}, went: map[string]struct{}{}}
}

// run reads until the notifier is closed, and not only until somebody wants to stop: fsnotify may hold its lock while it waits for a
// reader, and whoever still adds a folder then waits for that lock.
func (s *sensor) run() error {
	events, problems := s.Feed()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return nil
			}
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

// mark makes the folder that holds a name dirty. What went away may have been a watched folder: one of the same name, even
// of the same inode, may stand there already, and nobody watches it.
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

func (s *sensor) everything() {
	s.all = true
	clear(s.dirty)
	clear(s.went)
}

// problem makes everything dirty: whatever went wrong, events may be lost.
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

func (s *sensor) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// marks is what a sensor has gathered.
type marks struct {
	dirs map[string]struct{}
	went map[string]struct{}
	all  bool
	lost bool
	err  error
}

// take hands over what was gathered since the last time.
func (s *sensor) take() marks {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := marks{s.dirty, s.went, s.all, s.lost, s.err}
	s.dirty, s.went = map[string]struct{}{}, map[string]struct{}{}
	s.all, s.lost, s.err = false, false, nil
	return m
}
