package store

import (
	"context"
	"io/fs"

	"hob/daemon/sqlite"
)

// Migrations returns the steps to the newest schema for sqlite.Options.
func Migrations() fs.FS {
	files, _ := fs.Sub(migrations, "migrations") // the only error is that of an invalid path
	return files
}

// Backup writes a consistent copy of the database to path. The folder must exist; an existing file is not overwritten.
func (s Backups) Backup(ctx context.Context, path string) error { return s.core.db.Backup(ctx, path) }

// Storage reports whether the database can write.
func (s Backups) Storage(ctx context.Context) sqlite.Storage { return s.core.db.Storage(ctx) }

// LookAtFiles makes the writer check whether the files of the database were deleted or replaced. Then StorageSignal fires.
func (s Backups) LookAtFiles() { s.core.db.LookAtFiles() }

// StorageSignal fires when the answer of Storage has changed.
func (s Backups) StorageSignal() <-chan struct{} { return s.core.db.Wait(sqlite.SignalStorage) }
