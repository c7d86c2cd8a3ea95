package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func files(texts ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i, text := range texts {
		m[fmt.Sprintf("%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

const first = "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE CHECK (name <> 'bad')) STRICT"

func open(t *testing.T, dir string, migrations fstest.MapFS) (*sqlite.DB, error) {
	t.Helper()
	return sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "hob.db"), Migrations: migrations, Now: time.Now})
}

func fresh(t *testing.T) *sqlite.DB {
	t.Helper()
	return must(t, t.TempDir())
}

func add(name string) func(*sqlite.Conn) error {
	return func(tx *sqlite.Conn) error { return tx.Run("INSERT INTO things (name) VALUES (?)", name) }
}

func count(t *testing.T, d *sqlite.DB) int {
	t.Helper()
	var n int
	if err := d.Reader().QueryRowContext(context.Background(), "SELECT count(*) FROM things").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Closures share commits; what one of them does wrong undoes nobody else's work.
func TestGroupCommit(t *testing.T) {
	d := fresh(t)
	const producers, each = 64, 10
	ours := errors.New("mine")
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%d-%d", p, i)
				var want error
				f := add(name)
				switch {
				case i == 3:
					want, f = ours, func(tx *sqlite.Conn) error { return errors.Join(add(name)(tx), ours) }
				case i == 5:
					want, f = sys.ErrPanic, func(tx *sqlite.Conn) error {
						if err := add(name)(tx); err != nil {
							return err
						}
						panic("oh")
					}
				case i == 7:
					f = func(tx *sqlite.Conn) error { return errors.Join(add(name)(tx), add("bad")(tx)) }
				}
				err := d.Write(context.Background(), f)
				if i == 7 && err == nil || i != 7 && !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, d); n != producers*(each-3) {
		t.Errorf("%d rows, want %d", n, producers*(each-3))
	}
}

// A write waits for its commit also when its context ends meanwhile; one that has not begun with an ended context does nothing.
func TestWriteWaitsForTheCommit(t *testing.T) {
	d := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Write(ctx, func(tx *sqlite.Conn) error {
		cancel()
		return add("kept")(tx)
	})
	if err != nil || count(t, d) != 1 {
		t.Errorf("%v, %d rows", err, count(t, d))
	}
	if err := d.Write(ctx, add("never")); !errors.Is(err, context.Canceled) || count(t, d) != 1 {
		t.Errorf("%v, %d rows", err, count(t, d))
	}
}

// A write that has been acknowledged is visible to readers at once, and its signal has been sent or will be.
func TestSignals(t *testing.T) {
	d := fresh(t)
	signal, other := d.Wait(sqlite.SignalInbox), d.Wait(sqlite.SignalOutbox)
	err := d.Write(t.Context(), func(tx *sqlite.Conn) error {
		tx.Wake(sqlite.SignalInbox)
		select {
		case <-signal:
			t.Error("it rang before the commit")
		default:
		}
		return add("x")(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	<-signal
	signal = d.Wait(sqlite.SignalInbox)
	err = d.Write(t.Context(), func(tx *sqlite.Conn) error {
		tx.Wake(sqlite.SignalInbox | sqlite.SignalOutbox)
		return errors.New("no")
	})
	if err == nil {
		t.Fatal("no error")
	}
	if err := d.Write(t.Context(), add("y")); err != nil { // whatever the failed one rang would ring now
		t.Fatal(err)
	}
	for _, c := range []<-chan struct{}{signal, other} {
		select {
		case <-c:
			t.Error("a signal rang for a write that failed, or of another kind")
		default:
		}
	}
}

func TestCloseWhileWriting(t *testing.T) {
	dir := t.TempDir()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	var acked sync.Map
	var wg sync.WaitGroup
	started := make(chan struct{}, 8)
	for p := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d", p, i)
				err := d.Write(context.Background(), add(name))
				if errors.Is(err, sqlite.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				acked.Store(name, true)
				if i == 2 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
	d, err = open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // read only
	acked.Range(func(name, _ any) bool {
		var n int
		if err := d.Reader().QueryRowContext(context.Background(), "SELECT count(*) FROM things WHERE name = ?", name).Scan(&n); err != nil || n != 1 {
			t.Errorf("%v was acknowledged and is there %d times (%v)", name, n, err)
		}
		return true
	})
}

func TestReadersCannotWrite(t *testing.T) {
	d := fresh(t)
	if err := d.Reader().QueryRowContext(t.Context(), "INSERT INTO things (name) VALUES ('x') RETURNING id").Scan(new(int)); err == nil {
		t.Error("a reader wrote")
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := open(t, dir, files(first)); !errors.Is(err, sqlite.ErrLocked) || second != nil {
		t.Errorf("a second one: %v", err)
	}
	if err := d.Write(t.Context(), add("still fine")); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = open(t, dir, files(first))
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	dir := t.TempDir()
	d, err := open(t, dir, files(first))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // read only
	for _, name := range []string{"hob.db", "hob.db-wal", "hob.lock"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space", "q?x=1", "h#ash", "per%41cent", "ümlaut", "a;b&c"} {
		dir := filepath.Join(t.TempDir(), name)
		d, err := open(t, dir, files(first))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "hob.db")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(d.Write(t.Context(), add("x")), d.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedFile(t *testing.T) {
	garbage := bytes.Repeat([]byte("this is no database "), 1000)
	torn := func(t *testing.T) []byte {
		dir := t.TempDir()
		d, err := open(t, dir, files(first, "CREATE INDEX i ON things (name, id)"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Write(t.Context(), add("x")), d.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "hob.db"))
		if err != nil {
			t.Fatal(err)
		}
		for i := 100; i < 4096; i++ {
			b[i] = 0xa5 // the schema's page
		}
		return b
	}(t)
	for name, content := range map[string][]byte{"garbage": garbage, "torn": torn} {
		dir := t.TempDir()
		path := filepath.Join(dir, "hob.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, dir, files(first)); !errors.Is(err, sqlite.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the damaged file was changed (%v)", name, err)
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	d, err := open(t, dir, files(first, "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir, files(first)); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("%v, want ErrNewer", err)
	}
}

// The database from before a migration is kept among the backups; a migration that fails changes nothing.
func TestMigration(t *testing.T) {
	dir := t.TempDir()
	steps := []string{first, "ALTER TABLE things ADD COLUMN note TEXT NOT NULL DEFAULT 'old'", "CREATE TABLE late (id INTEGER PRIMARY KEY) STRICT"}
	for n := 1; n <= len(steps); n++ {
		d, err := open(t, dir, files(steps[:n]...))
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		if err := errors.Join(d.Write(t.Context(), add(fmt.Sprint("row ", n))), d.Close()); err != nil {
			t.Fatal(err)
		}
		if list, err := sqlite.ListBackups(sqlite.BackupFolder(dir)); err != nil || len(list) != n-1 || n > 1 && list[0].Upgrade == 0 {
			t.Errorf("after step %d: copies %v, %v", n, list, err)
		}
	}
	list, err := sqlite.ListBackups(sqlite.BackupFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	copied := list[slices.IndexFunc(list, func(f sqlite.BackupFile) bool { return f.Upgrade == 2 })].Path
	if sum, err := sqlite.CheckDigest(copied); err != nil || sum == "" {
		t.Errorf("the copy's digest: %q, %v", sum, err)
	}
	rows, version := looked(t, copied)
	if rows != 2 || version != 2 {
		t.Errorf("the copy has %d rows at version %d, want what was there before the last step", rows, version)
	}
	if _, err := open(t, dir, files(append(steps, "CREATE TABLE later (id INTEGER) STRICT; INSERT INTO nowhere VALUES (1)")...)); err == nil {
		t.Fatal("a wrong migration went through")
	}
	if rows, version := looked(t, filepath.Join(dir, "hob.db")); rows != 3 || version != 3 {
		t.Errorf("a failed migration left %d rows at version %d", rows, version)
	}
	gap := fstest.MapFS{"0001_a.sql": {Data: []byte(first)}, "0003_b.sql": {Data: []byte("SELECT 1")}}
	if _, err := open(t, t.TempDir(), gap); err == nil {
		t.Error("a gap in the numbers was not noticed")
	}
}

func looked(t *testing.T, path string) (rows, version int) {
	t.Helper()
	c, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // read only
	if err := errors.Join(c.QueryRowContext(t.Context(), "SELECT count(*) FROM things").Scan(&rows), c.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version)); err != nil {
		t.Fatal(err)
	}
	return rows, version
}

func TestCopyWhileWriting(t *testing.T) {
	d := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := d.Write(context.Background(), func(tx *sqlite.Conn) error {
				return errors.Join(add(fmt.Sprint("a", i))(tx), add(fmt.Sprint("b", i))(tx))
			}); err != nil {
				t.Errorf("write: %v", err)
			}
		}
	})
	for i := range 5 {
		to := filepath.Join(t.TempDir(), "copy.db")
		if err := d.Backup(t.Context(), to); err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		if rows, _ := looked(t, to); rows%2 != 0 {
			t.Errorf("copy %d has half a transaction: %d rows", i, rows)
		}
	}
	cancel()
	wg.Wait()
}

func TestTimes(t *testing.T) {
	for _, tm := range []time.Time{{}, time.UnixMicro(1), time.Date(2026, 11, 21, 8, 0, 0, 123456000, time.UTC)} {
		if got := sqlite.Time(sqlite.Micros(tm)); !got.Equal(tm) {
			t.Errorf("%v became %v", tm, got)
		}
	}
}
