package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Unfinished is the suffix of a copy that is being written.
const Unfinished = ".part"

// Backup writes a consistent copy of the database with VACUUM INTO, and its digest in a file next to it. The path must be outside the
// database's folder. An existing file is not overwritten.
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
	if err := d.copyTo(ctx, part); err != nil {
		return errors.Join(err, remove(part), remove(part+"-journal"))
	}
	fail.Point("backup.written")
	if err := finishFile(part, path); err != nil {
		return err
	}
	if err := putDigest(path); err != nil {
		return errors.Join(err, RemoveCopy(path))
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
	if err := syncFile(from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("name %s: %w", to, err)
	}
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
	_, err = io.Copy(dst, interruptible{ctx, src})
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// interruptible is a reader that stops when its context ends.
type interruptible struct {
	ctx context.Context //nolint:containedctx // of one copy
	r   io.Reader
}

// Read fails after the end of the context, so a copy of a large file ends early.
func (i interruptible) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(b)
}

// RemoveCopy removes a copy and its digest.
func RemoveCopy(path string) error { return errors.Join(remove(path+Digest), remove(path)) }

// remove removes a file. A missing file is not an error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
