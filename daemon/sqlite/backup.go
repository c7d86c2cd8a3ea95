package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Unfinished is the suffix of a copy that is being written.
const Unfinished = ".part"

// Backup writes a consistent copy of the database, checks it, and writes its digest in a file next to it. The path must be outside the
// database's folder. An existing file is not overwritten. Writes go on meanwhile.
func (d *DB) Backup(ctx context.Context, path string) error {
	if dir := filepath.Dir(path); dir == filepath.Dir(d.path) {
		return event.NewFault(event.Invalid, "choose another folder", "the state folder itself is no place for a backup")
	} else if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("backup folder: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("backup %s: %w", path, os.ErrExist)
	}
	fail.Point("backup")
	// Write under a temporary name first: a crash never leaves a partial file under the real one.
	part := path + Unfinished
	if err := remove(part); err != nil {
		return fmt.Errorf("remove an unfinished backup: %w", err)
	}
	if err := copyFrom(ctx, d.path, "ro", part); err != nil {
		return errors.Join(err, remove(part), remove(part+"-journal"))
	}
	fail.Point("backup.written")
	sum, err := checkAndSum(ctx, part)
	if err != nil {
		return errors.Join(err, remove(part))
	}
	// The checks are done: the copy gets its real name, then its digest.
	if err := finishFile(part, path); err != nil {
		return err
	}
	if err := recordDigest(path, sum); err != nil {
		return errors.Join(err, RemoveCopy(path))
	}
	return nil
}

// copyFrom copies a database over a connection of its own in a mode of SQLite, so that neither the writer nor the readers wait.
func copyFrom(ctx context.Context, path, mode, to string) error {
	return use(path, "mode="+mode+"&_pragma=busy_timeout(5000)", func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return Plain(fmt.Errorf("open database: %w", err))
		}
		return errors.Join(copyPages(ctx, conn, to), conn.Close())
	})
}

// use opens a database file over one connection, and closes it afterwards.
func use(path, options string, work func(*sql.DB) error) (err error) {
	db, err := open(path, options)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	return work(db)
}

// CopyIdle copies the database of a hob that does not run, with what a crash has left in its log. It holds the lock meanwhile: ErrLocked
// means that hob is running.
func CopyIdle(ctx context.Context, path, to string) (err error) {
	lock, err := TakeLock(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	if err := checkHead(path); err != nil {
		return err
	}
	return copyFrom(ctx, path, "rw", to)
}

// TakeLock takes the lock of a state folder, for work that no hob may run beside. Close releases it. ErrLocked means that hob is running.
func TakeLock(state string) (io.Closer, error) { return takeLock(filepath.Join(state, "hob.lock")) }

// stepPages is the number of pages that are copied between two looks at the context, 8 MB.
const stepPages = 2048

// copyPages writes the pages of a database into a new file, with SQLite's backup interface (sqlite.org/backup.html). The transaction keeps one
// state of the database for the whole copy. Without it, SQLite would begin anew after each commit of the writer. The file is not
// synchronized.
func copyPages(ctx context.Context, conn *sql.Conn, to string) (err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- a name of hob's own
	if err != nil {
		return fmt.Errorf("make %s: %w", to, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make %s: %w", to, err)
	}
	// The first read begins the transaction.
	if _, err := conn.ExecContext(ctx, "BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return Plain(fmt.Errorf("begin copy: %w", err))
	}
	defer func() {
		_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, end)
	}()
	err = conn.Raw(func(driver any) error { return stepThrough(ctx, driver, to) })
	if err == nil {
		err = endLog(ctx, to)
	}
	if err != nil {
		return Plain(fmt.Errorf("write copy: %w", err))
	}
	return nil
}

// stepThrough copies all pages of the driver's connection.
func stepThrough(ctx context.Context, driver any, to string) error {
	source, ok := driver.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return fmt.Errorf("%T cannot copy a database", driver)
	}
	// A copy that is interrupted is removed, so its pages need no journal. A large cache of pages that are written once would only cost time.
	target := url.URL{Scheme: "file", Path: filepath.ToSlash(to), RawQuery: "_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=locking_mode(EXCLUSIVE)&_pragma=cache_size(100)"}
	b, err := source.NewBackup(target.String())
	if err != nil {
		return err
	}
	// Step reports whether pages are left. Between two steps a cancelled context ends the copy.
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(stepPages)
		}
	}
	return errors.Join(err, b.Finish())
}

// endLog makes a copy one file: a database with a write-ahead log says so in its header, also when it is copied.
func endLog(ctx context.Context, path string) error {
	return use(path, "mode=rw&_pragma=synchronous(OFF)", func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = DELETE")
		return err
	})
}

// checkAndSum checks a copy and returns its digest. The check uses the processor. The disk stores the copy meanwhile, and finishFile finds little
// left to write.
func checkAndSum(ctx context.Context, path string) (sum string, err error) {
	err = sys.Both(func() error { return CheckCopy(ctx, path) }, func() (err error) {
		if err = syncFile(path); err == nil {
			sum, err = digestOf(path)
		}
		return err
	})
	return sum, err
}

// CheckCopy reads a copy and returns ErrCorrupt if its structure is not sound (sqlite.org/pragma.html, quick_check).
func CheckCopy(ctx context.Context, path string) error {
	var found string
	err := use(path, readOnly, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	})
	if err != nil {
		return Plain(fmt.Errorf("check copy: %w", err))
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, found)
	}
	return nil
}

// sizeOf returns the size of a file in bytes; 0 if it does not exist.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// finishFile makes a written file durable and renames it.
func finishFile(from, to string) error {
	// The content comes before the name, so that the name never leads to a partial file after a power failure.
	if err := syncFile(from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("name %s: %w", to, err)
	}
	// The new name is an entry of the folder, which needs its own flush.
	return sys.SyncFolder(filepath.Dir(to))
}

// syncFile makes a file's content durable, and readable only for the owner.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600) // #nosec G304 -- a file that hob has just written
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// copyFile copies a file that is not being written. to must not exist.
func copyFile(ctx context.Context, from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- a name of hob's own
	if err != nil {
		return fmt.Errorf("make %s: %w", to, err)
	}
	_, err = io.Copy(dst, sys.Interruptible(ctx, src))
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// RemoveCopy removes a copy, its digest, and the log that a damaged one may have.
func RemoveCopy(path string) error {
	return errors.Join(remove(path+Digest), remove(path+"-wal"), remove(path))
}

// remove removes a file. A missing file is not an error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
