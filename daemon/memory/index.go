package memory

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

//go:embed schema
var schema embed.FS

// restAfter is how long the database stays open after its last use. Its connections are a tenth of hob's memory at rest.
const restAfter = 30 * time.Second

// Why an index is not used.
var (
	errStale = errors.New("the index is of another version")
	errOther = errors.New("the index is of another database, or what was removed there may still be in it")
)

// Index is the index of the memory. It is safe for concurrent use. New opens nothing; each method opens the database when it needs it.
type Index struct {
	o      Options
	ctx    context.Context //nolint:containedctx // ends with Close; a sync outlives the search that began it
	cancel context.CancelFunc
	group  *sys.Group

	mu    sync.Mutex // guards the following
	db    *sqlite.DB // nil: closed
	users int        // running uses of db
	rest  *time.Timer
	run   *run   // the sync that runs; nil: none
	seen  string // digest of the files at the last complete sync; "": unknown
	last  Synced
	done  bool // Close was called

	history   history
	counts    *counts
	seed      maphash.Seed // of the digests of listings
	fault     error        // why the last try to make vectors failed; guarded by mu
	embedding atomic.Bool  // vectors are being made
	watching  atomic.Bool  // the system reports changes of files
	dirty     atomic.Bool  // it has reported one since the last sync
	logged    logged
}

// New makes an index. ctx only passes its values on: Close ends the index.
func New(ctx context.Context, o Options) *Index {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Origin == nil {
		o.Origin = func(context.Context) (string, error) { return "", nil }
	}
	x := &Index{o: o, group: sys.NewGroup(o.Log, nil), seed: maphash.MakeSeed(), history: history{turn: make(chan struct{}, 1)}, counts: &counts{}}
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return x
}

// Close ends a sync that runs, and closes the database.
func (x *Index) Close() error {
	x.mu.Lock()
	x.done = true
	x.mu.Unlock()
	x.cancel()
	x.group.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return closeNow(x)
}

// closeNow closes the database. The caller holds the lock.
func closeNow(x *Index) error {
	db := x.db
	x.counts.forget()
	if x.db = nil; db == nil {
		return nil
	}
	return db.Close()
}

// openTries is how often the database is opened, and used, while another process makes it anew, which takes a moment.
const openTries = 6

// use calls f with the open database. An index that turns out to be damaged or of another version is thrown away, and f called again with an
// empty one: its files are read again at the next sync. One that another process has replaced is opened again.
func (x *Index) use(ctx context.Context, f func(*sqlite.DB) error) (err error) {
	for n := range openTries {
		if err = refused(x.o.Path, x.once(ctx, f)); !useless(err) {
			x.logged.warn(x.o, err)
			return err
		}
		if err := x.discard(!errors.Is(err, sqlite.ErrMoved) && (n > 0 || !errors.Is(err, sqlite.ErrIO))); err != nil {
			err = refused(x.o.Path, err)
			x.logged.warn(x.o, err)
			return err
		}
		x.o.Log.Warn("the memory index is made anew", "why", err)
		if n > 0 && !sys.Sleep(ctx, 10*time.Millisecond<<n) {
			return err
		}
	}
	return err
}

// useless reports whether an error means that the index cannot be used any more.
func useless(err error) bool {
	return errors.Is(err, errStale) || errors.Is(err, errOther) || errors.Is(err, sqlite.ErrNewer) || errors.Is(err, sqlite.ErrCorrupt) || errors.Is(err, sqlite.ErrMoved) || errors.Is(err, sqlite.ErrIO)
}

// once opens the database if it is closed, and calls f.
func (x *Index) once(ctx context.Context, f func(*sqlite.DB) error) error {
	db, err := x.acquire(ctx)
	if err != nil {
		return sqlite.Plain(err)
	}
	defer x.release()
	return sqlite.Plain(f(db))
}

// acquire opens the database if it is closed. Each acquire needs a release.
func (x *Index) acquire(ctx context.Context) (*sqlite.DB, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return nil, sqlite.ErrClosed
	}
	if x.db == nil {
		db, err := open(ctx, x.o)
		if err != nil {
			return nil, err
		}
		x.db = db
	}
	x.users++
	if x.rest != nil {
		x.rest.Stop()
	}
	return x.db, nil
}

// release ends a use. The database is closed some time after the last one.
func (x *Index) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.users--; x.users > 0 || x.done {
		return
	}
	end := func() {
		if err := closeNow(x); err != nil {
			x.o.Log.Warn("close the memory index", "err", err)
		}
	}
	if x.db != nil && x.db.ReadOnly() {
		end() // the next use may find room
		return
	}
	x.rest = time.AfterFunc(restAfter, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.users == 0 {
			end()
		}
	})
}

// discard closes the database, and removes it if it is of no use to others either. Uses that run meanwhile fail and find the new one at their
// next try.
func (x *Index) discard(useless bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen = ""
	if err := closeNow(x); err != nil {
		x.o.Log.Warn("close the memory index", "err", err) // it was damaged
	}
	if !useless {
		return nil
	}
	return Remove(x.o.Path)
}

// missing reports whether there is no database yet.
func missing(x *Index) bool {
	_, err := os.Lstat(x.o.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// Remove removes the database of an index that nobody uses, with its log.
func Remove(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the memory index: %w", err)
		}
	}
	return nil
}

// open opens or makes the database. It returns errStale for one with another schema, and errOther for one of another origin.
func open(ctx context.Context, o Options) (db *sqlite.DB, err error) {
	for n := range openTries {
		db, err = openOnce(ctx, o)
		if _, known := event.AsFault(err); err == nil || known || useless(err) || !sys.Sleep(ctx, 10*time.Millisecond<<n) {
			return db, err
		}
	}
	if sqlite.Misfit(err) {
		err = errors.Join(errStale, err)
	}
	return nil, err
}

// openOnce opens or makes the database.
func openOnce(ctx context.Context, o Options) (*sqlite.DB, error) {
	migrations, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	options := sqlite.Options{
		Path: o.Path, Migrations: migrations, Now: o.Now, Log: o.Log, Derived: true,
		Lost: func(string) error { return Remove(o.Path) }, // the log of a lost index is of no use
	}
	db, err := sqlite.Open(ctx, options)
	full := err
	if errors.Is(err, sqlite.ErrFull) {
		db, err = sqlite.OpenFull(options) // a full disk still allows reading
	}
	if err != nil {
		return nil, fmt.Errorf("open the memory index: %w", err)
	}
	if err := check(ctx, db, o); err != nil {
		if db.ReadOnly() && !errors.Is(err, errStale) && !errors.Is(err, errOther) {
			err = full // an index that was begun without room is not whole
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// check compares the version and the origin of an index with those wanted. A new index gets them.
func check(ctx context.Context, db *sqlite.DB, o Options) error {
	want, err := version()
	if err != nil {
		return err
	}
	origin, err := o.Origin(ctx)
	if err != nil {
		return fmt.Errorf("read which database it is: %w", err)
	}
	have, err := meta(ctx, db.Reader(), "schema")
	switch {
	case err != nil:
		return err
	case have == "":
		return db.Write(ctx, func(tx *sqlite.Conn) error {
			return errors.Join(setMeta(tx, "schema", want), setMeta(tx, "origin", origin))
		})
	case have != want:
		return errStale
	}
	if have, err = meta(ctx, db.Reader(), "origin"); err == nil && have != origin {
		return errOther
	}
	return err
}

// version returns the digest of the schema.
func version() (string, error) {
	text, err := schema.ReadFile("schema/0001_index.sql")
	if err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]) + "/" + layout, nil
}

// meta returns a value of the table meta, "" if there is none.
func meta(ctx context.Context, db *sqlite.Readers, key string) (value string, err error) {
	err = db.QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM meta WHERE key = ?), '')", key).Scan(&value)
	return value, err
}

func setMeta(tx *sqlite.Conn, key, value string) error {
	return tx.Run("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", key, value)
}
