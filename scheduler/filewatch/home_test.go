package filewatch_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/scheduler/filewatch/watchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds how long a test waits for what must happen.
const patience = time.Minute

const settle = 200 * time.Millisecond

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watchedHome is a home with a workspace, a state folder, and a folder that is watched.
type watchedHome struct {
	testing.TB
	home, space, state, dir string
	drafts                  string // a folder that nobody watches
	guard                   *fsguard.Guard
	store                   *watchtest.Memory
	own                     *filewatch.OwnWrites
	open                    func() (filewatch.Notifier, error) // nil: the system's
	clock                   sys.Clock
	run                     *filewatch.Watcher
	cancel                  func() // lets the watcher stop, stop waits for it too
	stop                    func()
}

func newWatchedHome(t testing.TB) *watchedHome {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &watchedHome{TB: t, home: home, space: home + "/.hob/workspace", state: home + "/.hob/state", dir: home + "/watched", store: watchtest.NewMemory(), own: &filewatch.OwnWrites{}, clock: sys.RealClock(), drafts: t.TempDir()}
	for _, d := range []string{w.space, w.state, w.dir} {
		must(t, os.MkdirAll(d, 0o700))
	}
	w.guard, err = fsguard.New(fsguard.Config{Workspace: w.space, State: w.state, Home: home})
	must(t, err)
	t.Cleanup(func() { w.end() })
	return w
}

// begin starts a watcher over the store as it is, and waits until it has looked at all watches.
func (w *watchedHome) begin() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := filewatch.NewWatcher(w.store, w.clock, w.store.Changed(), w.own, filewatch.Access{Guard: w.guard, State: w.state}, slog.New(slog.NewTextHandler(w.Output(), nil)))
	if w.open != nil {
		r.OpenWith(w.open)
	}
	w.run = r
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	w.cancel = cancel
	w.stop = func() {
		cancel()
		w.stop = nil
		select {
		case err := <-done:
			if err != nil {
				w.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			stacks := make([]byte, 1<<20)
			w.Fatalf("it does not stop:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
	list, err := w.store.Watches(ctx)
	must(w, err)
	for _, one := range list {
		w.until("the first look", func() bool { return w.store.File(one.ID, ".").Version > 0 })
	}
}

func (w *watchedHome) end() {
	if w.stop != nil {
		w.stop()
	}
}

// watch makes a watch of the folder; edit changes it before.
func (w *watchedHome) watch(edit func(*filewatch.Watch)) filewatch.Watch {
	one := filewatch.Watch{
		Trigger: scheduler.Trigger{Name: "files", Prompt: "Look.", Deliver: event.ToOwner, Trust: event.Owner, Typed: true},
		Paths:   []string{w.dir}, Settle: settle,
	}
	if edit != nil {
		edit(&one)
	}
	return w.store.Put(one)
}

// until waits for what a commit brings about.
func (w *watchedHome) until(what string, cond func() bool) {
	w.Helper()
	end := time.After(patience)
	for {
		moved := w.store.Moved()
		if cond() {
			return
		}
		select {
		case <-moved:
		case <-end:
			lines := w.lines()
			w.Fatalf("waited in vain for %s; %d lines:\n%s\ntroubles: %q", what, len(lines), strings.Join(lines[:min(len(lines), 20)], "\n"), w.store.Troubles(1))
		}
	}
}

// tells waits for so many lines, and compares them without the folder's name.
func (w *watchedHome) tells(want ...string) {
	w.Helper()
	w.until("lines", func() bool { return len(w.store.Lines()) >= len(want) })
	if got := w.lines(); !slices.Equal(got, want) {
		w.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (w *watchedHome) lines() []string {
	var got []string
	for _, l := range w.store.Lines() {
		got = append(got, strings.ReplaceAll(l, w.dir+"/", ""))
	}
	return got
}

// marker writes a file and waits until it is told: what was before it has been told by then, or never is.
func (w *watchedHome) marker() {
	w.Helper()
	name := "marker-" + time.Now().Format("150405.000000000")
	w.put(name, "x")
	w.until("the marker", func() bool {
		return slices.ContainsFunc(w.store.Lines(), func(l string) bool { return strings.Contains(l, name) })
	})
}

// quiet are the lines but for markers.
func (w *watchedHome) quiet() []string {
	return slices.DeleteFunc(w.lines(), func(l string) bool { return strings.Contains(l, "marker-") })
}

// put makes a file or gives it a new content, in one step: between two steps the settle time may pass on a busy machine, and the half of it is told.
func (w *watchedHome) put(name, text string) {
	w.Helper()
	path, draft := filepath.Join(w.dir, name), filepath.Join(w.drafts, filepath.Base(name))
	must(w, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w, os.WriteFile(draft, []byte(text), 0o600))
	must(w, os.Rename(draft, path))
}

func (w *watchedHome) rename(from, to string) {
	w.Helper()
	must(w, os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)))
}

// troubles are what was told of a watch, without the words that all is well.
func (w *watchedHome) troubles(id int64) []string {
	return slices.DeleteFunc(w.store.Troubles(id), func(s string) bool { return s == "" })
}

// fewEvents wants some events since a watch began: as many as its files can have come to rest in that time, on a slow machine too, and not one for
// each file.
func (w *watchedHome) fewEvents(began time.Time, one filewatch.Watch) {
	w.Helper()
	most := 5 + int(time.Since(began)/one.Settle)
	if n := len(w.store.Inbox()); n == 0 || n > most {
		w.Errorf("%d events, want 1 to %d", n, most)
	}
}

// whole waits until the snapshot is what stands in the folder.
func (w *watchedHome) whole(id int64) {
	w.Helper()
	var found []string
	end := time.After(patience)
	for {
		moved := w.store.Moved()
		var err error
		if found, err = watchtest.Compare(context.Background(), w.store, id, w.dir); err != nil || len(found) == 0 {
			must(w, err)
			return
		}
		select {
		case <-moved:
		case <-end:
			w.Fatalf("%d files differ from the snapshot:\n%s", len(found), strings.Join(found[:min(len(found), 20)], "\n"))
		}
	}
}
