package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/store/db"

	"hob/daemon/event"
	"hob/daemon/fail"
)

// Backup writes a consistent copy of the database with VACUUM INTO, to a name of its own in dir or to the given path.
// A file that is there already is not overwritten. It returns the path and the size in bytes.
func (s Backups) Backup(ctx context.Context, path string) (string, int64, error) {
	if path == "" {
		dir := filepath.Join(s.opt.Dir, "backups")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", 0, fmt.Errorf("make backup folder: %w", err)
		}
		path = filepath.Join(dir, "hob-"+s.now().Format("20060102-150405.000")+".db")
	}
	if dir := filepath.Dir(path); dir == s.opt.Dir {
		return "", 0, event.NewFault(event.Invalid, "choose another folder", "the state folder itself is no place for a backup")
	} else if _, err := os.Stat(dir); err != nil {
		return "", 0, fmt.Errorf("backup folder: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return "", 0, fmt.Errorf("backup %s: %w", path, os.ErrExist)
	}
	fail.Point("backup")
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", 0, fmt.Errorf("remove an unfinished backup: %w", err)
	}
	if err := s.db.CopyTo(ctx, part); err != nil {
		if gone := os.Remove(part); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return "", 0, err
	}
	fail.Point("backup.written")
	return path, sizeOf(part), finishFile(part, path)
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

// Trim forgets events older than a time; the newest is always kept, so that numbers only grow.
func (s Backups) Trim(ctx context.Context, before time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.Run("DELETE FROM events WHERE at < ? AND seq < (SELECT max(seq) FROM events)", db.Micros(before))
	})
}
