//go:build hobtest && unix

package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/sqlite"
)

// An upgrade that is killed leaves the old database or the new one; the next start ends it, and keeps the old one.
func TestUpgradeCrashes(t *testing.T) {
	for point, upgraded := range map[string]bool{
		"upgrade.copied": false, "migration": false, "upgrade.ready": false, "database.kept": false, "upgrade.aside": false, "upgrade.renamed": true,
	} {
		t.Run(point, func(t *testing.T) {
			live := filled(t, t.TempDir(), files(first), "one", "two")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUpgradeCrashChild$") // #nosec G204 G702 -- this very test
			cmd.Env = append(os.Environ(), liveOfChild+"="+live, "HOB_FAIL="+point)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it did not die there: %v\n%s", err, out)
			}
			var rows []string
			err = sqlite.Inspect(t.Context(), live, files(first), names(&rows)) // as the hob of before reads it
			if upgraded != errors.Is(err, sqlite.ErrNewer) || !upgraded && strings.Join(rows, " ") != "one two" {
				t.Errorf("killed, it left %q, %v", rows, err)
			}
			d, err := open(t, filepath.Dir(live), files(first, second))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.Write(t.Context(), add("three")), d.Close()); err != nil {
				t.Fatal(err)
			}
			if got := liveRows(t, live); got != "one two three" {
				t.Errorf("after the next start: %q", got)
			}
			list, err := sqlite.ListBackups(sqlite.BackupFolder(filepath.Dir(live)))
			if err != nil || len(list) != 1 || list[0].Upgrade != 1 {
				t.Fatalf("kept: %+v, %v", list, err)
			}
			rows = nil
			if err := sqlite.Examine(t.Context(), list[0].Path, files(first), names(&rows)); err != nil || strings.Join(rows, " ") != "one two" {
				t.Errorf("the kept one has %q, %v", rows, err)
			}
		})
	}
}

// TestUpgradeCrashChild is the upgrade that dies.
func TestUpgradeCrashChild(t *testing.T) {
	live := os.Getenv(liveOfChild)
	if live == "" {
		t.Skip("TestUpgradeCrashes runs it")
	}
	_, err := open(t, filepath.Dir(live), files(first, second))
	t.Errorf("it lives: %v", err)
}
