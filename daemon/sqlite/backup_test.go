package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"hob/daemon/sqlite"
)

// A copy holds one state of the database, although commits go on while its pages are copied.
func TestBackupBesideWrites(t *testing.T) {
	d, err := open(t, t.TempDir(), files(first, second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = d.Write(t.Context(), func(tx *sqlite.Conn) error { // more pages than one step copies
		return errors.Join(tx.Run("CREATE TABLE pairs (a INTEGER, b INTEGER, pad BLOB)"), tx.Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) INSERT INTO pairs SELECT 0, 0, zeroblob(3000) FROM n"))
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { // each commit changes a row at the beginning and one at the end
		for {
			select {
			case <-stop:
				return
			default:
			}
			err := d.Write(t.Context(), func(tx *sqlite.Conn) error {
				return errors.Join(tx.Run("UPDATE pairs SET a = a + 1 WHERE rowid = 1"), tx.Run("UPDATE pairs SET b = b + 1 WHERE rowid = 8000"))
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	to := filepath.Join(t.TempDir(), "copy.db")
	err = d.Backup(t.Context(), to)
	close(stop)
	group.Wait()
	if err != nil {
		t.Fatal(err)
	}
	err = sqlite.Examine(t.Context(), to, files(first, second), func(tx *sqlite.Conn) error {
		var a, b, rows int
		err := tx.One("SELECT (SELECT a FROM pairs WHERE rowid = 1), (SELECT b FROM pairs WHERE rowid = 8000), (SELECT count(*) FROM pairs)", nil, &a, &b, &rows)
		if a != b || rows != 8000 {
			t.Errorf("the copy has %d, %d and %d rows", a, b, rows)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// asked is a context that calls f whenever somebody asks for its end.
type asked struct {
	context.Context //nolint:containedctx // it is one
	f               func()
}

func (a asked) Done() <-chan struct{} {
	a.f()
	return a.Context.Done()
}

// The disk stores a copy while it is checked: the check waits here until the other side has set the permission bits, which it does before it
// flushes the file.
func TestCheckBesideFlush(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits to wait for")
	}
	d, err := open(t, t.TempDir(), files(first, second))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := errors.Join(d.Backup(t.Context(), to), d.Close(), os.Chmod(to, 0o640)); err != nil { // #nosec G302 -- a temporary file
		t.Fatal(err)
	}
	began, late := time.Now(), sync.Once{}
	sum, err := sqlite.CheckAndSum(asked{t.Context(), func() {
		for info, err := os.Stat(to); err == nil && info.Mode().Perm() != 0o600; info, err = os.Stat(to) {
			if time.Since(began) > time.Minute {
				late.Do(func() { t.Error("the check waits for a minute, and nothing flushes the copy meanwhile") })
				return
			}
			runtime.Gosched()
		}
	}}, to)
	want, recorded := sqlite.RecordedDigest(to)
	if err = errors.Join(err, recorded); err != nil || sum != want {
		t.Errorf("%s, %v, want %s", sum, err, want)
	}
}
