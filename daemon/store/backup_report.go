package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hob/daemon/sqlite"
)

// BackupReport is what a database file holds.
type BackupReport struct {
	Path     string    `json:"path,omitempty"`
	Bytes    int64     `json:"bytes"`
	Schema   int       `json:"schema"`   // its version
	Version  string    `json:"version"`  // of the hob that last ran on it
	Instance string    `json:"instance"` // whose it is
	Newest   time.Time `json:"newest"`   // when the last thing happened that it knows
	Messages int64     `json:"messages"` // inputs, of all kinds
	Turns    int64     `json:"turns"`
	Sent     int64     `json:"sent"` // messages that went out
	Jobs     int64     `json:"jobs"`
	Sessions int64     `json:"sessions"`
	Digest   string    `json:"digest,omitempty"` // its SHA-256, as it was written when it was made; "": nothing says what it was
}

// VerifyBackup looks at a copy, apart from the database that is in use: it is whole, sound, of this hob or an older one, and has the digest that was
// written beside it, if there is one. The errors are sqlite.ErrUnfinished, ErrForeign, ErrNewer and ErrCorrupt.
func VerifyBackup(ctx context.Context, path string, migrations fs.FS) (BackupReport, error) {
	r := BackupReport{Path: path}
	if err := sqlite.Examine(ctx, path, migrations, r.read); err != nil {
		return r, err
	}
	var err error
	r.Digest, err = sqlite.CheckDigest(path)
	return r, err
}

// InspectDatabase is Verify for the database itself, while no hob runs: sqlite.ErrLocked says that one does.
func InspectDatabase(ctx context.Context, path string, migrations fs.FS) (BackupReport, error) {
	r := BackupReport{Path: path}
	err := sqlite.Inspect(ctx, path, migrations, r.read)
	return r, err
}

// read fills in what stands in the tables. They are those of the first schema, which no later one takes away.
func (r *BackupReport) read(tx *sqlite.Conn) error {
	var ours int
	if err := tx.One("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('instance', 'boots', 'inbox', 'turns', 'outbox', 'settings')", nil, &ours); err != nil {
		return err
	}
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
		(SELECT count(*) FROM triggers WHERE kind = 'job' AND removed = 0), (SELECT count(*) FROM sessions)`, nil,
		&r.Schema, &r.Bytes, &r.Version, sqlite.Stamp(&r.Newest), &r.Messages, &r.Turns, &r.Sent, &r.Jobs, &r.Sessions)
	if err != nil {
		return fmt.Errorf("count what it holds: %w", err)
	}
	return nil
}
