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

// How long the folder must be quiet before the file is read, since editors write in several steps, and
// how long a folder that is never quiet can put that off.
const (
	settle  = 150 * time.Millisecond
	patient = 2 * time.Second
	emptied = 2 * time.Second // whoever writes a file in its place empties it first: an empty one is not believed at once
)

// Run reloads when the file changes, until ctx ends; it returns an error when the folder cannot be watched (any more).
// It watches the folder, since most editors put a new file in the place of the old one, and the folder that
// a symlink leads to.
func (l *Live) Run(ctx context.Context, log *slog.Logger) error {
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

func (l *Live) watch(ctx context.Context, log *slog.Logger, w *fsnotify.Watcher) error {
	quiet := time.NewTimer(0) // at once: what changed before anybody watched
	defer quiet.Stop()
	var since time.Time // of the first event that is not dealt with
	var wary time.Time  // until then an empty file is not believed
	again := func() {
		if since.IsZero() {
			since = time.Now()
		}
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
			// A symlink may lead elsewhere now. Watching comes first: what changes after the reading is an event.
			if err := l.follow(w); err != nil {
				return err
			}
			if wary.IsZero() {
				wary = time.Now().Add(emptied)
			}
			if l.report(log, wary) {
				quiet.Reset(settle) // it may still be written
				continue
			}
			wary = time.Time{}
		case _, ok := <-w.Events:
			if !ok {
				return errors.New("watch config: the watcher ended")
			}
			again()
		case err := <-w.Errors:
			if err != nil {
				log.Warn("watching the configuration had a problem, reading it again", "err", err)
			}
			again()
		}
	}
}

// follow watches the folder of the file and that of the file behind a symlink.
func (l *Live) follow(w *fsnotify.Watcher) error {
	if err := w.Add(filepath.Dir(l.path)); err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	behind, err := filepath.EvalSymlinks(l.path)
	if err != nil || filepath.Dir(behind) == filepath.Dir(l.path) {
		return nil // no file yet, or no symlink
	}
	if err := w.Add(filepath.Dir(behind)); err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	return nil
}

// report reads the file and logs what came of it; true: it was emptied a moment ago, and is to be read again.
func (l *Live) report(log *slog.Logger, wary time.Time) bool {
	_, before := l.Problems()
	problems, changed, err := l.reload(wary, false)
	switch {
	case errors.Is(err, errHollow):
		return true
	case err != nil && (before == nil || before.Error() != err.Error()):
		log.Error("the configuration cannot be used, staying on the last good one", "err", err)
	case err == nil && changed:
		log.Info("configuration reloaded", "problems", len(problems))
		for _, p := range problems {
			log.Warn("configuration", "problem", p.String())
		}
	}
	return false
}
