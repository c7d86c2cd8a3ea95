package filewatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/sys"
	"hob/scheduler/filewatch"
	"hob/scheduler/filewatch/watchtest"
)

// poor is a system that gives few watches, and one whose reader can be held up.
type poor struct {
	filewatch.Notifier
	events chan fsnotify.Event
	errs   chan error
	gate   sync.Mutex // held: nothing is read

	deaf atomic.Bool // events are dropped

	mu    sync.Mutex
	left  int
	given map[string]bool
	taken map[string]int
	hook  func(path string)
}

// after calls f after each folder that is taken up.
func (p *poor) after(f func(path string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = f
}

// removed counts how often a folder was given up.
func (p *poor) removed(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[path]
}

// Remove is part of watch.Notifier.
func (p *poor) Remove(path string) error {
	p.mu.Lock()
	p.taken[path]++
	p.mu.Unlock()
	return p.Notifier.Remove(path)
}

func newPoor(left int) (*poor, func() (filewatch.Notifier, error)) {
	p := &poor{left: left, errs: make(chan error)}
	return p, func() (filewatch.Notifier, error) {
		n, err := filewatch.OpenSystem()
		if err != nil {
			return nil, err
		}
		p.Notifier, p.given, p.taken = n, map[string]bool{}, map[string]int{}
		p.events = make(chan fsnotify.Event)
		events, _ := n.Feed()
		go func() {
			defer close(p.events)
			for e := range events {
				p.gate.Lock()
				p.gate.Unlock() //nolint:staticcheck // to wait for the gate is all that is wanted
				if !p.deaf.Load() {
					p.events <- e
				}
			}
		}()
		return p, nil
	}
}

func (p *poor) Feed() (<-chan fsnotify.Event, <-chan error) {
	_, errs := p.Notifier.Feed()
	return p.events, merged(p.errs, errs)
}

// merged are the errors of two channels, until the second is closed.
func merged(a, b <-chan error) <-chan error {
	both := make(chan error, 16)
	go func() {
		defer close(both)
		for {
			select {
			case err := <-a:
				both <- err
			case err, ok := <-b:
				if !ok {
					return
				}
				both <- err
			}
		}
	}()
	return both
}

func (p *poor) Add(path string) error {
	p.mu.Lock()
	if !p.given[path] && len(p.given) >= p.left {
		p.mu.Unlock()
		return fmt.Errorf("add: %w", syscall.ENOSPC)
	}
	p.given[path] = true
	hook := p.hook
	p.mu.Unlock()
	err := p.Notifier.Add(path)
	if hook != nil {
		hook(path)
	}
	return err
}

func (p *poor) Close() error {
	err := p.Notifier.Close()
	for range p.events { // what nobody reads any more
	}
	return err
}

// A burst that the reader cannot follow overflows the system's queue; what stands there at the end is found all the same.
func TestABurstWithASlowReaderLosesNothing(t *testing.T) {
	const files = 12_000 // of which each is some events: more than the 16,384 that Linux keeps for a reader
	w := newWatchedHome(t)
	p, open := newPoor(1 << 20)
	w.open = open
	for i := range 50 {
		must(t, os.Mkdir(filepath.Join(w.dir, fmt.Sprint("d", i)), 0o700))
	}
	one := w.watch(func(o *filewatch.Watch) { o.Settle = 5 * settle })
	began := time.Now()
	w.begin()
	p.gate.Lock()
	for i := range files {
		must(t, os.WriteFile(fmt.Sprintf("%s/d%d/f%d", w.dir, i%50, i), []byte(fmt.Sprint(i)), 0o600)) // more events than by put
	}
	for i := range files / 10 {
		must(t, os.Remove(filepath.Join(w.dir, fmt.Sprintf("d%d/f%d", i*10%50, i*10))))
	}
	p.gate.Unlock()
	w.whole(one.ID)
	w.until("the loss to be told", func() bool {
		return slices.ContainsFunc(w.store.Troubles(one.ID), func(s string) bool { return strings.Contains(s, "fs.inotify.max_queued_events") })
	})
	w.fewEvents(began, one)
	if text := w.store.Inbox()[0].Parts[1].Text; !strings.Contains(text, "\nand ") || len(text) > 100_000 {
		t.Errorf("%d bytes that begin %.300q", len(text), text)
	}
}

// When folders change their names while the system loses events, they are watched under the new ones, whichever is looked at first.
func TestFoldersThatAreRenamedWhileEventsAreLostStayWatched(t *testing.T) {
	w := newWatchedHome(t)
	p, open := newPoor(1 << 20)
	w.open = open
	w.sh(`for i in 1 2 3 4 5 6 7 8; do mkdir -p a/x$i/y b/z$i/y; echo $i > a/x$i/y/f; echo $i > b/z$i/y/f; done`)
	one := w.watch(nil)
	w.begin()
	p.deaf.Store(true)
	w.sh(`for i in 1 2 3 4 5 6 7 8; do mv a/x$i b/x$i; mv b/z$i a/z$i; done`)
	p.errs <- fsnotify.ErrEventOverflow
	w.whole(one.ID)
	p.deaf.Store(false)
	for i := 1; i <= 8; i++ {
		w.put(fmt.Sprintf("b/x%d/y/g", i), "x")
		w.put(fmt.Sprintf("a/z%d/y/g", i), "x")
	}
	w.whole(one.ID)
}

// Where the system gives no more watches the owner is told which limit to raise, and the rest is polled.
func TestWithoutWatchesTheOwnerIsTold(t *testing.T) {
	none := func() (filewatch.Notifier, error) { return nil, syscall.EMFILE }
	_, few := newPoor(2)
	for limit, open := range map[string]func() (filewatch.Notifier, error){"max_user_watches": few, "max_user_instances": none} {
		w := newWatchedHome(t)
		w.open = open
		w.put("a/b/c/f", "x")
		w.put("d/g", "x")
		one := w.watch(nil)
		w.begin()
		w.until("the trouble", func() bool {
			return slices.ContainsFunc(w.store.Troubles(one.ID), func(s string) bool { return strings.Contains(s, "sysctl fs.inotify."+limit+"=") })
		})
		w.end()
		w.put("a/b/c/f", "y")
		w.begin()
		w.tells("changed a/b/c/f, 1 byte")
		w.end()
	}
}

func TestPolling(t *testing.T) {
	w := newWatchedHome(t)
	w.open = func() (filewatch.Notifier, error) { _, open := newPoor(0); return open() }
	one := w.watch(func(o *filewatch.Watch) { o.Poll = 100 * time.Millisecond })
	w.begin()
	w.put("a/b/c", "x")
	w.tells("created a/b/c, 1 byte")
	w.put("a/b/c", "y")
	must(t, os.MkdirAll(w.dir+"/e", 0o700))
	w.rename("a/b", "e/b")
	w.until("the rest", func() bool { return len(w.lines()) >= 2 })
	w.whole(one.ID)
	if got := w.troubles(one.ID); len(got) > 0 {
		t.Errorf("troubles: %q", got)
	}
}

// Watches that are added, changed and removed while the watcher runs.
func TestWatchesComeAndGo(t *testing.T) {
	w := newWatchedHome(t)
	w.begin()
	w.put("a", "x")
	one := w.watch(nil)
	w.until("the first look", func() bool { return w.store.File(one.ID, ".").Version == 1 })
	w.put("b", "x")
	w.tells("created b, 1 byte")
	one.Prompt = "Look better."
	w.store.Put(one)
	w.put("c", "x")
	w.tells("created b, 1 byte", "created c, 1 byte")
	w.store.Remove(one.ID)
	other := w.store.Put(func() filewatch.Watch { o := one; o.ID, o.Name = 7, "other"; return o }())
	w.until("the other's first look", func() bool { return w.store.File(other.ID, ".").Version == 1 })
	w.put("d", "x")
	w.until("the other's event", func() bool { return len(w.store.Inbox()) == 3 })
	if in := w.store.Inbox()[2]; in.Source != "watch:other" || w.store.File(one.ID, w.dir+"/d").Version > 0 {
		t.Errorf("told by %s", in.Source)
	}
	bad := one
	bad.ID, bad.Paths = 8, []string{w.state + "/x"}
	w.store.Put(bad)
	w.until("the trouble", func() bool { return len(w.store.Troubles(8)) == 1 })
}

// What is gone leaves nothing behind, neither in the snapshot nor in memory, and its versions go on all the same: what comes back is told.
func TestWhatIsGoneLeavesNothing(t *testing.T) {
	w := newWatchedHome(t)
	const files, rounds = 1000, 4 // the watcher begins anew in the middle
	one := w.watch(nil)
	w.begin()
	w.put("stays", "x")
	rows := func(want int) func() bool {
		return func() bool {
			list, err := w.store.Snapshot(context.Background(), one.ID)
			must(w, err)
			return len(list) == want
		}
	}
	w.until("the one that stays", rows(2)) // and the row of the first look
	for round := range rounds {
		if round == rounds/2 {
			w.end()
			w.begin()
		}
		w.put("again", "the same each time")
		for i := range files - 1 {
			w.put(fmt.Sprintf("r%d/d%d/f%d", round, i%10, i), "")
		}
		w.until("the files", rows(files+2))
		must(t, os.Remove(w.dir+"/again"))
		must(t, os.RemoveAll(fmt.Sprintf("%s/r%d", w.dir, round)))
		w.until("nothing", rows(2))
	}
	w.end()
	if folders, known := w.run.Known(); folders != 1 || known != 1 {
		t.Errorf("%d files came and went, and %d folders and %d files are known, want the one that stays", rounds*files, folders, known)
	}
	created, keys := 0, map[string]bool{}
	for _, in := range w.store.Inbox() {
		keys[in.ExtID] = true
		created += strings.Count(in.Parts[1].Text, "created "+w.dir+"/again,")
	}
	if created != rounds || w.store.Twice() > 0 || len(keys) != len(w.store.Inbox()) {
		t.Errorf("what came back %d times was told %d times; %d events were taken for earlier ones", rounds, created, w.store.Twice())
	}
}

// What an older hob has kept of gone files goes at the start, and their versions go on.
func TestRowsOfAnOlderHob(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(nil)
	must(t, w.store.Saw(t.Context(), filewatch.Seen{Watch: one, Files: []filewatch.File{{Path: ".", Dir: true, Version: 1}}}))
	old := kept{w.store, filewatch.File{Path: w.dir + "/old", Hash: "x", Version: 7, Gone: true}}
	r := filewatch.NewWatcher(old, sys.RealClock(), nil, nil, filewatch.Access{Guard: w.guard, State: w.state}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	w.put("old", "y")
	w.until("the new row", func() bool { return w.store.File(one.ID, w.dir+"/old").Version > 0 })
	stop()
	must(t, <-ended)
	if f := w.store.File(one.ID, w.dir+"/old"); f.Version != 8 {
		t.Errorf("it comes back in version %d after 7", f.Version)
	}
}

// kept is a store with the row of a gone file.
type kept struct {
	*watchtest.Memory
	row filewatch.File
}

func (k kept) Snapshot(ctx context.Context, id int64) ([]filewatch.File, error) {
	list, err := k.Memory.Snapshot(ctx, id)
	return append(list, k.row), err
}
