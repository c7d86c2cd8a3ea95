package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon"
	"hob/daemon/event"
	"hob/daemon/sys/systest"
)

// livedIn is a home in which a hob has run, and a backup of everything.
func livedIn(t *testing.T) (home, file string) {
	t.Helper()
	home = t.TempDir()
	put(t, "old", home, "workspace", "a.md")
	r := start(t, home)
	file = r.saved(daemon.WholeOptions{}).Path
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	put(t, "new", home, "workspace", "a.md")
	return home, file
}

// cannotWrite expects the fault of a home that cannot be written.
func cannotWrite(t *testing.T, what string, err error) {
	t.Helper()
	f, ok := event.AsFault(err)
	if !ok || !strings.Contains(f.Text, "cannot be written") || !strings.Contains(f.Hint, "--home") {
		t.Errorf("%s: %v, %+v", what, err, f)
	}
}

func yes(daemon.WholeRestore) error { return nil }

func TestRestoreIntoAReadOnlyHome(t *testing.T) {
	home, file := livedIn(t)
	copied := filepath.Join(t.TempDir(), "hob.db")
	text, err := os.ReadFile(filepath.Join(home, "state", "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, string(text), copied)
	undo := systest.ReadOnly(t, filepath.Join(home, "state"))
	cannotWrite(t, "a home", daemon.CheckHome(home))
	_, err = daemon.RestoreLoss(t.Context(), home, daemon.BackupReport{})
	cannotWrite(t, "what is lost", err)
	_, _, err = daemon.RestoreBackup(t.Context(), home, copied)
	cannotWrite(t, "the database", err)
	_, err = daemon.RestoreWhole(t.Context(), home, file, daemon.BackupKey{}, yes)
	cannotWrite(t, "everything", err)
	_, err = daemon.CheckDatabase(t.Context(), home)
	if f, ok := event.AsFault(err); daemon.IsDamage(err) || !ok || f.Hint == "" {
		t.Errorf("the check of a sound database: %v", err)
	}
	undo()
	if err := daemon.CheckHome(home); err != nil {
		t.Error(err)
	}
}

// What cannot be moved is known before the mark of a restore: the home stays as it was.
func TestRestoreOverWhatCannotBeMoved(t *testing.T) {
	home, file := livedIn(t)
	for _, name := range []string{"workspace", "state/artifacts", "."} {
		at := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		undo := systest.ReadOnly(t, at)
		_, err := daemon.RestoreWhole(t.Context(), home, file, daemon.BackupKey{}, yes)
		cannotWrite(t, name, err)
		undo()
		r := start(t, home) // a restore with a mark would go on here
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(filepath.Join(home, "workspace", "a.md")); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A step that fails after the mark says so, and the restore goes on later.
func TestRestoreThatIsHalfWay(t *testing.T) {
	home, file := livedIn(t)
	put(t, "old", home, "state", "restoring-home", "new", "workspace", "a.md")
	put(t, `[{"path":"workspace","new":true,"kept":"x"}]`, home, "state", "restoring-home", "ready.json")
	undo := systest.ReadOnly(t, filepath.Join(home, "workspace"))
	_, err := daemon.RestoreWhole(t.Context(), home, file, daemon.BackupKey{}, yes)
	for what, err := range map[string]error{"a start": fault(t, home), "a restore": err} {
		if f, ok := event.AsFault(err); !ok || !strings.Contains(f.Text, "half-way") || !strings.Contains(f.Hint, "the next start of hob, or the next hob backup restore") {
			t.Errorf("%s: %v, %+v", what, err, f)
		}
	}
	undo()
	r := start(t, home)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(home, "workspace", "a.md")); err != nil || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file that hob may not read is named, and nothing is left out.
func TestBackupOfWhatHobMayNotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	home, _ := livedIn(t)
	put(t, "x", home, "workspace", "deep", "closed")
	closed := filepath.Join(home, "workspace", "deep", "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := daemon.SaveWhole(t.Context(), home, daemon.WholeOptions{Path: to})
	if f, ok := event.AsFault(err); !ok || !strings.Contains(f.Text, "hob may not read workspace/deep/closed") || !strings.Contains(f.Hint, "chmod") {
		t.Errorf("%v, %+v", err, f)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("there is a backup")
	}
}
