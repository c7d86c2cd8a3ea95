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
)

// BackupSchedule makes copies, by schedule and by hand. All fields are needed.
type BackupSchedule struct {
	State      string            // hob's state folder, absolute
	Plan       func() BackupPlan // as it is now
	Migrations fs.FS
	Readers    *sqlite.Readers                                   // of the database
	Copy       func(ctx context.Context, path string) error      // writes one copy to a path that is free
	Notice     func(ctx context.Context, key, text string) error // tells the owner, once for each key
	Free       func(dir string) (int64, error)                   // bytes on its disk
	Zone       func() *time.Location                             // the owner's
	Clock      sys.Clock                                         //
	Log        *slog.Logger                                      //
}

// How copies are made by schedule.
const (
	backupLookEvery = time.Minute // whether one is due: timers stand still while the machine sleeps
	backupRestAfter = time.Hour   // one that could not be made
	backupSpare     = 256 << 20   // bytes that a copy leaves free on the disk
)

// BackupFolder is where copies stand in a state folder.
func BackupFolder(state string) string { return filepath.Join(state, "backups") }

// Run tells the owner, once, that the database was restored; then it makes copies when they are due and throws away what the plan
// does not keep, until ctx ends.
func (k BackupSchedule) Run(ctx context.Context) error {
	if err := os.RemoveAll(filepath.Join(k.State, sqlite.Staging)); err != nil {
		return fmt.Errorf("sweep an interrupted restore: %w", err)
	}
	if err := k.tellRestored(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(backupLookEvery)
	defer tick.Stop()
	var rest time.Duration
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if k.Clock.Mono() < rest {
			continue
		}
		if err := k.Look(ctx); err != nil && ctx.Err() == nil {
			rest = k.Clock.Mono() + backupRestAfter
		}
	}
}

// Look makes the copy that is due, if one is, and throws away what the plan does not keep: only after a new one has been looked at.
// When it cannot be made, the owner is told once a day.
func (k BackupSchedule) Look(ctx context.Context) error {
	err := k.keep(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	k.Log.Error("no backup was made", "err", err)
	today := k.Clock.Wall().In(k.Zone()).Format(time.DateOnly)
	return errors.Join(err, k.Notice(ctx, "backup:"+today, "No backup was made: "+err.Error()+". I try again every hour; hob doctor says more."))
}

func (k BackupSchedule) keep(ctx context.Context) error {
	var born time.Time
	var size int64
	err := k.Readers.QueryRowContext(ctx, "SELECT created, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) FROM instance").Scan(sqlite.Stamp(&born), &size)
	if err != nil {
		return fmt.Errorf("read the age of the database: %w", err)
	}
	list, err := ListBackups(BackupFolder(k.State))
	if err != nil {
		return err
	}
	now := k.Clock.Wall()
	if next := k.Plan().Next(list, born, now, k.Zone()); next.IsZero() || next.After(now) {
		return nil
	}
	free, err := k.Free(k.State)
	if err != nil {
		return err
	}
	if free < size+backupSpare {
		return event.NewFault(event.Unavailable, "free some space", "the disk is nearly full: %d MB are free, and a copy takes %d MB", free>>20, size>>20)
	}
	r, err := k.Save(ctx, filepath.Join(BackupFolder(k.State), AutoBackupName(now)))
	if err != nil {
		return err
	}
	k.Log.Info("backup made", "path", r.Path, "bytes", r.Bytes)
	if list, err = ListBackups(BackupFolder(k.State)); err != nil {
		return err
	}
	for _, f := range k.Plan().Surplus(list, k.Zone()) {
		if err := sqlite.RemoveCopy(f.Path); err != nil {
			return fmt.Errorf("throw away an old backup: %w", err)
		}
	}
	return nil
}

// Save makes a copy and looks at it; one that is not good is not left there. "" is a name of its own in the folder of copies.
// A file that is there already is not overwritten.
func (k BackupSchedule) Save(ctx context.Context, path string) (BackupReport, error) {
	if path == "" {
		path = filepath.Join(BackupFolder(k.State), HandBackupName(k.Clock.Wall()))
	}
	if filepath.Dir(path) == BackupFolder(k.State) {
		if err := os.MkdirAll(BackupFolder(k.State), 0o700); err != nil {
			return BackupReport{}, fmt.Errorf("make backup folder: %w", err)
		}
	}
	if err := k.Copy(ctx, path); err != nil {
		return BackupReport{}, err
	}
	r, err := VerifyBackup(ctx, path, k.Migrations)
	if err != nil {
		return BackupReport{}, errors.Join(err, sqlite.RemoveCopy(path))
	}
	return r, nil
}

// tellRestored tells the owner what was held when the database was restored: once for each restore.
func (k BackupSchedule) tellRestored(ctx context.Context) error {
	n, ok, err := Restored(ctx, k.Readers)
	if err != nil || !ok {
		return err
	}
	text := fmt.Sprintf("My database was restored from a backup of %s. What happened since is forgotten.", n.Taken.In(k.Zone()).Format("2006-01-02 15:04 MST"))
	if n.Messages > 0 || n.Inputs > 0 {
		text += fmt.Sprintf(" I hold what may have gone out or been answered since. Messages: %d (hob outbox list --state held); inputs: %d (hob inbox list --state held). hob outbox retry ID and hob inbox retry SEQ let one go on.",
			n.Messages, n.Inputs)
	}
	return k.Notice(ctx, "restored:"+n.At.UTC().Format(time.RFC3339Nano), text)
}
