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

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Errors of Examine, beside ErrCorrupt and ErrNewer.
var (
	ErrUnfinished = errors.New("the file is not whole")
	ErrForeign    = errors.New("the file is no database of hob")
)

// The files of a restore, in the folder of the database.
const (
	Staging = "restoring"       // a folder with the copy that is being made ready
	Kept    = ".before-restore" // follows the name of the database that was replaced
)

// Examine looks at a whole database file that nobody writes to: that all of it is there, its structure and its references, and
// that its schema is one of migrations. Then look reads it. Nothing is written, not even beside it.
func Examine(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) (err error) {
	if err := wholeFile(path); err != nil {
		return err
	}
	conn, err := open(path, "mode=ro&immutable=1&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return Plain(inspect(ctx, conn, migrations, look))
}

// Inspect is Examine for the database itself. It holds the lock meanwhile: ErrLocked says that a hob runs. The error is
// os.ErrNotExist when there is no database.
func Inspect(ctx context.Context, path string, migrations fs.FS, look func(*Conn) error) (err error) {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	lock, err := takeLock(filepath.Join(filepath.Dir(path), "hob.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	conn, err := open(path, "mode=rw") // what an unclean end left in the log is read too
	if err != nil {
		return err
	}
	conn.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, conn.Close()) }()
	return Plain(inspect(ctx, conn, migrations, look))
}

func inspect(ctx context.Context, conn *sql.DB, migrations fs.FS, look func(*Conn) error) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	t := &Conn{on: tx, ctx: ctx}
	err = knownSchema(t, migrations)
	if err == nil {
		err = sound(t)
	}
	if err == nil {
		err = look(t)
	}
	return ended(err, tx.Rollback())
}

// knownSchema refuses a schema that is none of hob's, or of a newer hob.
func knownSchema(tx *Conn, migrations fs.FS) error {
	files, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	var have int
	if err := tx.One("PRAGMA user_version", nil, &have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch {
	case have <= 0:
		return fmt.Errorf("%w: it has no schema version", ErrForeign)
	case have > len(files):
		return fmt.Errorf("%w: it has schema %d, this one knows %d", ErrNewer, have, len(files))
	}
	return nil
}

// sound checks the structure and all references (sqlite.org/pragma.html, integrity_check and foreign_key_check).
func sound(tx *Conn) error {
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
		return fmt.Errorf("%w: %d rows refer to rows that are not there", ErrCorrupt, loose)
	}
	return nil
}

// wholeFile compares the size of a database file with what its head says (sqlite.org/fileformat2.html, 1.3), and refuses
// one that has a log beside it: part of it stands there.
func wholeFile(path string) error {
	if strings.HasSuffix(path, Unfinished) {
		return fmt.Errorf("%w: it was still being written when hob ended", ErrUnfinished)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	for _, log := range []string{"-wal", "-journal"} {
		if sizeOf(path+log) > 0 {
			return fmt.Errorf("%w: the rest of it stands in %s", ErrUnfinished, filepath.Base(path)+log)
		}
	}
	head, err := headOf(path)
	if err != nil {
		return err
	}
	const magic = "SQLite format 3\x00"
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", ErrUnfinished)
	case !bytes.HasPrefix(head, []byte(magic[:min(len(magic), len(head))])):
		return fmt.Errorf("%w: it is no SQLite file", ErrForeign)
	case len(head) < headSize:
		return fmt.Errorf("%w: it ends within its head", ErrUnfinished)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	if want := page * int64(binary.BigEndian.Uint32(head[28:])); st.Size() != want {
		return fmt.Errorf("%w: it has %d bytes, and should have %d", ErrUnfinished, st.Size(), want)
	}
	return nil
}

// headSize is the length of a database's head, in bytes.
const headSize = 100

// headOf reads the head of a file, less when it is shorter.
func headOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	return head, errors.Join(err, f.Close())
}

// Restore puts a copy of from in the place of the database at o.Path, after prepare has changed that copy and it has the newest
// schema. The old database stays beside it under its name with Kept. It holds the lock; ErrLocked says that a hob runs. Killed at
// any point it leaves the old database or the new one.
func Restore(ctx context.Context, o Options, from string, prepare func(*Conn) error) (err error) {
	dir := filepath.Dir(o.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	if err := refuseNetwork(dir); err != nil {
		return err
	}
	lock, err := takeLock(filepath.Join(dir, "hob.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	stage := filepath.Join(dir, Staging)
	if err := errors.Join(os.RemoveAll(stage), os.Mkdir(stage, 0o700)); err != nil {
		return fmt.Errorf("make a place for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	ready := o
	ready.Path = filepath.Join(stage, filepath.Base(o.Path))
	if err := makeReady(ctx, ready, from, prepare); err != nil {
		return err
	}
	fail.Point("restore.ready")
	if err := putAside(ctx, o.Path); err != nil {
		return err
	}
	fail.Point("restore.aside")
	if err := os.Rename(ready.Path, o.Path); err != nil {
		return fmt.Errorf("put the copy in its place: %w", err)
	}
	fail.Point("restore.renamed")
	return sys.SyncFolder(dir)
}

// makeReady copies a backup, checks the copy, brings it to the newest schema and lets prepare change it.
func makeReady(ctx context.Context, o Options, from string, prepare func(*Conn) error) error {
	if err := wholeFile(from); err != nil {
		return err
	}
	if err := copyFile(ctx, from, o.Path); err != nil {
		return err
	}
	fail.Point("restore.copied")
	if err := Examine(ctx, o.Path, o.Migrations, func(*Conn) error { return nil }); err != nil {
		return err
	}
	d, err := Open(ctx, o) // in a folder of its own, with a lock of its own
	if err != nil {
		return err
	}
	if err := errors.Join(d.Write(ctx, prepare), d.Close()); err != nil {
		return fmt.Errorf("make the copy ready: %w", err)
	}
	if err := foldLog(ctx, o.Path); err != nil {
		return err
	}
	if err := wholeFile(o.Path); err != nil {
		return fmt.Errorf("make the copy ready: %w", err)
	}
	return syncFile(o.Path)
}

// putAside keeps the old database under another name while it also keeps its own, so that a rename can replace it at one stroke.
// Its log must be gone before: SQLite would read it into the new one.
func putAside(ctx context.Context, path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.Join(remove(path+"-wal"), remove(path+"-shm"))
	case err != nil:
		return fmt.Errorf("look at the old database: %w", err)
	}
	// One that is too damaged for that is kept with its log.
	if err := foldLog(ctx, path); err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	again, err := keep(ctx, path, path+Kept)
	if err != nil {
		return err
	}
	if err := keepLog(ctx, path, again); err != nil {
		return err
	}
	if err := sys.SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return errors.Join(remove(path+"-wal"), remove(path+"-shm"))
}

// keepLog keeps what could not be copied into the old database. Else no log may stand beside the kept one, unless it is that of the same.
func keepLog(ctx context.Context, path string, again bool) error {
	if sizeOf(path+"-wal") > 0 {
		_, err := keep(ctx, path+"-wal", path+Kept+"-wal")
		return err
	}
	if again {
		return nil
	}
	return remove(path + Kept + "-wal")
}

// foldLog copies the log of an idle database into it, and empties the log.
func foldLog(ctx context.Context, path string) (err error) {
	conn, err := open(path, "mode=rw"+darwinSync())
	if err != nil {
		return err
	}
	conn.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, conn.Close()) }()
	var busy, log, done int
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return Plain(fmt.Errorf("finish the log of %s: %w", path, err))
	}
	if busy != 0 {
		return fmt.Errorf("finish the log of %s: somebody else uses it", path)
	}
	return nil
}

// keep gives a file a second name. again says that it had that already: an earlier restore was interrupted.
func keep(ctx context.Context, from, to string) (again bool, err error) {
	mine, err := os.Lstat(from)
	if err != nil {
		return false, err
	}
	if there, err := os.Lstat(to); err == nil && os.SameFile(mine, there) {
		return true, nil
	}
	temp := to + Unfinished
	if err := remove(temp); err != nil {
		return false, err
	}
	if err := os.Link(from, temp); err != nil { // a file system without second names
		if err := copyFile(ctx, from, temp); err != nil {
			return false, errors.Join(err, remove(temp))
		}
	}
	if err := os.Rename(temp, to); err != nil {
		return false, fmt.Errorf("keep %s: %w", from, err)
	}
	return false, nil
}
