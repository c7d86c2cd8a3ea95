package sys_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/sys"
)

// reader is a follower whose reads a test counts.
type reader struct {
	t     *testing.T
	reads chan struct{}
	seen  chan string // names of the events that were looked at
	stop  func()
	ended chan error
}

// follow starts a follower of some folders and waits for its first read. change may be nil.
func follow(t *testing.T, f *sys.Folders, change func(*sys.Following), folders ...string) *reader {
	t.Helper()
	r := &reader{t: t, reads: make(chan struct{}, 1000), seen: make(chan string, 1000), ended: make(chan error, 1)}
	g := sys.Following{
		Watch: func(add func(string) error) error {
			for _, folder := range folders {
				if err := add(folder); err != nil {
					return err
				}
			}
			return nil
		},
		Concerns: func(e fsnotify.Event) bool { r.seen <- e.Name; return true },
		Lost:     func(error) {},
		Read:     func(context.Context) (bool, error) { r.reads <- struct{}{}; return false, nil },
		Settle:   time.Millisecond, Patience: time.Minute,
	}
	if change != nil {
		change(&g)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { r.ended <- f.Follow(ctx, g) }()
	r.stop = func() {
		t.Helper()
		cancel()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	}
	r.read()
	return r
}

// read waits for a read.
func (r *reader) read() {
	r.t.Helper()
	select {
	case <-r.reads:
	case err := <-r.ended:
		r.t.Fatalf("it ended: %v", err)
	case <-time.After(time.Minute):
		r.t.Fatal("nothing was read")
	}
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
		t.Fatal(err)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// All followers share a notifier. It is closed after the last one, and opened again by the next.
func TestFollowersShareANotifier(t *testing.T) {
	f, opened := sys.CountedFolders(discard())
	one, two := t.TempDir(), t.TempDir()
	a, b := follow(t, f, nil, one), follow(t, f, nil, two)
	if len(*opened) != 1 {
		t.Fatalf("two followers opened %d notifiers", len(*opened))
	}
	put(t, filepath.Join(one, "x"))
	a.read()
	a.stop()
	put(t, filepath.Join(two, "y"))
	b.read()
	if name := <-b.seen; name != filepath.Join(two, "y") {
		t.Errorf("the second follower saw %s", name)
	}
	b.stop()
	if list := (*opened)[0].WatchList(); list != nil { // nil: it is closed
		t.Errorf("the notifier is open and watches %q", list)
	}
	c := follow(t, f, nil, one)
	put(t, filepath.Join(one, "z"))
	c.read()
	c.stop()
	if len(*opened) != 2 {
		t.Errorf("%d notifiers", len(*opened))
	}
}

// Each follower hears of its folders by the paths that it has added, also if another one follows them by other paths, and also of their end.
func TestFollowersUseTheirOwnPaths(t *testing.T) {
	f := sys.NewFolders(discard())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symlinks here:", err)
	}
	list := []*reader{follow(t, f, nil, filepath.Join(dir, "real")), follow(t, f, nil, filepath.Join(dir, "link")), follow(t, f, nil, filepath.Join(dir, "real"))}
	put(t, filepath.Join(dir, "real", "x"))
	for i, name := range []string{"real", "link", "real"} {
		list[i].read()
		if got := <-list[i].seen; got != filepath.Join(dir, name, "x") {
			t.Errorf("follower %d saw %s", i, got)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "real")); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"real", "link", "real"} {
		for got := range list[i].seen {
			if got == filepath.Join(dir, name) {
				break
			}
		}
	}
	for _, r := range list { // the folder cannot be added any more
		if err := <-r.ended; !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// A follower is woken without a change, and one may ask for one more read.
func TestFollowReadsWithoutAChange(t *testing.T) {
	f, dir := sys.NewFolders(discard()), t.TempDir()
	wake := make(chan struct{}, 1)
	r := follow(t, f, func(g *sys.Following) {
		g.Settle = time.Hour
		g.Now = func() <-chan struct{} { return wake }
	}, dir)
	wake <- struct{}{}
	r.read()
	r.stop()
	first := true
	r = follow(t, f, func(g *sys.Following) {
		read := g.Read
		g.Read = func(ctx context.Context) (bool, error) {
			again := first
			first = false
			_, err := read(ctx)
			return again, err
		}
	}, dir)
	r.read()
	r.stop()
}

// A folder that is never quiet is read all the same.
func TestFollowReadsABusyFolder(t *testing.T) {
	f, dir := sys.NewFolders(discard()), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil { // a change each millisecond or so never leaves it quiet for a second
			_ = os.WriteFile(filepath.Join(dir, "busy"), nil, 0o600)
			_ = sys.Sleep(ctx, time.Millisecond)
		}
	}()
	busy := follow(t, f, func(g *sys.Following) { g.Settle, g.Patience = time.Second, 20*time.Millisecond }, dir)
	busy.read()
	stop()
	busy.stop()
}

// Follow returns the errors of its functions, and one when there is no notifier or when that ends by itself.
func TestFollowFails(t *testing.T) {
	none := errors.New("none here")
	f, opened := sys.CountedFolders(discard())
	for what, g := range map[string]sys.Following{
		"watch": {Watch: func(func(string) error) error { return none }},
		"read":  {Watch: func(func(string) error) error { return nil }, Read: func(context.Context) (bool, error) { return false, none }},
	} {
		if err := f.Follow(t.Context(), g); !errors.Is(err, none) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := sys.FailingFolders(discard(), none).Follow(t.Context(), sys.Following{}); !errors.Is(err, none) {
		t.Errorf("without a notifier: %v", err)
	}
	a, b := follow(t, f, nil, t.TempDir()), follow(t, f, nil, t.TempDir())
	if err := (*opened)[len(*opened)-1].Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*reader{a, b} {
		if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "notifier of changes ended") {
			t.Errorf("after its end: %v", err)
		}
	}
	dir := t.TempDir()
	c := follow(t, f, nil, dir)
	put(t, filepath.Join(dir, "x"))
	c.read()
	c.stop()
}

// A follower is told that changes were lost, and reads.
func TestFollowReadsAfterALoss(t *testing.T) {
	f, opened := sys.CountedFolders(discard())
	lost := make(chan error, 1)
	r := follow(t, f, func(g *sys.Following) { g.Lost = func(err error) { lost <- err } }, t.TempDir())
	(*opened)[0].Errors <- fsnotify.ErrEventOverflow
	if err := <-lost; !errors.Is(err, fsnotify.ErrEventOverflow) {
		t.Errorf("%v", err)
	}
	r.read()
	r.stop()
}
