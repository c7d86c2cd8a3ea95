package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/tools/runtime"
)

// A pattern that goes on below a file opens no file: of a database hob would lose the locks (fcntl(2): they go when the process closes any
// descriptor of it), and at a FIFO it would wait.
func TestAPatternOpensNoFile(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	b.put(t, "d/db", "x")
	f, err := os.OpenFile(filepath.Join(b.dir, "d/db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only locked
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	locked := func() bool {
		info, err := f.Stat()
		locks, failed := os.ReadFile("/proc/locks")
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return strings.Contains(string(locks), fmt.Sprintf(":%d 0 EOF", info.Sys().(*syscall.Stat_t).Ino))
	}
	if !locked() {
		t.Fatal("there is no lock to lose")
	}
	b.meant(t, sh("cat d/*/*"))
	if !locked() {
		t.Error("the lock is lost")
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "d/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.meant(t, sh("cat d/*/*"))
}
