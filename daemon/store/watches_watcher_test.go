package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/filewatch/watchtest"
)

// TestWatcherOverTheStore: the real watcher over the real store, stopped and started again while files change, has every final content
// in its snapshot, and has told each version once.
func TestWatcherOverTheStore(t *testing.T) {
	s := fresh(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: dir, State: filepath.Join(dir, "state"), Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(dir, "files")
	w := filewatch.Watch{Trigger: scheduler.Trigger{Name: "w", Prompt: "look", Trust: event.Machine}, Paths: []string{files}, Settle: 200 * time.Millisecond}
	if err := s.Calls.Record(t.Context(), filewatch.Put{Watch: w}); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Watches.WatchNamed(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	put := func(n int, text string) {
		t.Helper()
		path := filepath.Join(files, fmt.Sprint("d", n%3), fmt.Sprint(n, ".txt"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(reached func() bool, change func()) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		group := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
		defer group.Wait()
		defer stop()
		watcher := filewatch.NewWatcher(s.watches(), sys.RealClock(), nil, nil, filewatch.Access{Guard: g, State: filepath.Join(dir, "state")}, slog.New(slog.DiscardHandler))
		group.Go(ctx, "watcher", watcher.Run)
		wait(t, func() bool { progress, err := s.Watches.Progress(ctx); return err == nil && progress[w.ID].Ready })
		change()
		wait(t, reached)
	}
	same := func() bool {
		found, err := watchtest.Compare(t.Context(), s.watches(), w.ID, files)
		return err == nil && len(found) == 0 && len(s.snapshot(w)) > 1
	}
	for n := range 10 {
		put(n, "before")
	}
	run(same, func() {})
	if s.waiting() != 0 {
		t.Errorf("the first look told %d things", s.waiting())
	}
	run(same, func() {
		for n := range 20 {
			put(n, "while it progress")
		}
	})
	for n := range 20 {
		put(n, "while it is down")
	}
	run(same, func() {})
	told := one[string](s, "SELECT group_concat(parts) FROM inbox")
	if changed, created := strings.Count(told, "- changed "), strings.Count(told, "- created "); changed != 30 || created != 10 {
		t.Errorf("told of %d changes and %d new files, want 30 and 10", changed, created)
	}
}

// wait progress until something holds.
func wait(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not within 20 s")
		}
	}
}
