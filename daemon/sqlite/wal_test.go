package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sqlite"
)

// V12: SQLite stops reading a log at its first damaged frame and says nothing. The commits after it are counted: each flipped byte of a log either
// costs nothing, or at most the last commit, or is known.
func TestCommitsThatADamagedLogCosts(t *testing.T) {
	const commits = 12
	live := t.TempDir()
	d, err := open(t, live, files(first))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // read only from here on
	for i := range commits {
		if err := d.Write(t.Context(), add(strings.Repeat("x", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.ReadFile(filepath.Join(live, "hob.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(filepath.Join(live, "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	// opened opens a copy as a killed process left it, and returns how many rows it has, and how many commits are known to be lost.
	opened := func(log []byte) (rows, lost int) {
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "hob.db"), base, 0o600), os.WriteFile(filepath.Join(dir, "hob.db-wal"), log, 0o600)); err != nil {
			t.Fatal(err)
		}
		c, err := open(t, dir, files(first))
		if err != nil {
			return -1, 0 // what the damage has left cannot be opened, which nobody overlooks
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		return count(t, c), c.LostCommits()
	}
	if rows, lost := opened(log); rows != commits || lost != 0 {
		t.Fatalf("whole: %d rows, %d lost", rows, lost)
	}
	if rows, lost := opened(append(log[:len(log):len(log)], make([]byte, 100)...)); rows != commits || lost != 0 {
		t.Errorf("with the beginning of a frame after it: %d rows, %d lost", rows, lost)
	}
	known := 0
	for at := 32; at < len(log); at += 611 { // a prime: every part of a frame is met
		bad := append([]byte(nil), log...)
		bad[at] ^= 0x10
		rows, lost := opened(bad)
		if rows < 0 {
			continue
		}
		if missing := commits - rows; missing > 1 && lost < min(missing-1, 1) || lost > missing {
			t.Errorf("a bit at %d: %d of %d rows are missing, and %d are known to be", at, missing, commits, lost)
		}
		known += min(lost, 1)
	}
	if known == 0 {
		t.Error("no damage was known")
	}
}

// A database that is whole by itself has all its pages.
func TestAShortDatabaseIsDamaged(t *testing.T) {
	dir := t.TempDir()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Write(t.Context(), add("x")), d.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hob.db")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-100); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir, files(first)); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("it opens: %v", err)
	}
}
