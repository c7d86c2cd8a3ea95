package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"hob/daemon/sys"
)

// Editors write a file in several steps. The file is therefore read when its folder has been quiet for settle, or after patient at the
// latest. A missing file is not accepted, and an empty one is no mistake, before emptied has passed: a program that overwrites a file may remove or
// empty it first.
const (
	settle  = 150 * time.Millisecond
	patient = 2 * time.Second
	emptied = 2 * time.Second
)

// Run reloads the configuration when the file changes, until ctx ends. It returns an error when the folder cannot be watched. It watches
// the folder, because most editors replace the file, and also the folder of a symlink's target.
func (l *Reloader) Run(ctx context.Context, folders *sys.Folders, log *slog.Logger) error {
	var acceptEmptyAt time.Time // an empty or missing file may still be being written until then
	err := folders.Follow(ctx, sys.Following{
		// A symlink may have a new target.
		Watch: l.watch,
		Lost:  func(err error) { log.Warn("watching the configuration failed; reading it again", "err", err) },
		Read: func(context.Context) (again bool, err error) {
			if acceptEmptyAt.IsZero() {
				acceptEmptyAt = time.Now().Add(emptied)
			}
			if l.report(log, acceptEmptyAt) {
				return true, nil // the file may still be being written
			}
			acceptEmptyAt = time.Time{}
			return false, nil
		},
		Settle: settle, Patience: patient,
	})
	if err != nil {
		return fmt.Errorf("watch config: %w", err)
	}
	return nil
}

// watch watches the file's folder and, for a symlink, the folder of its target.
func (l *Reloader) watch(add func(folder string) error) error {
	if err := add(filepath.Dir(l.path)); err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(l.path)
	if err != nil || filepath.Dir(resolved) == filepath.Dir(l.path) {
		return nil // no file yet, or not a symlink
	}
	return add(filepath.Dir(resolved))
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
		log.Error("the configuration cannot be used; the one before stays in use", "err", err)
	case err == nil && changed:
		log.Info("configuration reloaded", "problems", len(problems))
		for _, p := range problems {
			log.Warn("configuration", "problem", p.String())
		}
	}
	return false
}
