//go:build hobtest && unix

package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon"
)

// The variables that name the home and the backup of the restore that dies, and the home of the backup that dies.
const (
	restoredOfChild = "HOB_TEST_RESTORED"
	backupOfChild   = "HOB_TEST_BACKUP"
	backedUpOfChild = "HOB_TEST_BACKED_UP"
)

// A restore that is killed leaves the whole old home or the whole new one, from the next start on.
func TestWholeRestoreCrashes(t *testing.T) {
	source := t.TempDir()
	put(t, "new", source, "workspace", "a.md")
	write(t, source, "[owner]\nname = \"New\"\n")
	r := start(t, source)
	r.say("say new")
	w := r.saved(daemon.WholeOptions{})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for point, replaced := range map[string]bool{
		"whole.extracted": false, "whole.ready": false, "whole.marked": true, "whole.moved:1": true, "whole.moved:3": true, "whole.moved:4": true, "whole.moved:6": true,
	} {
		t.Run(point, func(t *testing.T) {
			home := t.TempDir()
			put(t, "old", home, "workspace", "a.md")
			write(t, home, "[owner]\nname = \"Old\"\n")
			r := start(t, home)
			r.say("say old")
			r.say("say older")
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			dies(t, "TestWholeRestoreCrashChild", point, restoredOfChild+"="+home, backupOfChild+"="+w.Path)
			r = start(t, home)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			want, turns := map[bool]string{true: "new", false: "old"}[replaced], map[bool]int64{true: 1, false: 2}[replaced]
			text, err := os.ReadFile(filepath.Join(home, "workspace", "a.md"))
			if err != nil || string(text) != want {
				t.Errorf("the workspace is %q, %v, want %q", text, err, want)
			}
			if report, err := daemon.CheckDatabase(t.Context(), home); err != nil || report.Turns != turns {
				t.Errorf("the database: %+v, %v, want %d turns", report, err, turns)
			}
			if _, err := os.Stat(filepath.Join(home, "state", "restoring-home")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the stage is left: %v", err)
			}
		})
	}
}

// TestWholeRestoreCrashChild is the restore that dies.
func TestWholeRestoreCrashChild(t *testing.T) {
	home := os.Getenv(restoredOfChild)
	if home == "" {
		t.Skip("TestWholeRestoreCrashes runs it")
	}
	_, err := daemon.RestoreWhole(t.Context(), home, os.Getenv(backupOfChild), daemon.BackupKey{}, func(daemon.WholeRestore) error { return nil })
	t.Errorf("it lives: %v", err)
}
