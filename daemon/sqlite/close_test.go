package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/sqlite"
)

// used opens a database in dir and uses each kind of connection: the writer, a reader, and the one for snapshots.
func used(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), add("one")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, d); n != 1 {
		t.Fatalf("%d rows, want 1", n)
	}
	var n int
	if err := d.View(t.Context(), func(tx *sqlite.Conn) error { return tx.One("SELECT count(*) FROM things", nil, &n) }); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
	return d
}

// TestCloseLeavesOneFile: after a clean end all rows are in the database, so that nobody who copies that file misses any, and the next start reads no log.
func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	if err := used(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Lstat(filepath.Join(dir, "hob.db"+end)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("hob.db%s is still there after Close: %v", end, err)
		}
	}
	if n := count(t, must(t, dir)); n != 1 {
		t.Errorf("%d rows after Close, want 1", n)
	}
}
