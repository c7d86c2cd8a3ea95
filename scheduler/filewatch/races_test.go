package filewatch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/sys"
	"hob/scheduler/filewatch"
)

// What stood in a folder is gone when a link has taken its place, even one that leads to the same files.
func TestAFolderThatALinkReplaces(t *testing.T) {
	w := newWatchedHome(t)
	w.put("d/f", "x")
	w.put("d/sub/g", "y")
	one := w.watch(nil)
	w.begin()
	w.sh(`mv d ../away; ln -s ../away d`)
	w.tells("created d, 7 bytes", "removed d/f", "removed d/sub/g")
	w.marker()
	w.sh(`rm d; mv ../away d`)
	w.until("them to be back", func() bool { return len(w.quiet()) == 6 })
	if got := w.quiet()[3:]; !slices.Equal(got, []string{"removed d", "created d/f, 1 byte", "created d/sub/g, 1 byte"}) {
		t.Errorf("told: %q", got)
	}
	w.whole(one.ID)
}

// Two folders that change places while events are lost are both still watched: a notifier that knows folders by their inodes may mix
// them up.
func TestFoldersThatChangePlacesWhileEventsAreLost(t *testing.T) {
	for _, watches := range []int{1, 2} {
		w := newWatchedHome(t)
		p, open := newPoor(1 << 20)
		w.open = open
		w.sh(`for i in 1 2 3 4; do mkdir -p a/x$i/y b/x$i/y; echo a$i > a/x$i/y/f; echo b$i > b/x$i/y/f; done`)
		one := w.watch(nil)
		if watches == 2 {
			w.watch(func(o *filewatch.Watch) { o.Name = "other" })
		}
		w.begin()
		p.deaf.Store(true)
		w.sh(`for i in 1 2 3 4; do mv a/x$i t; mv b/x$i a/x$i; mv t b/x$i; done; echo more > a/more`)
		p.errs <- fsnotify.ErrEventOverflow
		w.until("the look at all", func() bool { return w.store.File(one.ID, w.dir+"/a/more").Version == 1 })
		w.whole(one.ID)
		p.deaf.Store(false)
		for i := 1; i <= 4; i++ {
			w.put(fmt.Sprintf("a/x%d/y/g", i), "x")
			w.put(fmt.Sprintf("b/x%d/y/g", i), "x")
		}
		w.whole(one.ID)
		w.end()
	}
}

// A folder that moves between being watched and being opened takes its watch along to a place that is listed later.
func TestAFolderThatMovesWhileItIsBeingTakenUp(t *testing.T) {
	w := newWatchedHome(t)
	p, open := newPoor(1 << 20)
	w.open = open
	w.put("noise/a", "")
	one := w.watch(nil)
	w.begin()
	p.gate.Lock()
	for i := range 6000 { // more than all buffers hold: the library does not learn what comes after
		w.put(fmt.Sprint("noise/", i), "")
	}
	var once sync.Once
	p.after(func(path string) {
		if path == w.dir+"/p/old" {
			once.Do(func() { w.rename("p/old", "p/later/new") })
		}
	})
	must(t, os.MkdirAll(w.dir+"/t/old", 0o700))
	must(t, os.MkdirAll(w.dir+"/t/later", 0o700))
	w.rename("t", "p")
	p.errs <- fsnotify.ErrEventOverflow // so that the folder is found while events wait
	w.until("a commit", func() bool { return len(w.store.Inbox()) > 0 })
	p.gate.Unlock()
	w.whole(one.ID)
	w.marker()
	w.put("p/later/new/f", "x")
	w.whole(one.ID)
}

// Who pauses a watch and lets it go on while it commits finds nothing lost.
func TestAWatchThatIsPausedForAMoment(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(nil)
	w.begin()
	refused := make(chan struct{}, 1)
	var once sync.Once
	w.store.Refuse(func(filewatch.Seen) (err error) {
		once.Do(func() { err = fmt.Errorf("saw: %w", filewatch.ErrStopped); refused <- struct{}{} })
		return err
	})
	w.put("a", "x")
	<-refused
	w.tells("created a, 1 byte")
	w.whole(one.ID)
}

// Another set of files that moves the same way is another event, even where the counts and the newest version are the same.
func TestEachMoveOfFoldersIsTold(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(func(o *filewatch.Watch) { o.Events = []filewatch.Kind{filewatch.Rename} })
	w.sh(`mkdir a; echo 2 > a/2; echo 3 > a/3`)
	w.begin()
	w.rename("a", "b") // b/2 and b/3 in their first versions
	w.tells("renamed b/ (was a/), a folder with 2 files")
	w.sh(`rm -r b; mkdir a; echo 4 > a/4; echo 5 > a/5`)
	w.until("the new files", func() bool {
		return w.store.File(one.ID, w.dir+"/a/5").Version > 0 && w.store.File(one.ID, w.dir+"/b/3").Version == 0
	})
	w.rename("a", "b") // b/4 and b/5
	w.until("the second move", func() bool { return len(w.store.Inbox()) == 2 })
	if w.store.Twice() > 0 {
		t.Error("a move was taken for the one before")
	}
}

// Where the next content bears the time of the one before, it is found all the same: file systems count time in steps.
func TestTwoContentsOfOneSizeInOneStepOfTime(t *testing.T) {
	for name, at := range map[string]time.Time{"whole seconds": time.Unix(1_700_000_000, 0), "ticks": time.Unix(1_700_000_000, 123_000_000)} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedHome(t)
			var passed atomic.Int64
			w.clock = sys.ShiftedClock(func() time.Duration { return time.Until(at) + time.Duration(passed.Load()) })
			put := func(text string) {
				must(t, os.WriteFile(w.dir+"/a", []byte(text), 0o600))
				must(t, os.Chtimes(w.dir+"/a", at, at))
			}
			put("first")
			one := w.watch(nil)
			w.begin()
			put("other")
			w.tells("changed a, 5 bytes")
			put("third")
			w.tells("changed a, 5 bytes", "changed a, 5 bytes")
			passed.Store(int64(time.Minute))
			w.until("its time to count", func() bool { return w.store.File(one.ID, w.dir+"/a").Mtime == at.UnixNano() })
			w.whole(one.ID)
			if got := w.lines(); len(got) != 2 {
				t.Errorf("told: %q", got)
			}
		})
	}
}

// A folder that cannot be read is said to be so, and found when it can.
func TestAFolderThatCannotBeReadForAWhile(t *testing.T) {
	w := newWatchedHome(t)
	w.put("closed/in/f", "x")
	one := w.watch(nil)
	must(t, os.Chmod(w.dir+"/closed", 0))
	if _, err := os.ReadDir(w.dir + "/closed"); !errors.Is(err, os.ErrPermission) {
		t.Skip("nothing is closed to this user")
	}
	w.begin()
	w.until("the trouble", func() bool {
		return slices.ContainsFunc(w.troubles(one.ID), func(s string) bool { return strings.Contains(s, `closed" cannot be read: permission denied`) })
	})
	must(t, os.Chmod(w.dir+"/closed", 0o700)) //nolint:gosec // a folder
	w.put("beside", "a look at the folder above comes sooner than half a minute")
	w.whole(one.ID)
	w.put("closed/in/g", "y")
	w.whole(one.ID)
	w.until("the trouble to end", func() bool { all := w.store.Troubles(one.ID); return all[len(all)-1] == "" })
}

// V7: a folder that is gone is said to be so after a while, and that it is back.
func TestAFolderThatIsGone(t *testing.T) {
	w := newWatchedHome(t)
	var passed atomic.Int64
	w.clock = sys.ShiftedClock(func() time.Duration { return time.Duration(passed.Load()) })
	one := w.watch(nil)
	later := one // a folder that never was there is no trouble: the owner was told when the watch was made
	later.ID, later.Name, later.Paths = 9, "later", []string{w.home + "/later"}
	w.store.Put(later)
	w.begin()
	w.put("a", "x")
	w.tells("created a, 1 byte")
	must(t, os.RemoveAll(w.dir))
	w.until("the removal", func() bool { return len(w.store.Inbox()) == 2 })
	again := func() { // the watcher looks at all watches
		one.Prompt += "."
		w.store.Put(one)
	}
	again()
	if got := w.troubles(one.ID); len(got) > 0 {
		t.Errorf("at once: %q", got)
	}
	passed.Store(int64(time.Minute))
	w.until("the trouble", func() bool {
		again()
		return slices.ContainsFunc(w.troubles(one.ID), func(s string) bool { return strings.HasPrefix(s, w.dir+" is gone") })
	})
	if got := w.troubles(later.ID); len(got) > 0 {
		t.Errorf("the one that waits: %q", got)
	}
	// The stranger's 12: after a restart, a path that never was there is not said to be gone because another one had files.
	must(t, os.Mkdir(w.dir, 0o700))
	one.Paths = []string{w.home + "/never", w.dir}
	passed.Add(int64(2 * time.Minute))
	w.put("b", "x")
	again()
	w.end()
	w.begin()
	for range 3 {
		again()
		passed.Add(int64(2 * time.Minute))
		w.put("b", fmt.Sprint(passed.Load()))
		w.whole(one.ID)
	}
	if got := w.troubles(one.ID); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "never is gone") }) {
		t.Errorf("a path that never was there: %q", got)
	}
	one.Paths = one.Paths[1:]
	w.until("the trouble to end", func() bool {
		again()
		all := w.store.Troubles(one.ID)
		return all[len(all)-1] == ""
	})
}

// The trouble names all paths that are gone.
func TestAllPathsThatAreGone(t *testing.T) {
	w := newWatchedHome(t)
	var passed atomic.Int64
	w.clock = sys.ShiftedClock(func() time.Duration { return time.Duration(passed.Load()) })
	other := filepath.Join(w.home, "other")
	must(t, os.Mkdir(other, 0o700))
	one := w.watch(nil)
	one.Paths = []string{w.dir, other}
	w.store.Put(one)
	w.begin()
	w.put("a", "x")
	w.tells("created a, 1 byte")
	must(t, errors.Join(os.RemoveAll(w.dir), os.RemoveAll(other)))
	w.until("the removal", func() bool { return len(w.store.Inbox()) == 2 })
	passed.Store(int64(time.Minute))
	w.until("the trouble", func() bool {
		passed.Add(int64(time.Minute))
		one.Prompt += "."
		w.store.Put(one)
		return slices.ContainsFunc(w.troubles(one.ID), func(s string) bool { return strings.HasPrefix(s, w.dir+", "+other+" are gone") })
	})
}

// What lies so deep that the system takes no path to it is left out, and that is said; all else goes on.
func TestPathsThatAreTooLong(t *testing.T) {
	w := newWatchedHome(t)
	w.put("a", "x")
	one := w.watch(nil)
	w.begin()
	name := strings.Repeat("n", 250)
	dir, err := os.OpenRoot(w.dir)
	must(t, err)
	for range 18 {
		must(t, dir.Mkdir(name, 0o700))
		sub, err := dir.OpenRoot(name)
		must(t, errors.Join(err, dir.Close()))
		must(t, sub.WriteFile("f", []byte("x"), 0o600))
		dir = sub
	}
	must(t, dir.Close())
	w.until("the trouble", func() bool {
		return slices.ContainsFunc(w.troubles(one.ID), func(s string) bool { return strings.Contains(s, "paths are too long") })
	})
	w.marker()
	if got := w.quiet(); len(got) != (4095-len(w.dir+"/f"))/251 {
		t.Errorf("%d files are told", len(got))
	}
	if all := w.troubles(one.ID); len(all) != 1 {
		t.Errorf("troubles: %.200q", all)
	}
	must(t, os.RemoveAll(w.dir+"/"+name))
	w.marker()
}

// A library that waits for a reader of its errors, and lets nobody add a folder until then, does not keep the watcher from stopping.
func TestStoppingWhileFoldersAreTakenUp(t *testing.T) {
	w := newWatchedHome(t)
	p, open := newPoor(1 << 20)
	w.open = open
	w.watch(nil)
	w.begin()
	reached := make(chan struct{})
	p.after(func(path string) {
		if path == w.dir+"/new" {
			close(reached)
			w.cancel()
			for range 100 { // more than is kept on the way
				p.errs <- fsnotify.ErrClosed
			}
		}
	})
	must(t, os.Mkdir(w.dir+"/new", 0o700))
	<-reached
	w.end()
}

// A watch that only waits longer keeps what the system watches for it.
func TestANewSettleTimeKeepsTheWatches(t *testing.T) {
	w := newWatchedHome(t)
	p, open := newPoor(1 << 20)
	w.open = open
	w.put("a/b/c/f", "x")
	one := w.watch(nil)
	w.begin()
	one.Settle = 2 * settle
	w.store.Put(one)
	w.put("a/b/c/g", "x")
	w.tells("created a/b/c/g, 1 byte")
	w.store.Remove(one.ID)
	other := w.watch(func(o *filewatch.Watch) { o.ID, o.Name, o.Paths = 7, "other", []string{w.space} })
	w.until("the other's first look", func() bool { return w.store.File(other.ID, ".").Version == 1 })
	for _, dir := range []string{w.dir, w.dir + "/a/b/c"} {
		if n := p.removed(dir); n != 1 {
			t.Errorf("%s was given up %d times", dir, n)
		}
	}
}
