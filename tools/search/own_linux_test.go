package search_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sys"
	"hob/tools/search"
)

// While somebody swaps a file for a hard link to the database and back, nothing of the database is found, and the lock that
// the process holds on it stays: no descriptor of it was ever closed.
func TestRaceForTheDatabase(t *testing.T) {
	d := newFixture(t)
	db, x := filepath.Join(d.top, "state", "db"), filepath.Join(d.dir, "x")
	must(t, os.WriteFile(db, []byte("secret of the state"), 0o600))
	d.put(t, "x", "harmless")
	locked, watch := opened(t, db), opened(t, db)
	must(t, unix.FcntlFlock(uintptr(locked), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))

	var stop atomic.Bool
	group := sys.NewGroup(nil, func(_ string, err error) { t.Error(err) })
	group.Once("swap", func() error {
		for !stop.Load() {
			if err := os.Link(db, x+".tmp"); err != nil {
				return err
			}
			if err := os.Rename(x+".tmp", x); err != nil {
				return err
			}
			if err := os.WriteFile(x+".tmp", []byte("harmless"), 0o600); err != nil {
				return err
			}
			if err := os.Rename(x+".tmp", x); err != nil {
				return err
			}
		}
		return nil
	})
	end, lost := time.Now().Add(5*time.Second), 0 // a race is won now and then; when it is lost a descriptor stays open
	for left := 500; left > 0 && time.Now().Before(end); {
		res := d.do(t, d.grep, args{"pattern": "secret"})
		if out, _ := res.Data.(search.GrepOutput); out.InFiles != 0 {
			t.Errorf("found in the state folder: %s", res.Content)
			break
		}
		if lost = descriptors(t, db) - 2; lost > 0 {
			left--
		}
	}
	stop.Store(true)
	group.Wait()
	t.Logf("%d descriptors are kept", lost)
	if lost > 2*runtime.GOMAXPROCS(0) {
		t.Errorf("%d descriptors are kept: more with each search", lost)
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	must(t, unix.FcntlFlock(uintptr(watch), unix.F_OFD_GETLK, &lock))
	if lock.Type != unix.F_WRLCK {
		t.Error("the lock is gone: a descriptor of the database was closed")
	}
}

// opened opens a file for good: closing it would drop the lock that the test looks at.
func opened(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(t, err)
	return fd
}

// descriptors are how many the process has of a file.
func descriptors(t *testing.T, path string) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	var want, have unix.Stat_t
	must(t, unix.Stat(path, &want))
	n := 0
	for _, e := range list {
		if err := unix.Stat("/proc/self/fd/"+e.Name(), &have); err == nil && have.Ino == want.Ino && have.Dev == want.Dev {
			n++
		}
	}
	return n
}

// A large file is searched with memory that does not grow with it.
func TestFlatMemory(t *testing.T) {
	lines := 7_200_000 // 270 MB
	if testing.Short() {
		lines /= 8
	}
	d := newFixture(t)
	d.put(t, "big", strings.Repeat("this is line number 1234567 of the file\n", lines/4))
	big, err := os.OpenFile(filepath.Join(d.dir, "big"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	for range 3 {
		_, err = big.WriteString(strings.Repeat("this is line number 1234567 of the file\n", lines/4))
		must(t, err)
	}
	must(t, big.Close())
	for _, a := range []args{
		{"pattern": "number 7654321 of", "output_mode": "count"}, {"pattern": `[0-9]{6}7 of`, "output_mode": "count"}, {"pattern": "nowhere"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res := d.do(t, d.grep, a)
		runtime.ReadMemStats(&after)
		if out, _ := res.Data.(search.GrepOutput); out.Total != 0 && out.Total != lines/4*4 {
			t.Errorf("%v: %d lines", a, out.Total)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("%v: %d KB for a file of %d MB", a, used>>10, lines*40>>20)
		}
	}
}

// A folder with keys stays closed under another path, also where no path says what it is.
func TestWithholdsByIdentity(t *testing.T) {
	d := newFixture(t)
	outside := t.TempDir()
	keys, alias := filepath.Join(d.top, ".gnupg"), filepath.Join(outside, "plain")
	for _, dir := range []string{keys, alias, filepath.Join(outside, "other")} {
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "x"), []byte("needle"), 0o600))
	}
	if err := unix.Mount(keys, alias, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("this needs root: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(alias, unix.MNT_DETACH)) })
	res := d.do(t, d.grep, args{"pattern": "needle", "path": outside, "output_mode": "count"})
	if out, _ := res.Data.(search.GrepOutput); out.Total != 1 || len(out.Files) != 1 || out.Withheld != 1 {
		t.Errorf("%s", res.Content)
	}
}
