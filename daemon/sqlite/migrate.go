package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hob/daemon/fail"
)

// errOlder means that a database has an older schema, and must not be changed in place.
var errOlder = errors.New("the database has an older schema")

// migrate brings the database to the newest schema: one numbered file per transaction. Unless inPlace is set, it only fills a new
// database, and returns errOlder for one that holds something.
func migrate(ctx context.Context, db *sql.DB, migrations fs.FS, inPlace bool) error {
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
	if have > 0 && have < len(files) && !inPlace {
		return errOlder
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
