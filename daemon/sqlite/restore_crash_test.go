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

// The variables that name the database and the backup of the restore that dies.
const (
	liveOfChild = "HOB_TEST_LIVE"
	fromOfChild = "HOB_TEST_FROM"
)

// A restore that is killed leaves the old database or the new one, whole; the next one goes through, and keeps the old one as it was.
func TestRestoreCrashes(t *testing.T) {
	for point, want := range map[string]string{
		"restore.copied": "old-1 old-2", "migration": "old-1 old-2", "restore.ready": "old-1 old-2", "database.kept": "old-1 old-2", "restore.aside": "old-1 old-2", "restore.renamed": "new",
	} {
		t.Run(point, func(t *testing.T) {
			from := saved(t, 3)
			live := filled(t, t.TempDir(), files(first, second), "old-1", "old-2")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRestoreCrashChild$") // #nosec G204 G702 -- this very test
			cmd.Env = append(os.Environ(), liveOfChild+"="+live, fromOfChild+"="+from, "HOB_FAIL="+point)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it did not die there: %v\n%s", err, out)
			}
			if got := liveRows(t, live); got != want {
				t.Errorf("killed, it left %q, want %q", got, want)
			}
			d, err := open(t, filepath.Dir(live), files(first, second)) // as the next start of hob does
			if err != nil {
				t.Fatal(err)
			}
			// A second name of the database itself is no copy.
			copies := map[string]int{"new": 1}[want]
			if list, err := sqlite.ListBackups(sqlite.BackupFolder(filepath.Dir(live))); err != nil || len(list) != copies {
				t.Errorf("after the next start: %+v, %v", list, err)
			}
			if err := errors.Join(d.Write(t.Context(), add("later")), d.Close()); err != nil {
				t.Fatal(err)
			}
			old, err := sqlite.Restore(t.Context(), restoreOptions(live), from, renew)
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			if err := sqlite.Examine(t.Context(), old, files(first, second), names(&kept)); err != nil || strings.Join(kept, " ") != want+" later" {
				t.Errorf("the second one kept %q, %v", kept, err)
			}
			if list, err := sqlite.ListBackups(filepath.Dir(old)); err != nil || len(list) != copies+1 {
				t.Errorf("kept: %+v, %v", list, err)
			}
			if left, err := filepath.Glob(filepath.Join(filepath.Dir(old), "*"+sqlite.Unfinished)); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if got := liveRows(t, live); got != "new" {
				t.Errorf("after the second one: %q", got)
			}
		})
	}
}

// renew leaves one row.
func renew(tx *sqlite.Conn) error {
	return errors.Join(tx.Run("DELETE FROM things"), add("new")(tx))
}

// TestRestoreCrashChild is the restore that dies.
func TestRestoreCrashChild(t *testing.T) {
	live := os.Getenv(liveOfChild)
	if live == "" {
		t.Skip("TestRestoreCrashes runs it")
	}
	_, err := sqlite.Restore(t.Context(), restoreOptions(live), os.Getenv(fromOfChild), renew)
	t.Errorf("it lives: %v", err)
}
