package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/sqlite"
)

// BackupLoss is the data that a restore would lose.
type BackupLoss struct {
	Newest   time.Time `json:"newest,omitzero"` // the newest event in the present database
	Messages int64     `json:"messages"`
	Turns    int64     `json:"turns"`
	Sent     int64     `json:"sent"`
	Foreign  bool      `json:"foreign,omitempty"` // the two belong to different installations
	Damaged  string    `json:"damaged,omitempty"` // why the comparison is impossible
}

// BackupLoses compares the database at path with a backup that would replace it. A missing or damaged database is not an error;
// sqlite.ErrLocked is, because hob is running.
func BackupLoses(ctx context.Context, path string, migrations fs.FS, r BackupReport) (BackupLoss, error) {
	return backupLoses(ctx, sqlite.Inspect, path, migrations, r)
}

// BackupLosesLocked is BackupLoses for a caller that holds the lock of the state folder.
func BackupLosesLocked(ctx context.Context, path string, migrations fs.FS, r BackupReport) (BackupLoss, error) {
	return backupLoses(ctx, sqlite.InspectLocked, path, migrations, r)
}

func backupLoses(ctx context.Context, inspect inspection, path string, migrations fs.FS, r BackupReport) (BackupLoss, error) {
	var l BackupLoss
	var now BackupReport
	since := sqlite.Micros(r.Newest)
	err := inspect(ctx, path, migrations, func(tx *sqlite.Conn) error {
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

// RestoreNote records a restore and the rows that it holds.
type RestoreNote struct {
	At       time.Time `json:"at"`       // time of the restore
	From     string    `json:"from"`     // the backup
	Taken    time.Time `json:"taken"`    // the newest event in the backup
	Messages int64     `json:"messages"` // held outbox rows, which may have been sent since the backup
	Inputs   int64     `json:"inputs"`   // held inbox rows, which may have been answered since the backup
	Turns    int64     `json:"turns"`    // open turns, which continue as after a crash

	after int64 // the newest event of the database that is replaced
}

// keyRestored is the setting with the note of the last restore.
const keyRestored = "restored"

// RestoreBackup replaces the database at path by a backup. Nobody can know what was sent or answered since the backup. Messages and inputs
// that waited then are therefore held, in the commit that writes the note. kept is where the old database stays; "": there was none. The errors are those
// of VerifyBackup, and sqlite.ErrLocked while hob is running.
func RestoreBackup(ctx context.Context, path, from string, migrations fs.FS, now func() time.Time) (n RestoreNote, kept string, err error) {
	r, err := VerifyBackup(ctx, from, migrations)
	if err != nil {
		return n, "", err
	}
	n = RestoreNote{At: now(), From: from, Taken: r.Newest}
	o := sqlite.Options{Path: path, Migrations: migrations, Now: now}
	n.after = lastEvent(ctx, path, migrations)
	kept, err = sqlite.Restore(ctx, o, from, n.hold)
	return n, kept, err
}

// PrepareRestored makes the database of a whole backup ready, in the folder in which it waits to take the place of the one at old: it gets the
// newest schema, and holds what RestoreBackup holds. The caller holds the lock of the state folder.
func PrepareRestored(ctx context.Context, path, from, old string, migrations fs.FS, now func() time.Time) (RestoreNote, BackupReport, error) {
	r, err := VerifyBackup(ctx, path, migrations)
	if err != nil {
		return RestoreNote{}, r, err
	}
	n := RestoreNote{At: now(), From: from, Taken: r.Newest, after: lastEvent(ctx, old, migrations)}
	o := sqlite.Options{Path: path, Migrations: migrations, Now: now}
	return n, r, sqlite.Prepare(ctx, o, n.hold)
}

// lastEvent returns the number of the newest event of the database that a restore replaces, which may be damaged; 0 if there is none, or if it
// cannot be read.
func lastEvent(ctx context.Context, path string, migrations fs.FS) (seq int64) {
	err := sqlite.Peek(ctx, path, migrations, func(tx *sqlite.Conn) error {
		return tx.One("SELECT coalesce(max(seq), 0) FROM events", nil, &seq)
	})
	if err != nil {
		return 0
	}
	return seq
}

// hold holds the waiting rows and writes the note.
func (n *RestoreNote) hold(tx *sqlite.Conn) (err error) {
	const why = "restored from a backup: it may have gone out since" // the notice has the time
	if n.Messages, err = tx.Change("UPDATE outbox SET state = 'held', reason = ? WHERE state = 'ready'", why); err != nil {
		return fmt.Errorf("hold messages: %w", err)
	}
	// A turn with a draft continues and needs the draft's key. It reuses a message that was delivered; any other draft is abandoned.
	if err := tx.Run(`UPDATE outbox SET state = 'cancelled', key = replace(key, ':final', ':draft'), ended = ?, reason = ? WHERE state = 'draft'
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.state = 'sent')`, sqlite.Micros(n.At), why); err != nil {
		return fmt.Errorf("give up drafts: %w", err)
	}
	// The process that was sending them is gone. Whether they arrived was unknown in the backup already.
	if err := tx.Run("UPDATE deliveries SET state = 'unknown', error = ? WHERE state = 'sending'", why); err != nil {
		return fmt.Errorf("hold deliveries: %w", err)
	}
	if n.Inputs, err = tx.Change("UPDATE inbox SET state = 'held', reason = ? WHERE state = 'queued'", n.Unanswered()); err != nil {
		return fmt.Errorf("hold inputs: %w", err)
	}
	// The copy was made while hob was running, so its newest boot is open. That is no crash.
	if err := tx.Run("UPDATE boots SET clean = 1 WHERE epoch = (SELECT max(epoch) FROM boots)"); err != nil {
		return fmt.Errorf("close the last boot: %w", err)
	}
	// The answers to questions about an earlier restore do not apply to this one.
	if err := tx.Run("DELETE FROM catchups"); err != nil {
		return fmt.Errorf("forget an earlier restore: %w", err)
	}
	// A client that follows the events goes on at a number of the old database. Lower numbers would be lost to it. The event has the time of the
	// backup, because the newest event tells when hob was last there.
	if err := tx.Run("INSERT INTO events (seq, type, at) SELECT max(?, coalesce(max(seq), 0)) + 1, 'database.restored', ? FROM events", n.after, sqlite.Micros(n.Taken)); err != nil {
		return fmt.Errorf("note the restore: %w", err)
	}
	if err := tx.One("SELECT count(*) FROM turns WHERE state IN ('ready', 'running', 'waiting')", nil, &n.Turns); err != nil {
		return fmt.Errorf("count open turns: %w", err)
	}
	// The daemon reads the note at its next start: BackupSchedule tells the owner, holdRestored holds late messages.
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the note: %w", err)
	}
	return tx.Run("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", keyRestored, string(text))
}

// Unanswered is the reason of a held inbox row.
func (n RestoreNote) Unanswered() string {
	return "restored from a backup: it may have been answered since"
}

// restoredIn is Restored inside a transaction.
func restoredIn(tx *Tx) (RestoreNote, bool, error) {
	var n RestoreNote
	err := tx.One("SELECT value FROM settings WHERE key = ?", []any{keyRestored}, sqlite.JSON(&n))
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	return n, err == nil, err
}

// Restored returns the note of the last restore; false if there was none.
func Restored(ctx context.Context, readers *sqlite.Readers) (RestoreNote, bool, error) {
	var n RestoreNote
	err := readers.QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", keyRestored).Scan(sqlite.JSON(&n))
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	return n, err == nil, err
}

// BackupLeftovers lists the files that an interrupted restore or backup has left in a state folder. They are useless unless one is running.
func BackupLeftovers(state string) ([]string, error) {
	var found []string
	for _, pattern := range []string{
		sqlite.Staging, sqlite.Upgrading,
		"backups/*" + sqlite.Unfinished, "backups/*" + sqlite.Unfinished + "-journal", "backups/" + sqlite.Scratch + "*",
	} {
		names, err := fs.Glob(os.DirFS(state), pattern) // the folder itself may have any name
		if err != nil {
			return nil, fmt.Errorf("look for leftovers: %w", err)
		}
		for _, name := range names {
			found = append(found, filepath.Join(state, name))
		}
	}
	return found, nil
}
