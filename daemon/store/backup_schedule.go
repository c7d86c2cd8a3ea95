package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
	"hob/daemon/text"
)

// BackupSchedule makes copies by schedule and on request. All fields are required.
type BackupSchedule struct {
	State      string                   // hob's state folder; an absolute path
	Plan       func() sqlite.BackupPlan // read at each use
	Migrations fs.FS
	Readers    *sqlite.Readers                                   // of the database
	Copy       func(ctx context.Context, path string) error      // writes one copy to an unused path and checks its structure
	Notice     func(ctx context.Context, key, text string) error // tells the owner, once per key
	Free       func(dir string) (int64, error)                   // free bytes on the folder's disk
	Zone       func() *time.Location                             // the owner's
	Clock      sys.Clock                                         //
	Log        *slog.Logger                                      //
}

// Parameters of the schedule.
const (
	backupRestAfter = time.Hour // pause after a copy failed
	backupSpare     = 256 << 20 // free disk space that must remain, in bytes
)

// Run tells the owner about a restore, once. Then it makes copies when they are due and deletes those that the plan does not keep, until
// ctx ends.
func (k BackupSchedule) Run(ctx context.Context) error {
	// hob holds the lock, so no restore and no upgrade can be running.
	for _, left := range []string{sqlite.Staging, sqlite.Upgrading} {
		if err := os.RemoveAll(filepath.Join(k.State, left)); err != nil {
			return fmt.Errorf("sweep an interrupted restore or upgrade: %w", err)
		}
	}
	if err := k.tellRestored(ctx); err != nil {
		return err
	}
	for sys.Rest(ctx, k.Clock, k.wait(ctx)) {
		if err := k.MakeDue(ctx); err != nil && ctx.Err() == nil {
			// The pause is measured with the monotonic clock: a change of the wall time neither ends nor extends it.
			sys.Sleep(ctx, backupRestAfter)
		}
	}
	return nil
}

// wait returns the time until the next copy, at least a minute, so that a start is not slowed down by a copy. A failure to find it out is left to MakeDue, which tells the owner.
func (k BackupSchedule) wait(ctx context.Context) time.Duration {
	next, _, err := k.next(ctx)
	switch {
	case err != nil:
		return time.Minute
	case next.IsZero():
		return sys.LongestSleep
	}
	return max(next.Sub(k.Clock.Wall()), time.Minute)
}

// MakeDue makes a copy if one is due. Only after the new copy has been verified does it delete old ones. If a copy fails, the owner gets a notice
// once a day.
func (k BackupSchedule) MakeDue(ctx context.Context) error {
	err := k.makeDue(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	k.Log.Error("no backup was made", "err", err)
	today := k.Clock.Wall().In(k.Zone()).Format(time.DateOnly)
	return errors.Join(err, k.Notice(ctx, "backup:"+today, "No backup was made: "+err.Error()+". I try again every hour; hob doctor says more."))
}

// makeDue makes a backup if one is due, and removes the backups that the plan no longer needs.
//
// The age of the newest backup on disk decides whether one is due, so that backups made before a restart, or by hand, count as well. A new
// database is not backed up before it has the age of one interval.
func (k BackupSchedule) makeDue(ctx context.Context) error {
	next, size, err := k.next(ctx)
	if now := k.Clock.Wall(); err != nil || next.IsZero() || next.After(now) {
		return err
	}
	// A full disk would stop hob itself; a missing backup does not.
	free, err := k.Free(k.State)
	if err != nil {
		return err
	}
	if free < size+backupSpare {
		return event.NewFault(event.Unavailable, "free some space", "the disk is nearly full: %d MB are free, and a copy takes %d MB", free>>20, size>>20)
	}
	r, err := k.Save(ctx, filepath.Join(sqlite.BackupFolder(k.State), sqlite.AutoBackupName(k.Clock.Wall())))
	if err != nil {
		return err
	}
	k.Log.Info("backup made", "path", r.Path, "bytes", r.Bytes)
	// Remove old backups only after the new one is complete.
	list, err := sqlite.ListBackups(sqlite.BackupFolder(k.State))
	if err != nil {
		return err
	}
	for _, f := range k.Plan().Surplus(list, k.Zone()) {
		if err := sqlite.RemoveCopy(f.Path); err != nil {
			return fmt.Errorf("throw away an old backup: %w", err)
		}
	}
	return nil
}

// next returns when the next copy is due, zero for never, and the size of the database in bytes.
func (k BackupSchedule) next(ctx context.Context) (next time.Time, size int64, err error) {
	var born time.Time
	err = k.Readers.QueryRowContext(ctx, "SELECT created, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) FROM instance").Scan(sqlite.Stamp(&born), &size)
	if err != nil {
		return next, 0, fmt.Errorf("read the age of the database: %w", err)
	}
	list, err := sqlite.ListBackups(sqlite.BackupFolder(k.State))
	if err != nil {
		return next, 0, err
	}
	return k.Plan().Next(list, born, k.Clock.Wall(), k.Zone()), size, nil
}

// Save makes a copy, which Copy checks, and sums it up; a bad copy is deleted. An empty path means a new name in the backup folder. An existing file is not
// overwritten.
func (k BackupSchedule) Save(ctx context.Context, path string) (BackupReport, error) {
	if path == "" {
		path = filepath.Join(sqlite.BackupFolder(k.State), sqlite.HandBackupName(k.Clock.Wall()))
	}
	// Only hob's own folder is created. A missing folder that the caller named is an error.
	if filepath.Dir(path) == sqlite.BackupFolder(k.State) {
		if err := os.MkdirAll(sqlite.BackupFolder(k.State), 0o700); err != nil {
			return BackupReport{}, &event.Fault{Kind: event.Clash, Text: "the folder for copies cannot be made: " + err.Error(), Hint: "hob makes state/backups itself: move what has that name away", Err: err}
		}
	}
	if err := k.Copy(ctx, path); err != nil {
		return BackupReport{}, err
	}
	r, err := reportCopy(ctx, path, k.Migrations)
	if err != nil {
		return BackupReport{}, errors.Join(err, sqlite.RemoveCopy(path))
	}
	return r, nil
}

// tellRestored tells the owner once per restore which rows are held because of it.
func (k BackupSchedule) tellRestored(ctx context.Context) error {
	n, ok, err := Restored(ctx, k.Readers)
	if err != nil || !ok {
		return err
	}
	text := fmt.Sprintf("My database was restored from a backup of %s. What happened since is forgotten.", text.InZone(n.Taken, k.Zone(), false))
	if n.Messages > 0 || n.Inputs > 0 {
		text += fmt.Sprintf(" I hold what may have gone out or been answered since. Messages: %d (hob outbox list --state held); inputs: %d (hob inbox list --state held). hob outbox retry ID and hob inbox retry SEQ let one go on.",
			n.Messages, n.Inputs)
	}
	return k.Notice(ctx, "restored:"+n.At.UTC().Format(time.RFC3339Nano), text)
}
