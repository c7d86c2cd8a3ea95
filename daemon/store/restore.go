package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/sqlite"
)

// BackupLoss is what a database knows and a backup does not.
type BackupLoss struct {
	Newest   time.Time `json:"newest,omitzero"` // when the last thing happened that the database knows
	Messages int64     `json:"messages"`
	Turns    int64     `json:"turns"`
	Sent     int64     `json:"sent"`
	Foreign  bool      `json:"foreign,omitempty"` // the two are of different hobs
	Damaged  string    `json:"damaged,omitempty"` // why nobody can tell
}

// BackupLoses compares the database at path with a backup that is to replace it. A database that is not there or damaged is no error;
// sqlite.ErrLocked is one: a hob runs.
func BackupLoses(ctx context.Context, path string, migrations fs.FS, r BackupReport) (BackupLoss, error) {
	var l BackupLoss
	var now BackupReport
	since := sqlite.Micros(r.Newest)
	err := sqlite.Inspect(ctx, path, migrations, func(tx *sqlite.Conn) error {
		if err := readReport(tx, &now); err != nil {
			return err
		}
		return tx.One(`SELECT (SELECT count(*) FROM inbox WHERE received > ?1), (SELECT count(*) FROM turns WHERE started > ?1),
			(SELECT count(*) FROM outbox WHERE state = 'done' AND ended > ?1)`, []any{since}, &l.Messages, &l.Turns, &l.Sent)
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return BackupLoss{}, nil
	case errors.Is(err, sqlite.ErrCorrupt), errors.Is(err, sqlite.ErrForeign), errors.Is(err, sqlite.ErrNewer):
		return BackupLoss{Damaged: err.Error()}, nil
	case err != nil:
		return BackupLoss{}, err
	}
	l.Newest, l.Foreign = now.Newest, now.Instance != r.Instance
	return l, nil
}

// RestoreNote says that a database was restored, and what is held because of that.
type RestoreNote struct {
	At       time.Time `json:"at"`       // when it was restored
	From     string    `json:"from"`     // the backup
	Taken    time.Time `json:"taken"`    // the last thing that happened before the backup
	Messages int64     `json:"messages"` // of the outbox that are held: they may have gone out since
	Inputs   int64     `json:"inputs"`   // of the inbox that are held: they may have been answered since
	Turns    int64     `json:"turns"`    // open ones, which go on as after a crash
}

// keyRestored is the setting that holds the note of the last restore.
const keyRestored = "restored"

// RestoreBackup puts a backup in the place of the database at path. What was sent or answered since the backup cannot be known: messages
// and inputs that waited then are held, in the same commit that notes it. The old database stays beside the new one. The errors are
// those of Verify, and sqlite.ErrLocked while a hob runs.
func RestoreBackup(ctx context.Context, path, from string, migrations fs.FS, now func() time.Time) (RestoreNote, error) {
	r, err := VerifyBackup(ctx, from, migrations)
	if err != nil {
		return RestoreNote{}, err
	}
	n := RestoreNote{At: now(), From: from, Taken: r.Newest}
	o := sqlite.Options{Path: path, Migrations: migrations, Now: now, Log: slog.New(slog.DiscardHandler)}
	err = sqlite.Restore(ctx, o, from, n.hold)
	return n, err
}

// hold holds what waits and writes the note.
func (n *RestoreNote) hold(tx *sqlite.Conn) (err error) {
	why := "restored from a backup of " + n.Taken.UTC().Format(time.RFC3339) + ": it may have gone out since"
	if n.Messages, err = tx.Change("UPDATE outbox SET state = 'held', reason = ? WHERE state = 'ready'", why); err != nil {
		return fmt.Errorf("hold messages: %w", err)
	}
	// The turn of a draft goes on, and needs its key: it takes up a message that had been posted; any other is given up.
	if err := tx.Run(`UPDATE outbox SET state = 'cancelled', key = replace(key, ':final', ':draft'), ended = ?, reason = ? WHERE state = 'draft'
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.state = 'sent')`, sqlite.Micros(n.At), why); err != nil {
		return fmt.Errorf("give up drafts: %w", err)
	}
	if err := tx.Run("UPDATE deliveries SET state = 'unknown', error = ? WHERE state = 'sending'", why); err != nil {
		return fmt.Errorf("hold deliveries: %w", err)
	}
	if n.Inputs, err = tx.Change("UPDATE inbox SET state = 'held', reason = ? WHERE state = 'queued'", n.Unanswered()); err != nil {
		return fmt.Errorf("hold inputs: %w", err)
	}
	if err := tx.Run("DELETE FROM catchups"); err != nil {
		return fmt.Errorf("forget an earlier restore: %w", err)
	}
	if err := tx.One("SELECT count(*) FROM turns WHERE state IN ('ready', 'running', 'waiting')", nil, &n.Turns); err != nil {
		return fmt.Errorf("count open turns: %w", err)
	}
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the note: %w", err)
	}
	return tx.Run("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", keyRestored, string(text))
}

// Unanswered is the reason of an input that a restore holds.
func (n RestoreNote) Unanswered() string {
	return "restored from a backup of " + n.Taken.UTC().Format(time.RFC3339) + ": it may have been answered since"
}

// restoredIn is Restored within a transaction.
func restoredIn(tx *Tx) (RestoreNote, bool, error) {
	var n RestoreNote
	err := tx.One("SELECT value FROM settings WHERE key = ?", []any{keyRestored}, sqlite.JSON(&n))
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	return n, err == nil, err
}

// Restored is the note of the last restore; false: this database was never restored.
func Restored(ctx context.Context, readers *sqlite.Readers) (RestoreNote, bool, error) {
	var n RestoreNote
	err := readers.QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", keyRestored).Scan(sqlite.JSON(&n))
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	return n, err == nil, err
}

// BackupLeftovers lists what an interrupted restore or backup has left in a state folder. They are of no use to anybody while no restore
// and no backup is at work.
func BackupLeftovers(state string) ([]string, error) {
	var found []string
	for _, pattern := range []string{
		sqlite.Staging, "hob.db" + sqlite.Kept + "*" + sqlite.Unfinished,
		filepath.Join("backups", "*"+sqlite.Unfinished), filepath.Join("backups", "*"+sqlite.Unfinished+"-journal"),
	} {
		list, err := filepath.Glob(filepath.Join(escapedPattern(state), pattern))
		if err != nil {
			return nil, fmt.Errorf("look for leftovers: %w", err)
		}
		found = append(found, list...)
	}
	return found, nil
}
