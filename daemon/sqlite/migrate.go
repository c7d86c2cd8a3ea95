package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/fail"
)

// migrate brings the database to the newest schema: one numbered file per transaction. Before it changes an existing database, it writes a
// copy next to it, if asked, and keeps the newest one.
func migrate(ctx context.Context, db *sql.DB, migrations fs.FS, path string, keep bool) error {
	files, err := fs.ReadDir(migrations, ".")
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have > len(files) {
		return fmt.Errorf("%w: it has schema %d, this one knows %d", ErrNewer, have, len(files))
	}
	// A new database has schema 0 and nothing to lose, so it needs no copy.
	if keep && have > 0 && have < len(files) {
		if err := copyBefore(ctx, db, path); err != nil {
			return err
		}
	}
	for i := have; i < len(files); i++ {
		if err := step(ctx, db, migrations, files[i].Name(), i+1); err != nil {
			return err
		}
	}
	return nil
}

// step runs one migration. The schema version changes in the same transaction, so a crash never repeats a step.
func step(ctx context.Context, db *sql.DB, migrations fs.FS, name string, version int) error {
	text, err := fs.ReadFile(migrations, name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	// A gap in the numbers would give a schema the version of another one.
	if !strings.HasPrefix(name, fmt.Sprintf("%04d_", version)) {
		return fmt.Errorf("migration %s: want number %04d", name, version)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin migration %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, string(text)+fmt.Sprintf(";PRAGMA user_version = %d", version)); err != nil {
		return errors.Join(fmt.Errorf("migration %s: %w", name, err), tx.Rollback())
	}
	fail.Point("migration")
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit migration %s: %w", name, err)
	}
	return nil
}

// copyBefore writes hob.db.before-migration, a consistent copy.
func copyBefore(ctx context.Context, db *sql.DB, path string) error {
	to := filepath.Join(filepath.Dir(path), "hob.db.before-migration")
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove old copy: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		err = errors.Join(copyPages(ctx, conn, to), conn.Close())
	}
	if err != nil {
		return fmt.Errorf("copy database before migration: %w", err)
	}
	return nil
}
