package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"hob/daemon/api"
	"hob/daemon/sqlite"
)

// BackupReport describes the contents of a database file.
type BackupReport = api.BackupReport

// VerifyBackup checks a copy: complete, undamaged, of this hob's schema or an older one, and equal to its recorded digest, if there is one.
// The errors are sqlite.ErrUnfinished, ErrForeign, ErrNewer and ErrCorrupt.
func VerifyBackup(ctx context.Context, path string, migrations fs.FS) (BackupReport, error) {
	r, err := report(ctx, path, migrations, sqlite.Examine)
	if err != nil {
		return r, err
	}
	// The digest finds changes that leave the structure sound. Copies without a digest file pass with "".
	r.Digest, err = sqlite.CheckDigest(path)
	return r, err
}

// reportCopy reads the report of a copy that has just been made and checked.
func reportCopy(ctx context.Context, path string, migrations fs.FS) (BackupReport, error) {
	r, err := report(ctx, path, migrations, sqlite.ExamineCopy)
	if err != nil {
		return r, err
	}
	r.Digest, err = sqlite.RecordedDigest(path)
	return r, err
}

// InspectDatabase reads the same report from the database in place. sqlite.ErrLocked means that hob is running.
func InspectDatabase(ctx context.Context, path string, migrations fs.FS) (BackupReport, error) {
	return report(ctx, path, migrations, sqlite.Inspect)
}

// inspection is sqlite.Examine, ExamineCopy, Inspect or InspectLocked.
type inspection func(ctx context.Context, path string, migrations fs.FS, look func(*sqlite.Conn) error) error

// report reads the report of a database that an inspection opens and checks.
func report(ctx context.Context, path string, migrations fs.FS, inspect inspection) (BackupReport, error) {
	r := BackupReport{Path: path}
	err := inspect(ctx, path, migrations, func(tx *sqlite.Conn) error { return readReport(tx, &r) })
	return r, err
}

// readReport fills in the report. It uses the tables of the first schema, which every later one has.
func readReport(tx *sqlite.Conn, r *BackupReport) error {
	var ours int
	if err := tx.One("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('instance', 'boots', 'inbox', 'turns', 'outbox', 'settings')", nil, &ours); err != nil {
		return err
	}
	// A schema version alone does not show that another program made the file.
	if ours != 6 {
		return fmt.Errorf("%w: its tables are others", sqlite.ErrForeign)
	}
	err := tx.One("SELECT id FROM instance", nil, &r.Instance)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read whose it is: %w", err)
	}
	err = tx.One(`SELECT (SELECT user_version FROM pragma_user_version), (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size),
		coalesce((SELECT version FROM boots ORDER BY epoch DESC LIMIT 1), ''),
		max(coalesce((SELECT max(at) FROM events), 0), coalesce((SELECT max(received) FROM inbox), 0), coalesce((SELECT max(created) FROM outbox), 0), coalesce((SELECT max(started) FROM boots), 0)),
		(SELECT count(*) FROM inbox), (SELECT count(*) FROM turns), (SELECT count(*) FROM outbox WHERE state = 'done'),
		(SELECT count(*) FROM triggers WHERE `+ofJobs+` AND removed = 0), (SELECT count(*) FROM sessions)`, nil,
		&r.Schema, &r.Bytes, &r.Version, sqlite.Stamp(&r.Newest), &r.Messages, &r.Turns, &r.Sent, &r.Jobs, &r.Sessions)
	if err != nil {
		return fmt.Errorf("count what it holds: %w", err)
	}
	if r.Schema >= 6 { // it added the column
		err = tx.One("SELECT count(*) FROM triggers WHERE kind = 'hook' AND removed = 0 AND secret <> '' AND NOT (secret GLOB 'env:*' OR secret GLOB 'file:*' OR secret GLOB 'keyring:*' OR secret GLOB 'cmd:*')", nil, &r.HookSecrets)
	}
	return err
}
