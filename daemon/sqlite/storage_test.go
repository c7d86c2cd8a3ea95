package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// must opens a database that is closed with the test.
func must(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func put(t *testing.T, d *sqlite.DB, name string) {
	t.Helper()
	if err := d.Write(t.Context(), add(name)); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

// R5: nothing is acknowledged once the database or its log is no longer the file that was opened; what was acknowledged before is in a copy.
func TestFilesThatAreGone(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"log deleted":       func(path string) error { return os.Remove(path + "-wal") },
		"database deleted":  os.Remove,
		"database replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
		"database moved":    func(path string) error { return os.Rename(path, path+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "hob.db")
			d := must(t, dir)
			put(t, d, "before")
			signal := d.Wait(sqlite.SignalStorage)
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				err := d.Write(t.Context(), add("after"))
				fault, ok := event.AsFault(err)
				if !ok || fault.Kind != event.Unavailable || !errors.Is(err, sqlite.ErrStorage) || !strings.Contains(fault.Text, "deleted or replaced") {
					t.Fatalf("a write into a file that is gone: %v", err)
				}
			}
			select {
			case <-signal:
			default:
				t.Error("nobody is told")
			}
			s := d.Storage(t.Context())
			if s.Fault == nil || s.Since.IsZero() {
				t.Fatalf("storage %+v", s)
			}
			_, rescued, ok := strings.Cut(s.Fault.Hint, "hob backup restore ")
			if !ok {
				t.Fatalf("the hint names no copy: %s", s.Fault.Hint)
			}
			again := t.TempDir()
			if err := os.Rename(rescued, filepath.Join(again, "hob.db")); err != nil {
				t.Fatal(err)
			}
			if n := count(t, must(t, again)); n != 1 {
				t.Errorf("the copy holds %d rows, want 1", n)
			}
		})
	}
}

// R5: when only the log was lost, what was acknowledged is in the database at the next start.
func TestALostLogIsWrittenBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hob.db")
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "before")
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if s := d.Storage(t.Context()); s.Fault == nil { // a look is enough
		t.Fatal("it is not seen")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, must(t, dir)); n != 1 {
		t.Errorf("the database holds %d rows, want 1", n)
	}
}

// R5: files that come back are those that were opened.
func TestFilesThatComeBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hob.db")
	d := must(t, dir)
	put(t, d, "a")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), add("b")); err == nil {
		t.Fatal("acknowledged")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	put(t, d, "c")
	if s := d.Storage(t.Context()); s.Fault != nil {
		t.Errorf("storage %+v", s)
	}
}
