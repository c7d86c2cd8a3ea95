//go:build hobtest && unix

package daemon_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon"
	"hob/daemon/sqlite"
)

// dies runs a test of this binary as a child, and requires that it is killed at a point.
func dies(t *testing.T, test, point string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$") // #nosec G204 G702 -- this very test
	cmd.Env = append(append(os.Environ(), "HOB_FAIL="+point), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die there: %v\n%s", err, out)
	}
}

// A whole backup that is killed before it has its name leaves no file that could be taken for one. What it wrote is named as left over, and the
// next backup is not hindered by it.
func TestWholeBackupCrash(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	r.say("say kept")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	dies(t, "TestWholeBackupCrashChild", "whole.written", backedUpOfChild+"="+home)
	if list, err := daemon.Backups(home); err != nil || len(list) != 0 {
		t.Errorf("backups %+v, %v", list, err)
	}
	left, err := daemon.Leftovers(home)
	if err != nil || len(left) != 2 || !strings.HasSuffix(left[0], sqlite.Unfinished) || !strings.HasPrefix(filepath.Base(left[1]), sqlite.Scratch) {
		t.Errorf("left over: %q, %v", left, err)
	}
	r = start(t, home)
	w := r.saved(daemon.WholeOptions{})
	if err := r.stop(); err != nil || w.Database.Turns != 1 {
		t.Errorf("the next backup has %d turns, %v", w.Database.Turns, err)
	}
}

// TestWholeBackupCrashChild is the backup that dies.
func TestWholeBackupCrashChild(t *testing.T) {
	home := os.Getenv(backedUpOfChild)
	if home == "" {
		t.Skip("TestWholeBackupCrash runs it")
	}
	_, err := daemon.SaveWhole(t.Context(), home, daemon.WholeOptions{})
	t.Errorf("it lives: %v", err)
}
