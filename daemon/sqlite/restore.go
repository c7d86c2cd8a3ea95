package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Errors of Examine, besides ErrCorrupt and ErrNewer.
var (
	ErrUnfinished = errors.New("the file is not whole")
	ErrForeign    = errors.New("the file is no database of hob")
)

// Staging is the folder, beside the database, of the copy that a restore prepares.
const Staging = "restoring"

// Examine checks a database file that no process writes: it is complete, its structure and references are valid, and its schema is one of
// migrations. Then look reads it. Nothing is written, not even next to the file.
func Examine(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) error {
	return ExamineCopy(ctx, path, migrations, sound(look))
}

// ExamineCopy is Examine for a copy that Backup has just made. Backup has checked its structure, so that only the size, the schema and
// the content are looked at.
func ExamineCopy(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) error {
	if err := checkComplete(path); err != nil {
		return err
	}
	return inspect(ctx, path, readOnly, migrations, look)
}

// readOnly opens a file that no process writes. With immutable=1 SQLite takes no lock and looks for no log (sqlite.org/uri.html).
const readOnly = "mode=ro&immutable=1&_pragma=query_only(1)"

// Inspect is Examine for the database in place. It holds the lock meanwhile: ErrLocked means that hob is running. Without a database the
// error is os.ErrNotExist.
func Inspect(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	lock, err := TakeLock(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(InspectLocked(ctx, path, migrations, look), lock.Close())
}

// InspectLocked is Inspect for a caller that holds the lock.
func InspectLocked(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	if err := checkHead(path); err != nil {
		return err
	}
	return inspect(ctx, path, "mode=rw", migrations, sound(look)) // also reads what a crash has left in the log
}

// Peek is Inspect without a lock and without a check of the content, so that it also reads a database that is damaged elsewhere.
func Peek(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	return inspect(ctx, path, "mode=rw", migrations, look)
}

// sound checks the structure and all references before look.
func sound(look func(*Conn) error) func(*Conn) error {
	return func(tx *Conn) error {
		if err := checkIntegrity(tx); err != nil {
			return err
		}
		return look(tx)
	}
}

// inspect opens a database and checks it before it is used: its schema must be known, and its content acceptable to check.
func inspect(ctx context.Context, path, options string, migrations fs.FS, check func(*Conn) error) error {
	return use(path, options, func(db *sql.DB) error {
		// One transaction, so that all checks see the same content.
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return Plain(fmt.Errorf("begin read: %w", err))
		}
		t := &Conn{on: tx, ctx: ctx}
		err = knownSchema(t, migrations)
		if err == nil {
			err = check(t)
		}
		if done := tx.Rollback(); !errors.Is(done, sql.ErrTxDone) {
			err = errors.Join(err, done)
		}
		return Plain(err)
	})
}

// knownSchema rejects a schema of another program or a newer hob.
func knownSchema(tx *Conn, migrations fs.FS) error {
	files, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	var have int
	if err := tx.One("PRAGMA user_version", nil, &have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	// Each migration raises the version by one, so the number of files is the newest version.
	switch {
	case have <= 0:
		return fmt.Errorf("%w: it has no schema version", ErrForeign)
	case have > len(files):
		return fmt.Errorf("%w: it has schema %d, this one knows %d", ErrNewer, have, len(files))
	}
	return nil
}

// checkIntegrity checks the structure and all references (sqlite.org/pragma.html, integrity_check and foreign_key_check).
func checkIntegrity(tx *Conn) error {
	rs, err := tx.Query("PRAGMA integrity_check(3)")
	said, err := Collect(rs, err, func(rs *sql.Rows) (line string, err error) { return line, rs.Scan(&line) })
	if err != nil {
		return fmt.Errorf("check the structure: %w", err)
	}
	if len(said) != 1 || said[0] != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, strings.Join(said, "; "))
	}
	var loose int
	if err := tx.One("SELECT count(*) FROM pragma_foreign_key_check", nil, &loose); err != nil {
		return fmt.Errorf("check the references: %w", err)
	}
	if loose > 0 {
		return fmt.Errorf("%w: %d rows refer to missing rows", ErrCorrupt, loose)
	}
	return nil
}

// checkComplete compares the size of a database file with its header (sqlite.org/fileformat2.html, 1.3). It rejects a file with a log, because
// the log holds part of the data.
func checkComplete(path string) error {
	if strings.HasSuffix(path, Unfinished) {
		return fmt.Errorf("%w: it was still being written when hob ended", ErrUnfinished)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a regular file", ErrForeign)
	}
	for _, log := range []string{"-wal", "-journal"} {
		if sizeOf(path+log) > 0 {
			return fmt.Errorf("%w: the rest of it is in %s", ErrUnfinished, filepath.Base(path)+log)
		}
	}
	head, err := headOf(path)
	if err != nil {
		return err
	}
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", ErrUnfinished)
	case !bytes.HasPrefix(head, []byte(magic[:min(len(magic), len(head))])):
		return fmt.Errorf("%w: it is not an SQLite file", ErrForeign)
	case len(head) < headSize:
		return fmt.Errorf("%w: it ends within its header", ErrUnfinished)
	}
	if want := pagesIn(head); st.Size() != want {
		return fmt.Errorf("%w: it has %d bytes, and should have %d", ErrUnfinished, st.Size(), want)
	}
	return nil
}

// headSize is the length of the header, in bytes, and magic is its beginning.
const (
	headSize = 100
	magic    = "SQLite format 3\x00"
)

// checkHead returns ErrCorrupt for a file that does not begin as a database does. A new, empty file is not damaged, but one whose log has content is.
// SQLite deletes the log of such a file when it is opened for writing. No connection of this process may be open: closing a file gives back all of the
// process's locks on it (sqlite.org/howtocorrupt.html, 2.2).
func checkHead(path string) error {
	if size := sizeOf(path); size == 0 && sizeOf(path+"-wal") == 0 {
		return nil
	}
	head, err := headOf(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read database: %w", err)
	case len(head) < headSize || !bytes.HasPrefix(head, []byte(magic)):
		return fmt.Errorf("%w: it does not begin as an SQLite file does", ErrCorrupt)
	}
	// Without a log the file is whole, so it has all its pages.
	if size, want := sizeOf(path), pagesIn(head); size < want && sizeOf(path+"-wal") == 0 {
		return fmt.Errorf("%w: it has %d bytes, and should have %d", ErrCorrupt, size, want)
	}
	return nil
}

// pagesIn returns the size of a database by its header, which has the page size at offset 16, where 1 means 65536, and the number of pages at offset 28.
func pagesIn(head []byte) int64 {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	return page * int64(binary.BigEndian.Uint32(head[28:]))
}

// headOf reads the header of a file, or less if the file is shorter.
func headOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	return head, errors.Join(err, f.Close())
}

// Restore replaces the database at o.Path by a copy of from. The copy gets the newest schema, and prepare changes it, before it takes the
// place. kept is the new name of the old database, in the backup folder; "": there was none. Restore holds the lock; ErrLocked means that hob is
// running. A crash at any point leaves either the old or the new database.
func Restore(ctx context.Context, o Options, from string, prepare func(*Conn) error) (kept string, err error) {
	dir := filepath.Dir(o.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	if err := refuseNetwork(dir); err != nil {
		return "", err
	}
	lock, err := TakeLock(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Lstat(o.Path); err == nil {
		kept = filepath.Join(BackupFolder(dir), o.Now().UTC().Format(replacedName))
	}
	return kept, replacement{
		name: "restore", stage: filepath.Join(dir, Staging),
		make: func(ready string) error {
			if err := checkComplete(from); err != nil {
				return err
			}
			if err := copyFile(ctx, from, ready); err != nil {
				return err
			}
			fail.Point("restore.copied")
			staged := o
			staged.Path = ready
			return Prepare(ctx, staged, prepare)
		},
		keep: func() error { return putAside(ctx, o.Path, kept) },
	}.of(o.Path)
}

// replacement puts a new database in the place of another, for a restore or an upgrade.
type replacement struct {
	name  string                   // begins the names of its points
	stage string                   // the folder in which the new one is made, on the same disk
	make  func(ready string) error // makes one durable file
	keep  func() error             // gives the old one a second name, and removes its log
}

// of replaces the database at a path. The caller holds the lock. A crash at any point leaves either the old or the new database.
func (r replacement) of(path string) (err error) {
	// An earlier one may have crashed and left its folder.
	if err := errors.Join(os.RemoveAll(r.stage), os.Mkdir(r.stage, 0o700)); err != nil {
		return fmt.Errorf("make a place for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.stage)) }()
	ready := filepath.Join(r.stage, filepath.Base(path))
	if err := r.make(ready); err != nil {
		return err
	}
	fail.Point(r.name + ".ready")
	// Until here nothing of the database has changed.
	if err := r.keep(); err != nil {
		return err
	}
	fail.Point(r.name + ".aside")
	if err := os.Rename(ready, path); err != nil {
		return fmt.Errorf("put the copy in its place: %w", err)
	}
	fail.Point(r.name + ".renamed")
	return sys.SyncFolder(filepath.Dir(path))
}

// Prepare checks and migrates a copy of a database in a folder of its own, runs prepare on it, and leaves one durable file.
func Prepare(ctx context.Context, o Options, prepare func(*Conn) error) error {
	o.staged = true
	if err := Examine(ctx, o.Path, o.Migrations, func(*Conn) error { return nil }); err != nil {
		return err
	}
	d, err := Open(ctx, o) // in a folder of its own, with its own lock
	if err != nil {
		return err
	}
	if err := errors.Join(d.Write(ctx, prepare), d.Close()); err != nil {
		return fmt.Errorf("make the copy ready: %w", err)
	}
	// The migration and prepare wrote into the log of the copy. The rename moves only the main file.
	if err := checkpointLog(ctx, o.Path); err != nil {
		return err
	}
	if err := checkComplete(o.Path); err != nil {
		return fmt.Errorf("make the copy ready: %w", err)
	}
	return syncFile(o.Path)
}

// putAside gives the old database a second name, in the backup folder, and a digest. It keeps the first name, so that one rename can replace it. Its log
// must be gone before that: SQLite would apply it to the new database.
func putAside(ctx context.Context, path, kept string) error {
	_, err := os.Lstat(path)
	switch {
	// There is no old database, but a log without its database would be applied to the new one.
	case errors.Is(err, os.ErrNotExist):
		return errors.Join(remove(path+"-wal"), remove(path+"-shm"))
	case err != nil:
		return fmt.Errorf("look at the old database: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return &event.Fault{Kind: event.Unavailable, Text: "the backup folder " + filepath.Dir(kept) + " cannot be used: nothing was changed", Hint: "the old database is kept in it: make it a folder that hob may write to", Err: err}
	}
	if err := forgetLinks(path, filepath.Dir(kept)); err != nil {
		return err
	}
	// A database that is too damaged for this keeps its log.
	if err := checkpointLog(ctx, path); err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if err := keep(ctx, path, kept); err != nil {
		return err
	}
	if sizeOf(path+"-wal") > 0 {
		if err := keep(ctx, path+"-wal", kept+"-wal"); err != nil {
			return err
		}
	}
	if err := sys.SyncFolder(filepath.Dir(kept)); err != nil {
		return err
	}
	fail.Point("database.kept")
	if err := putDigest(kept); err != nil {
		return err
	}
	return errors.Join(remove(path+"-wal"), remove(path+"-shm"))
}

// forgetLinks removes the names in the backup folder of the database itself: a restore or an upgrade that was killed between its second name and its
// rename has left one, and it is no copy. A log that it has kept goes back to the database.
func forgetLinks(path, folder string) error {
	mine, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := ListBackups(folder)
	for _, f := range list {
		there, e := os.Lstat(f.Path)
		if e != nil || f.Upgrade == 0 && !f.Replaced || !os.SameFile(mine, there) {
			continue
		}
		if sizeOf(f.Path+"-wal") > 0 && sizeOf(path+"-wal") == 0 {
			if e := os.Rename(f.Path+"-wal", path+"-wal"); e != nil {
				return errors.Join(err, e)
			}
		}
		err = errors.Join(err, RemoveCopy(f.Path))
	}
	return err
}

// checkpointLog copies the log of an unused database into the database, and empties the log.
func checkpointLog(ctx context.Context, path string) error {
	if err := checkHead(path); err != nil {
		return err
	}
	return use(path, "mode=rw"+darwinSync(), func(db *sql.DB) error {
		var busy, log, done int
		if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
			return Plain(fmt.Errorf("finish the log of %s: %w", path, err))
		}
		if busy != 0 {
			return fmt.Errorf("finish the log of %s: another process uses it", path)
		}
		return nil
	})
}

// keep gives a file a second name, which is new. A hard link needs no space and no time; the copy is for file systems without links, and for a backup
// folder on another disk.
func keep(ctx context.Context, from, to string) error {
	// The database may be a link to a file elsewhere. That file is kept, not the link.
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if err := os.Link(from, to); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	temp := to + Unfinished
	if err := copyFile(ctx, from, temp); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := os.Rename(temp, to); err != nil {
		return fmt.Errorf("keep %s: %w", from, err)
	}
	return nil
}
