// Package storetest opens stores for tests quickly: a new database is a copy of one that was migrated once in this process, and a commit
// does not wait for the disk. Commits survive if the test process is killed. Only a power cut could lose them, which no test simulates.
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driversqlite "modernc.org/sqlite"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// prepared holds the databases that Prepare has seen, as the driver names them.
var prepared sync.Map

// statements holds the texts of all statements that stores of this process have used.
var statements sync.Map

// record keeps the text of a statement that the product uses. The statements of tests themselves do not count: the first frame outside of the
// database's package tells whose it is.
func record(query string) {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "hob/daemon/sqlite.") {
			continue
		}
		if !strings.HasSuffix(f.File, "_test.go") {
			statements.Store(query, true)
		}
		return
	}
}

// Statements returns the texts of all statements of the product that the stores opened here have used so far.
func Statements() (list []string) {
	statements.Range(func(query, _ any) bool {
		if text, ok := query.(string); ok {
			list = append(list, text)
		}
		return true
	})
	slices.Sort(list)
	return list
}

// hurry lets commits to a prepared database return before they are on the disk.
func hurry(c driversqlite.ExecQuerierContext, dsn string) error {
	name, _, _ := strings.Cut(dsn, "?")
	if _, ok := prepared.Load(name); !ok {
		return nil
	}
	_, err := c.ExecContext(context.Background(), "PRAGMA synchronous = OFF", nil)
	return err
}

// template returns the file of a migrated database without rows.
var template = sync.OnceValues(func() (file []byte, err error) {
	driversqlite.RegisterConnectionHook(hurry)
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	migrations := store.Migrations()
	path := filepath.Join(dir, "hob.db")
	d, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrations: migrations, Now: time.Now})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path) // #nosec G304 -- made above
})

// Prepare puts a migrated database without rows into a state folder that has none. The folder is made when missing.
func Prepare(t testing.TB, dir string) {
	t.Helper()
	file, err := template()
	if err != nil {
		t.Fatalf("migrate a database: %v", err)
	}
	path := filepath.Join(dir, "hob.db")
	prepared.Store((&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), true)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Open opens the store of a state folder, and creates it if necessary. change may change the options. The defaults are the system's clock,
// random ids, UTC, an owner without an address, and three attempts for a turn. The store is closed by the caller.
func Open(t testing.TB, dir string, change ...func(*store.Options)) *store.Store {
	t.Helper()
	Prepare(t, dir)
	o := store.Options{
		Dir: dir, Version: "test", Clock: sys.RealClock(), IDs: sys.RandomIDs(), Zone: func() string { return "UTC" },
		Prepared: record,
		Owner:    func() []event.Address { return nil }, Config: func() store.Config { return store.Config{MaxAttempts: 3} }, Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	return s
}

// Close closes a store that a test has opened.
func Close(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("close the store: %v", err)
	}
}

// Fresh opens a new store that is closed when the test ends.
func Fresh(t testing.TB, change ...func(*store.Options)) *store.Store {
	t.Helper()
	s := Open(t, t.TempDir(), change...)
	t.Cleanup(func() { Close(t, s) })
	return s
}
