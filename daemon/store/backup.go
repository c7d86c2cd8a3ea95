package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/store/backup"
	"hob/daemon/store/db"
)

// Migrations are the steps to the newest schema, as db.Options wants them.
func Migrations() (fs.FS, error) { return fs.Sub(migrations, "migrations") }

// Backup writes a consistent copy of the database to the given path, or to a name of its own in the folder of backups. A file that
// is there already is not overwritten. It returns the path and the size in bytes.
func (s Backups) Backup(ctx context.Context, path string) (string, int64, error) {
	dir := filepath.Join(s.opt.Dir, "backups")
	if path == "" {
		path = filepath.Join(dir, backup.HandName(s.now()))
	}
	if filepath.Dir(path) == dir {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", 0, fmt.Errorf("make backup folder: %w", err)
		}
	}
	n, err := s.db.Backup(ctx, path)
	return path, n, err
}

// Trim forgets events older than a time; the newest is always kept, so that numbers only grow.
func (s Backups) Trim(ctx context.Context, before time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.Run("DELETE FROM events WHERE at < ? AND seq < (SELECT max(seq) FROM events)", db.Micros(before))
	})
}
