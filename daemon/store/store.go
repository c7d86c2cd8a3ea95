// Package store is hob's state in one SQLite file: one writer goroutine whose waiting
// closures share a commit, a small pool of readers, and one method for each transaction.
// It decides nothing: rules over rows stand in CHECK and UNIQUE constraints or in the
// pure packages. Only package daemon imports it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"modernc.org/sqlite" // the driver

	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/ident"
)

// Oldest SQLite that does not lose rows at a WAL reset.
const oldestSQLite = "3.51.3"

// Errors of Open.
var (
	ErrLocked  = errors.New("another hob is running with this home")
	ErrNewer   = errors.New("the database was written by a newer hob")
	ErrCorrupt = errors.New("the database is damaged")
	ErrNetwork = errors.New("the home is on a network file system")
)

// Options of a store.
type Options struct {
	Dir     string // the state folder; made when missing
	Version string // of hob, for the boots table
	Clock   clock.Clock
	IDs     ident.Source
	Zone    func() string          // the owner's zone by IANA name, read at each use
	Owner   func() []event.Address // the owner's addresses, first one first, read at each use
	Policy  func() Policy          // limits from the config, read at each use
}

// Policy holds the limits that the store applies inside its transactions.
type Policy struct {
	MaxAttempts  int           // claims of one turn before it is dead-lettered
	SafeAfter    int           // unclean ends within SafeWindow
	SafeWindow   time.Duration //
	PerDayMicros int64         // hard cap in money; 0: none
	PerDayTokens int64         // hard cap in tokens where no price is known; 0: none
}

// Store is the open database. Its methods are safe for concurrent use; each is one transaction.
type Store struct {
	opt   Options
	read  *sql.DB
	write *writer
	lock  *os.File
	bells bells
	epoch int64
	boot  Boot
}

// Open locks the state folder, opens or makes the database, migrates it and begins a new epoch.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	if err := refuseNetwork(o.Dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(o.Dir, "hob.lock"))
	if err != nil {
		return nil, err
	}
	s := &Store{opt: o, lock: lock}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(plain(err), s.abandon())
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	path := filepath.Join(s.opt.Dir, "hob.db")
	if err := private(path); err != nil {
		return err
	}
	db, err := openDB(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(4194304)"+darwinSync())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.write = newWriter(ctx, db, s)
	if err := checkVersion(ctx, db); err != nil {
		return err
	}
	if err := migrate(ctx, db, path); err != nil {
		return err
	}
	s.read, err = openDB(path, "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	s.read.SetMaxOpenConns(4)
	s.write.start()
	return s.begin(ctx)
}

// private makes an empty database file that only the owner can read, before SQLite opens it; its log inherits the mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- the state folder's own file
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	fail.Point("database.created")
	return f.Close()
}

// openDB opens a database file by its path, whatever characters that has.
func openDB(path, query string) (*sql.DB, error) {
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

func darwinSync() string {
	if runtime.GOOS != "darwin" {
		return ""
	}
	return "&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)"
}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var v string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&v); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if older(v, oldestSQLite) {
		return fmt.Errorf("SQLite %s is too old: %s is the oldest that keeps all rows", v, oldestSQLite)
	}
	return nil
}

func older(v, than string) bool {
	var a, b [3]int
	_, err := fmt.Sscanf(v, "%d.%d.%d", &a[0], &a[1], &a[2])
	_, err2 := fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	if err != nil || err2 != nil {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// Codes of SQLite that mean a damaged file (sqlite3.h: SQLITE_CORRUPT, SQLITE_NOTADB).
const (
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteNotADB   = 26
	sqliteReadOnly = 8
	sqliteCantOpen = 14
)

// plain names the kind of an error of the driver.
func plain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqliteCorrupt, sqliteNotADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqliteFull:
		return &event.Fault{Kind: event.Unavailable, Text: "the disk is full: nothing was stored", Hint: "free some space; hob goes on by itself", Err: err}
	case sqliteReadOnly, sqliteCantOpen:
		return &event.Fault{Kind: event.Unavailable, Text: "the database cannot be written", Hint: "check the rights of the state folder", Err: err}
	default:
		return err
	}
}

// Epoch is the number of this start.
func (s *Store) Epoch() int64 { return s.epoch }

// Close ends the epoch cleanly and releases the lock. All writers must have ended.
func (s *Store) Close(ctx context.Context) error {
	err := s.Write(ctx, func(tx *Tx) error {
		return tx.exec("UPDATE boots SET clean = 1 WHERE epoch = ?", s.epoch)
	})
	return errors.Join(err, s.abandon())
}

// abandon closes what is open without marking the boot clean.
func (s *Store) abandon() error {
	var errs []error
	if s.write != nil {
		errs = append(errs, s.write.stop())
	}
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// now is the wall time of a transaction.
func (s *Store) now() time.Time { return s.opt.Clock.Wall() }
