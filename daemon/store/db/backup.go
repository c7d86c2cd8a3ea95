package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hob/daemon/event"
	"hob/daemon/fail"
)

// Backup writes a consistent copy of the database with VACUUM INTO to a path outside its own folder. A file that is there
// already is not overwritten. It returns the size in bytes.
func (d *DB) Backup(ctx context.Context, path string) (int64, error) {
	if dir := filepath.Dir(path); dir == filepath.Dir(d.path) {
		return 0, event.NewFault(event.Invalid, "choose another folder", "the state folder itself is no place for a backup")
	} else if _, err := os.Stat(dir); err != nil {
		return 0, fmt.Errorf("backup folder: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("backup %s: %w", path, os.ErrExist)
	}
	fail.Point("backup")
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("remove an unfinished backup: %w", err)
	}
	if err := d.copyTo(ctx, part); err != nil {
		if gone := os.Remove(part); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return 0, err
	}
	fail.Point("backup.written")
	return sizeOf(part), finishFile(part, path)
}

func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// finishFile makes a written file durable and gives it its name.
func finishFile(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0o600) // #nosec G304 -- a file that hob has just written
	if err != nil {
		return fmt.Errorf("open %s: %w", from, err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", from, err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("name %s: %w", to, err)
	}
	return nil
}
