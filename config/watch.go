package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Editors write a file in several steps. The file is therefore read when its folder has been quiet for settle, or after patient at the
// latest. An empty file is not accepted before emptied has passed, because a program that overwrites a file in place empties it first.
const (
	settle  = 150 * time.Millisecond
	patient = 2 * time.Second
	emptied = 2 * time.Second
)

// Run reloads the configuration when the file changes, until ctx ends. It returns an error when the folder cannot be watched. It watches
// the folder, because most editors replace the file, and also the folder of a symlink's target.
func (l *Reloader) Run(ctx context.Context, log *slog.Logger) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	err = l.watch(ctx, log, w)
	if bad := w.Close(); bad != nil {
		err = errors.Join(err, fmt.Errorf("stop watching config: %w", bad))
	}
	return err
}

// watch handles the events of the folders. Each event starts the timer quiet again; when it ends, the file is read.
func (l *Reloader) watch(ctx context.Context, log *slog.Logger, w *fsnotify.Watcher) error {
	quiet := time.NewTimer(0) // at once, for changes before the watch began
	defer quiet.Stop()
	var since time.Time         // time of the first unhandled event
	var acceptEmptyAt time.Time // an empty file is not accepted before this time
	again := func() {
		if since.IsZero() {
			since = time.Now()
		}
		// After patient the running timer is not extended, so that a busy folder cannot delay a reload for ever.
		if time.Since(since) < patient {
			quiet.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet.C:
			since = time.Time{}
			// A symlink may have a new target. Watch first and read afterwards: a later change is then an event.
			if err := l.follow(w); err != nil {
				return err
			}
			if acceptEmptyAt.IsZero() {
				acceptEmptyAt = time.Now().Add(emptied)
			}
			if l.report(log, acceptEmptyAt) {
				quiet.Reset(settle) // the file may still be being written
				continue
			}
			acceptEmptyAt = time.Time{}
		case _, ok := <-w.Events:
			if !ok {
				return errors.New("watch config: the watcher ended")
			}
			again()
		case err := <-w.Errors:
			if err != nil {
				log.Warn("watching the configuration failed; reading it again", "err", err)
			}
			again()
		}
	}
}

// follow watches the file's folder and, for a symlink, the folder of its target.
func (l *Reloader) follow(w *fsnotify.Watcher) error {
	if err := w.Add(filepath.Dir(l.path)); err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(l.path)
	if err != nil || filepath.Dir(resolved) == filepath.Dir(l.path) {
		return nil // no file yet, or not a symlink
	}
	if err := w.Add(filepath.Dir(resolved)); err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	return nil
}

// report reads the file and logs the result. It returns true if the file was emptied a moment ago and must be read again.
// An error that continues is logged once, not at each event.
func (l *Reloader) report(log *slog.Logger, acceptEmptyAt time.Time) bool {
	_, before := l.Problems()
	problems, changed, err := l.reload(acceptEmptyAt, false)
	switch {
	case errors.Is(err, errEmptied):
		return true
	case err != nil && (before == nil || before.Error() != err.Error()):
		log.Error("the configuration cannot be used; the last good one stays in use", "err", err)
	case err == nil && changed:
		log.Info("configuration reloaded", "problems", len(problems))
		for _, p := range problems {
			log.Warn("configuration", "problem", p.String())
		}
	}
	return false
}
