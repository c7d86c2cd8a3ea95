package systest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// ReadOnly lets nobody write to a folder until undo is called. Root may write to any folder, so for root the folder is mounted read-only.
func ReadOnly(t testing.TB, dir string) (undo func()) {
	t.Helper()
	done := false
	end := func(f func() error) func() {
		undo := func() {
			if done {
				return
			}
			done = true
			if err := f(); err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(undo)
		return undo
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil { // #nosec G302 -- a folder
			t.Fatal(err)
		}
		return end(func() error { return os.Chmod(dir, 0o700) }) // #nosec G302 -- a folder
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		Missing(t, "no right to mount a folder: "+err.Error())
	}
	undo = end(func() error { return unix.Unmount(dir, unix.MNT_DETACH) })
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		Missing(t, "no right to mount a folder read-only: "+err.Error())
	}
	return undo
}
