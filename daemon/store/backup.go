package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/store/db"
)

// Backup writes a consistent copy of the database to the given path, or to a name of its own in the folder of backups. A file that
// is there already is not overwritten. It returns the path and the size in bytes.
func (s Backups) Backup(ctx context.Context, path string) (string, int64, error) {
	if path == "" {
		dir := filepath.Join(s.opt.Dir, "backups")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", 0, fmt.Errorf("make backup folder: %w", err)
		}
		path = filepath.Join(dir, "hob-"+s.now().Format("20060102-150405.000")+".db")
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
