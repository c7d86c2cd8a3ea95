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

	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

//go:embed schema
var schema embed.FS

// restAfter is how long the database stays open after its last use. Its connections are a tenth of hob's memory at rest.
const restAfter = 30 * time.Second

// errStale is an index of another version.
var errStale = errors.New("the index is of another version")

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
}

// New makes an index. ctx only passes its values on: Close ends the index.
func New(ctx context.Context, o Options) *Index {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
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

// use calls f with the open database. An index that turns out to be damaged, replaced or of another version is thrown away, and f called
// once more with an empty one: its files are read again at the next sync.
func (x *Index) use(ctx context.Context, f func(*sqlite.DB) error) error {
	err := x.once(ctx, f)
	if !useless(err) {
		return err
	}
	x.o.Log.Warn("the memory index is made anew", "why", err)
	if err := x.discard(); err != nil {
		return err
	}
	return x.once(ctx, f)
}

// useless reports whether an error means that the index cannot be used any more.
func useless(err error) bool {
	return errors.Is(err, errStale) || errors.Is(err, sqlite.ErrNewer) || errors.Is(err, sqlite.ErrCorrupt) || errors.Is(err, sqlite.ErrMoved) || errors.Is(err, sqlite.ErrIO)
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
	x.rest = time.AfterFunc(restAfter, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.users > 0 {
			return
		}
		if err := closeNow(x); err != nil {
			x.o.Log.Warn("close the memory index", "err", err)
		}
	})
}

// discard removes the database. Uses that run meanwhile fail and find the new one at their next try.
func (x *Index) discard() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen = ""
	if err := closeNow(x); err != nil {
		x.o.Log.Warn("close the memory index", "err", err) // it was damaged
	}
	return remove(x.o.Path)
}

// remove removes a database with its log.
func remove(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the memory index: %w", err)
		}
	}
	return nil
}

// open opens or makes the database. It returns errStale for one with another schema.
func open(ctx context.Context, o Options) (*sqlite.DB, error) {
	migrations, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	db, err := sqlite.Open(ctx, sqlite.Options{
		Path: o.Path, Migrations: migrations, Now: o.Now, Log: o.Log, Derived: true,
		Lost: func(string) error { return remove(o.Path) }, // the log of a lost index is of no use
	})
	if err != nil {
		return nil, fmt.Errorf("open the memory index: %w", err)
	}
	want, err := version()
	if err == nil {
		err = check(ctx, db, want)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// check compares the version of an index with the one wanted. A new index gets it.
func check(ctx context.Context, db *sqlite.DB, want string) error {
	have, err := meta(ctx, db.Reader(), "schema")
	switch {
	case err != nil:
		return err
	case have == want:
		return nil
	case have != "":
		return errStale
	}
	return db.Write(ctx, func(tx *sqlite.Conn) error { return setMeta(tx, "schema", want) })
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
