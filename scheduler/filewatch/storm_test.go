package filewatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/sys/systest"
	"hob/scheduler/filewatch"
	"hob/scheduler/filewatch/watchtest"
)

// storm changes a folder at random: it makes, fills, renames, exchanges, replaces and removes folders and files.
type storm struct {
	*rand.Rand
	dir string
}

// path is one of a few, so that names come back: up to three folders deep.
func (s storm) path() string {
	path := s.dir
	for range 1 + s.IntN(3) {
		path = filepath.Join(path, "abcd"[s.IntN(4):][:1])
	}
	return path
}

// blow makes one change. That some cannot be made, for what stands there, is part of it.
func (s storm) blow(n int) {
	a, b := s.path(), s.path()
	switch s.IntN(10) {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(a), 0o700)
		_ = os.WriteFile(a, fmt.Append(nil, n), 0o600)
	case 3, 4:
		_ = os.MkdirAll(a, 0o700)
		_ = os.WriteFile(filepath.Join(a, "f"), fmt.Append(nil, n%7), 0o600)
	case 5, 6:
		_ = os.Rename(a, b)
	case 7:
		t := s.dir + "-t"
		if os.Rename(a, t) == nil && os.Rename(b, a) == nil {
			_ = os.Rename(t, b)
		}
		_ = os.RemoveAll(t)
	case 8:
		_ = os.RemoveAll(a)
	default:
		if os.Rename(a, s.dir+"-l") == nil {
			_ = os.Symlink(s.dir+"-l", a)
		}
		_ = os.RemoveAll(s.dir + "-l")
	}
}

// Whatever happens while the watcher looks, also while events are lost and while it stops and starts, it ends up with what stands there,
// and goes on to see what changes.
func TestAStorm(t *testing.T) {
	rounds := 2
	if systest.Thorough() {
		rounds = 5
	}
	for seed := range uint64(rounds) {
		w := newWatchedHome(t)
		s := storm{rand.New(rand.NewPCG(seed, 6)), w.dir}
		p, open := newPoor(1 << 20)
		w.open = open
		one := w.watch(nil)
		other := w.watch(func(o *filewatch.Watch) { o.ID, o.Name = 2, "other" })
		w.begin()
		for n := range 600 {
			s.blow(n)
			switch {
			case n%97 == 50:
				p.errs <- fsnotify.ErrEventOverflow
			case n%211 == 100:
				p.deaf.Store(true)
			case n%211 == 120:
				p.deaf.Store(false)
				p.errs <- fsnotify.ErrEventOverflow
			case n == 400:
				w.end()
				w.begin()
			case n%50 == 0:
				w.put(fmt.Sprint("mark", n), "x") // and a look at it, so that looks and changes take turns
				w.until("a commit", func() bool { return w.store.File(one.ID, fmt.Sprint(w.dir, "/mark", n)).Version > 0 })
			}
		}
		w.whole(one.ID)
		must(t, filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			return os.WriteFile(filepath.Join(path, "last"), nil, 0o600)
		}))
		w.whole(one.ID)
		w.whole(other.ID)
		w.end()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if found, err := watchtest.Compare(context.Background(), w.store, one.ID, w.dir); err != nil || len(found) > 0 {
			t.Errorf("seed %d: %q, %v", seed, found, err)
		}
	}
}
