package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys/systest"
)

// R3: on a full disk the state follows the outcome of the last commit, and a look tries again.
func TestStorageOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	d := must(t, dir)
	put(t, d, "before")
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if s := d.Storage(t.Context()); s.Fault != nil {
		t.Errorf("before any commit: %+v", s)
	}
	var err error
	for i := 0; i < 4000 && err == nil; i++ { // the log may have room yet
		err = d.Write(t.Context(), add(fmt.Sprint("row ", i, strings.Repeat(" long", 200))))
	}
	if f, ok := event.AsFault(err); !ok || f.Text != "the disk is full: nothing was stored" || strings.Contains(f.Hint, "by itself") {
		t.Fatalf("a full disk is %v", err)
	}
	if s := d.Storage(t.Context()); s.Fault == nil || s.Since.IsZero() {
		t.Errorf("after a failed commit: %+v", s)
	}
	signal := d.Wait(sqlite.SignalStorage)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for d.Storage(ctx).Fault != nil {
		select {
		case <-signal:
		case <-time.After(100 * time.Millisecond): // a look tries at most once a second
		}
	}
	put(t, d, "after")
}

// R6: errors of the disk are named as that. strace makes fsync fail for a while; the child below writes all the time.
func TestFailingDisk(t *testing.T) {
	strace := systest.Program(t, "strace") // nothing else makes fsync fail
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=30..45", self, "-test.run=^TestFailingDiskChild$", "-test.v")
	cmd.Env = append(os.Environ(), "HOB_FAILING_DISK="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "ptrace") && err != nil {
		t.Skipf("no right to trace: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "PASS: TestFailingDiskChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFailingDiskChild(t *testing.T) {
	dir := os.Getenv("HOB_FAILING_DISK")
	if dir == "" {
		t.Skip("a part of TestFailingDisk")
	}
	d := must(t, dir)
	stored, failed := 0, 0
	for i := 0; i < 60 || failed == 0 && i < 5000; i++ { // strace counts for each thread by itself, and the writer may change its thread
		err := d.Write(t.Context(), add(fmt.Sprint("row ", i)))
		if err == nil {
			stored++
			continue
		}
		failed++
		f, ok := event.AsFault(err)
		if !ok || f.Kind != event.Unavailable || !strings.HasPrefix(f.Text, "the disk fails") || !strings.Contains(f.Hint, "hob backup restore") {
			t.Fatalf("an error of the disk is %v (%v)", err, errors.Unwrap(err))
		}
		if s := d.Storage(t.Context()); s.Fault == nil {
			t.Error("it still says that it stores")
		}
	}
	if failed == 0 || stored < 20 {
		t.Errorf("%d stored, %d failed", stored, failed)
	}
	if n := count(t, d); n != stored {
		t.Errorf("%d rows, %d were acknowledged", n, stored)
	}
}
