package sys

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Wait lets a test provide the system's report about its clock.
func Wait(ctx context.Context, c Clock, last time.Time, look func() (up time.Duration, set, known bool)) bool {
	return wait(ctx, c, last, look)
}

// Compare lets a test compare the two clocks without the system's reports.
func Compare(ctx context.Context, c Clock, happened func()) error { return c.compare(ctx, happened) }

// CountedFolders keeps the notifiers that it opens.
func CountedFolders(log *slog.Logger) (*Folders, *[]*fsnotify.Watcher) {
	f, opened := NewFolders(log), new([]*fsnotify.Watcher)
	f.open = func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		*opened = append(*opened, w)
		return w, err
	}
	return f, opened
}

// FailingFolders cannot open a notifier.
func FailingFolders(log *slog.Logger, err error) *Folders {
	f := NewFolders(log)
	f.open = func() (*fsnotify.Watcher, error) { return nil, err }
	return f
}
