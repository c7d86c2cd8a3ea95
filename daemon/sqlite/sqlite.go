// Package sqlite opens one SQLite file. One goroutine writes: closures that wait at the same time share a commit. A small pool of readers
// sees committed data. After a commit, signals wake the goroutines that wait for its rows. The package also runs migrations, backup and
// restore. It knows no table.
//
// A write takes this way: DB.Write puts a closure into the writer's queue; the writer gathers all waiting closures, runs each in a
// savepoint of one transaction, commits, tells the callers, and sends the signals (writer.go). storage.go tracks whether commits work, and
// rescues the data if the files are deleted.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"modernc.org/sqlite" // the driver

	"hob/daemon/event"
	"hob/daemon/fail"
)

// oldestSQLite is the oldest version that does not lose rows at a WAL reset.
const oldestSQLite = "3.51.3"

// Errors of Open.
var (
	ErrLocked  = errors.New("another hob is running with this home")
	ErrNewer   = errors.New("the database was written by a newer hob")
	ErrCorrupt = errors.New("the database is damaged")
	ErrNetwork = errors.New("the home is on a network file system")
)

// Options configure a database.
type Options struct {
	Path       string                  // of the file; its folder is created if missing, and locked
	Migrations fs.FS                   // numbered .sql files
	Lost       func(what string) error // called when the file "is missing" or "is empty"; an error forbids a new database; nil: allowed
	Now        func() time.Time
	Log        *slog.Logger               // nil: no log
	Upgrade    func(Upgrade) (end func()) // called before an older database is upgraded, which may take long; nil: not
	Prepared   func(query string)         // called for each statement at its first use on a connection; nil: not

	// Derived is a database that can be made anew from other files: it takes no lock, because the lock of the home's database covers it, keeps
	// no copy before a migration, and may lose its last commits, but no more, when the power fails. Its user logs what cannot be stored.
	Derived bool

	staged bool // a copy in a folder of its own: it is migrated in place
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct {
	path    string
	now     func() time.Time
	read    *Readers
	write   *writer
	lock    *os.File
	signals signals
	counts  counts
	lost    int // see LostCommits
}

// Open locks the folder, opens or creates the database, and migrates it.
func Open(ctx context.Context, o Options) (*DB, error) {
	dir := filepath.Dir(o.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	if err := refuseNetwork(dir); err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	d := &DB{path: o.Path, now: o.Now}
	if !o.Derived {
		lock, err := takeLock(filepath.Join(dir, "hob.lock"))
		if err != nil {
			return nil, err
		}
		d.lock = lock
		// A second name of the database among the backups does no harm until the next restore, which tries again.
		if err := forgetLinks(o.Path, BackupFolder(dir)); err != nil {
			o.Log.Warn("the backup folder cannot be read", "err", err)
		}
	}
	d.counts.prepared = o.Prepared
	if err := d.start(ctx, o); err != nil {
		return nil, errors.Join(Plain(err), d.Close())
	}
	return d, nil
}

// OpenFull opens a database for reading on a full disk, which has no room for the files beside it that Open makes. Nobody may write it meanwhile. Its own writes
// fail with ErrFull, and so does OpenFull if the database is not whole without its log.
func OpenFull(o Options) (*DB, error) {
	if sizeOf(o.Path) == 0 || sizeOf(o.Path+"-wal") > 0 {
		return nil, fullFault()
	}
	d := &DB{path: o.Path, now: o.Now}
	readers, err := open(o.Path, "mode=ro&immutable=1&_pragma=cache_size(-96)&_pragma=query_only(1)")
	d.read = &Readers{db: readers, counts: &d.counts, kept: map[string]*sql.Stmt{}}
	return d, err
}

// ReadOnly reports whether OpenFull opened the database.
func (d *DB) ReadOnly() bool { return d.write == nil }

// start opens the database: it begins the files, opens the only writing connection, checks SQLite's version, migrates the schema and opens
// the connections for reading. The writer starts last.
func (d *DB) start(ctx context.Context, o Options) error {
	if err := createFile(d.path, o.Lost); err != nil {
		return err
	}
	if err := checkHead(d.path); err != nil {
		return err
	}
	lost, err := lostCommits(d.path + "-wal")
	if err != nil {
		return err
	}
	d.lost = lost
	db, err := d.openWriter(ctx, o)
	if err != nil {
		return err
	}
	d.write = newWriter(ctx, db, d, o)
	// mode=ro and query_only: a statement that writes fails on these connections.
	readers, err := open(d.path, "mode=ro&_pragma=cache_size(-96)&_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	connections := 3 // one of them for snapshots
	if o.Derived {
		connections = 2
	}
	readers.SetMaxOpenConns(connections)
	readers.SetMaxIdleConns(connections)
	d.read = &Readers{db: readers, counts: &d.counts, kept: map[string]*sql.Stmt{}}
	if err := d.write.start(); err != nil {
		return err
	}
	// Each connection reads the schema when it is opened, 2 ms. The first one does so while the caller's first commit waits for the disk. Queries wait
	// for it, because each would open another one.
	d.read.first.Add(1)
	d.Once("first reader", func() error {
		defer d.read.first.Done()
		conn, err := readers.Conn(d.write.ctx)
		if err != nil {
			return nil //nolint:nilerr // the first query fails in the same way and has a caller
		}
		return conn.Close()
	})
	return nil
}

// openWriter opens the only connection that writes, to a database with the newest schema.
func (d *DB) openWriter(ctx context.Context, o Options) (*sql.DB, error) {
	// The page caches are small (in KiB), because the kernel caches the file as well: at SQLite's 2 MB for each connection they were most of hob's memory. A
	// reader's cache is dropped with each commit of the writer anyway. Each connection also has the schema and its statements, together about 1 MB.
	// FULL synchronizes every commit: a message that hob has acknowledged survives a power failure. temp_store keeps the journals of
	// savepoints in memory: each would be a file. A log of 8,000 pages, 32 MB, is copied into the database by the commit that finds it; before that, the
	// writer does so in a quiet moment.
	sync := "synchronous(FULL)"
	if o.Derived {
		sync = "synchronous(NORMAL)"
	}
	db, err := open(d.path, "_txlock=immediate&_pragma=cache_size(-256)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma="+sync+"&_pragma=foreign_keys(1)&_pragma=temp_store(2)&_pragma=wal_autocheckpoint(8000)&_pragma=journal_size_limit(4194304)"+darwinSync())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	// A version with the bug is refused before the migration writes anything.
	if err = checkVersion(ctx, db); err == nil {
		// A derived database and a copy are migrated in place: nothing is lost with them.
		err = migrate(ctx, db, o.Migrations, o.Derived || o.staged)
	}
	if err == nil {
		return db, nil
	}
	if err = errors.Join(err, db.Close()); !errors.Is(err, errOlder) {
		return nil, err
	}
	// An older database is replaced as a file, so it is closed for that. Afterwards it is the newest.
	if err := upgrade(ctx, o); err != nil {
		return nil, err
	}
	return d.openWriter(ctx, o)
}

// LostCommits returns how many acknowledged commits are known to be lost, because the log of the process before was damaged when Open read it.
func (d *DB) LostCommits() int { return d.lost }

// Reader returns the pool of readers.
func (d *DB) Reader() *Readers { return d.read }

// Wait returns a channel that the next commit with this signal closes. Call it before reading rows; otherwise a commit in between is
// missed.
func (d *DB) Wait(b Signal) <-chan struct{} { return d.signals.wait(b) }

// Once runs f in a goroutine. Close waits for it.
func (d *DB) Once(name string, f func() error) { d.write.group.Once(name, f) }

// View runs reads over one snapshot.
func (d *DB) View(ctx context.Context, f func(*Conn) error) error {
	return d.read.snapshot(ctx, func(s executor) error { return f(&Conn{on: s, ctx: context.WithoutCancel(ctx), Now: d.now()}) })
}

// Counts says what the database has done since Open.
func (d *DB) Counts() Counts {
	return Counts{Parsed: d.counts.parsed.Load(), Run: d.counts.run.Load(), Commits: d.counts.commits.Load()}
}

// Close serves the queued writes, closes the connections and releases the lock.
func (d *DB) Close() error {
	var errs []error
	// After a failed start, the readers or the writer are missing. The lock goes last, when no connection is open.
	if d.read != nil {
		errs = append(errs, d.read.close())
	}
	if d.write != nil {
		errs = append(errs, d.write.stop())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// createFile creates an empty database file with mode 0600 if there is none. The log inherits the mode. SQLite would delete the log of a missing
// database; createFile renames it to keep its content.
func createFile(path string, lost func(what string) error) error {
	info, err := os.Lstat(path)
	what := "is missing"
	switch {
	case err == nil && info.Size() > 0:
		return nil
	case err == nil:
		what = "is empty"
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("look at the database: %w", err)
	}
	if lost != nil {
		if err := lost(what); err != nil {
			return err
		}
	}
	if sizeOf(path+"-wal") > 0 {
		if err := os.Rename(path+"-wal", path+".lost-wal"); err != nil {
			return fmt.Errorf("keep the log of a lost database: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- the state folder's own file
	if err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	fail.Point("database.created")
	return errors.Join(f.Chmod(0o600), f.Close())
}

// open opens a database file. The path may contain any characters.
func open(path, query string) (*sql.DB, error) {
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

// darwinSync returns the options that make macOS write through to the disk.
func darwinSync() string {
	if runtime.GOOS != "darwin" {
		return ""
	}
	return "&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)"
}

// checkVersion refuses versions of SQLite with a bug that loses rows.
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

// older compares two versions. A version that cannot be parsed is not older.
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

// Primary result codes of SQLite (sqlite.org/rescode.html).
const (
	sqliteError    = 1
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteNotADB   = 26
	sqliteReadOnly = 8
	sqliteCantOpen = 14
)

// sqliteNoRoom is the extended code SQLITE_IOERR_SHMSIZE: the file that connections share, which each opening makes, does not fit on the disk.
const sqliteNoRoom = 4874

// What people read about a full disk.
const textFull, hintFull = "the disk is full: nothing was stored", "free some space"

// fullFault is the error of a write on a full disk.
func fullFault() *event.Fault {
	return &event.Fault{Kind: event.Unavailable, Text: textFull, Hint: hintFull, Err: ErrFull}
}

// Misfit reports whether a statement does not fit the tables of a database: they are those of another version.
func Misfit(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqliteError
}

// Plain turns an error of the driver into a fault with a sentence and a hint.
func Plain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	f := &event.Fault{Kind: event.Unavailable, Err: fmt.Errorf("%w: %w", ErrStorage, err)}
	// The low byte of an extended result code is the primary one.
	code := e.Code() & 0xff
	if e.Code() == sqliteNoRoom {
		code = sqliteFull
	}
	switch code {
	case sqliteCorrupt, sqliteNotADB:
		f.Text, f.Hint = ErrCorrupt.Error(), "stop hob; then hob backup list and hob backup restore PATH"
		f.Err = fmt.Errorf("%w: %w", ErrCorrupt, f.Err)
	case sqliteFull:
		f.Err = fmt.Errorf("%w: %w", ErrFull, f.Err)
		f.Text, f.Hint = textFull, hintFull
	case sqliteIOErr:
		f.Err = fmt.Errorf("%w: %w", ErrIO, f.Err)
		f.Text, f.Hint = "the disk fails: it cannot be written or read", "check the disk and the system's log; hob backup restore PATH replaces the database by a backup"
	case sqliteReadOnly, sqliteCantOpen:
		f.Text, f.Hint = "the database cannot be written", "check the permissions of the state folder"
	default:
		return err
	}
	return f
}
