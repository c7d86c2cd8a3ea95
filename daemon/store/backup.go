package store

import (
	"context"
	"io/fs"
	"time"

	"hob/daemon/sqlite"
)

// Migrations are the steps to the newest schema, as sqlite.Options wants them.
func Migrations() (fs.FS, error) { return fs.Sub(migrations, "migrations") }

// Backup writes a consistent copy of the database to the given path, whose folder is there. A file that is there already is not
// overwritten.
func (s Backups) Backup(ctx context.Context, path string) error { return s.core.db.Backup(ctx, path) }

// Storage is whether the database stores what it is given.
func (s Backups) Storage(ctx context.Context) sqlite.Storage { return s.core.db.Storage(ctx) }

// StorageSignal fires when that has changed.
func (s Backups) StorageSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalStorage) }

// Trim forgets events older than a time; the newest is always kept, so that numbers only grow.
func (s Backups) Trim(ctx context.Context, before time.Time) error {
	return s.core.write(ctx, func(tx *Tx) error {
		return tx.Run("DELETE FROM events WHERE at < ? AND seq < (SELECT max(seq) FROM events)", sqlite.Micros(before))
	})
}
