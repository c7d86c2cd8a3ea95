package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/clock"
	"hob/daemon/disk"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/backup"
	"hob/daemon/store/db"
)

// What the command line knows about copies of the database.
type (
	// BackupReport is what a database file holds.
	BackupReport = backup.Report
	// BackupFile is a copy in the folder of backups.
	BackupFile = backup.File
	// BackupLoss is what a database knows and a backup does not.
	BackupLoss = backup.Lost
	// RestoreNote says what is held after a restore.
	RestoreNote = backup.Note
)

// VerifyBackup says what a copy holds, or why it is not to be relied on.
func VerifyBackup(ctx context.Context, path string) (BackupReport, error) {
	files, err := store.Migrations()
	if err != nil {
		return BackupReport{}, err
	}
	if filepath.Base(path) == "hob.db" && exists(filepath.Join(filepath.Dir(path), "hob.lock")) {
		return BackupReport{}, event.NewFault(event.Invalid, "hob doctor looks at it; hob backup create makes a copy", "%s is the database itself, no copy of it", path)
	}
	r, err := backup.Verify(ctx, path, files)
	return r, copyFault(path, err)
}

// CheckDatabase says what the database of a home holds, or what is wrong with it. The error is ErrRunning while a hob runs, and
// os.ErrNotExist when there is none yet.
func CheckDatabase(ctx context.Context, home string) (BackupReport, error) {
	files, err := store.Migrations()
	if err != nil {
		return BackupReport{}, err
	}
	return backup.Inspect(ctx, filepath.Join(Options{Home: home}.state(), "hob.db"), files)
}

// Backups lists the copies in the folder of a home, newest first. It opens none.
func Backups(home string) ([]BackupFile, error) { return backup.List(Options{Home: home}.backups()) }

// Leftovers lists what an interrupted restore or backup has left in a home. Nobody needs it while no hob runs.
func Leftovers(home string) ([]string, error) { return backup.Leftovers(Options{Home: home}.state()) }

// RestoreLoss says what a restore would lose. The error is ErrRunning while a hob runs.
func RestoreLoss(ctx context.Context, home string, r BackupReport) (BackupLoss, error) {
	files, err := store.Migrations()
	if err != nil {
		return BackupLoss{}, err
	}
	return backup.Loses(ctx, filepath.Join(Options{Home: home}.state(), "hob.db"), files, r)
}

// RestoreBackup puts a copy in the place of the database of a home. The error is ErrRunning while a hob runs.
func RestoreBackup(ctx context.Context, home, from string) (RestoreNote, error) {
	o := Options{Home: home}
	if err := o.prepare(); err != nil {
		return RestoreNote{}, err
	}
	files, err := store.Migrations()
	if err != nil {
		return RestoreNote{}, err
	}
	n, err := backup.Restore(ctx, filepath.Join(o.state(), "hob.db"), from, files, clock.Real().Wall)
	return n, copyFault(from, err)
}

func (o Options) backups() string { return filepath.Join(o.state(), "backups") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// copyFault says in one sentence why a copy is not to be relied on.
func copyFault(path string, err error) error {
	f := &event.Fault{Kind: event.Clash, Hint: "hob backup list shows what there is", Err: err}
	switch {
	case err == nil || errors.Is(err, db.ErrLocked):
		return err
	case errors.Is(err, os.ErrNotExist):
		f.Kind, f.Text = event.Missing, "there is no file "+path
	case errors.Is(err, os.ErrPermission):
		f.Kind, f.Text, f.Hint = event.Invalid, path+" is closed to you", "check its owner and rights"
	case errors.Is(err, db.ErrNewer):
		f.Text, f.Hint = path+" cannot be used: "+err.Error(), "use the newer hob"
	case errors.Is(err, db.ErrUnfinished), errors.Is(err, db.ErrForeign), errors.Is(err, db.ErrCorrupt):
		f.Text = path + " cannot be used: " + err.Error()
	default:
		return err
	}
	return f
}

// madeBackup is what hob backup create answers.
type madeBackup struct {
	BackupReport
	MS int64 `json:"ms"`
}

// backup makes a copy and looks at it.
func (a acts) backup(ctx context.Context, path string) (any, error) {
	start := a.clock.Mono()
	r, err := saved(ctx, a.store, path)
	if err != nil {
		return nil, backupFault(err)
	}
	return madeBackup{r, (a.clock.Mono() - start).Milliseconds()}, nil
}

// saved makes a copy that has been looked at. One that is not good is not left there.
func saved(ctx context.Context, s *store.Store, path string) (BackupReport, error) {
	to, _, err := s.Backup(ctx, path)
	if err != nil {
		return BackupReport{}, err
	}
	r, err := VerifyBackup(ctx, to)
	if err != nil {
		return BackupReport{}, errors.Join(err, os.Remove(to))
	}
	return r, nil
}

// How copies are made by themselves.
const (
	backupLook  = time.Minute // between two looks whether one is due; timers stand still while the machine sleeps
	backupPause = time.Hour   // after one that could not be made
	backupSpare = 256 << 20   // bytes that a copy leaves free on the disk
)

// keepBackups makes copies when they are due and throws away what the plan does not keep, until ctx ends. It also tells the owner,
// once, that the database was restored.
func (d conf) keepBackups(ctx context.Context) error {
	if err := os.RemoveAll(filepath.Join(d.opt.state(), db.Staging)); err != nil {
		return fmt.Errorf("sweep an interrupted restore: %w", err)
	}
	if err := d.tellRestored(ctx); err != nil {
		return err
	}
	return copies{d.daemon, backup.DefaultPlan(), disk.Free}.keep(ctx)
}

// copies makes them by schedule.
type copies struct {
	*daemon
	plan backup.Plan
	free func(dir string) (int64, error) // bytes on its disk
}

func (d copies) keep(ctx context.Context) error {
	tick := time.NewTicker(backupLook)
	defer tick.Stop()
	var rest time.Duration
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if d.clock.Mono() < rest {
			continue
		}
		if err := d.look(ctx); err != nil && ctx.Err() == nil {
			rest = d.clock.Mono() + backupPause
			if err := d.missing(ctx, err); err != nil {
				return err
			}
		}
	}
}

// missing tells the owner, once a day, why there is no copy.
func (d copies) missing(ctx context.Context, why error) error {
	d.log.Error("no backup was made", "err", why)
	today := d.clock.Wall().In(d.zone()).Format(time.DateOnly)
	return d.store.Notice(ctx, "backup:"+today, "No backup was made: "+why.Error()+". I try again every hour; hob doctor says more.")
}

// look makes the copy that is due, and throws away what the plan does not keep: only after a new one has been looked at.
func (d copies) look(ctx context.Context) error {
	born, err := backup.Born(ctx, d.store.Reader())
	if err != nil {
		return fmt.Errorf("read the age of the database: %w", err)
	}
	list, err := backup.List(d.opt.backups())
	if err != nil {
		return err
	}
	now := d.clock.Wall()
	if next := d.plan.Next(list, born, now, d.zone()); next.IsZero() || next.After(now) {
		return nil
	}
	if err := d.room(ctx); err != nil {
		return err
	}
	r, err := saved(ctx, d.store, filepath.Join(d.opt.backups(), backup.AutoName(now)))
	if err != nil {
		return err
	}
	d.log.Info("backup made", "path", r.Path, "bytes", r.Bytes)
	if list, err = backup.List(d.opt.backups()); err != nil {
		return err
	}
	for _, f := range d.plan.Surplus(list, d.zone()) {
		if err := os.Remove(f.Path); err != nil {
			return fmt.Errorf("throw away an old backup: %w", err)
		}
	}
	return nil
}

// room refuses a copy that would fill the disk.
func (d copies) room(ctx context.Context) error {
	counts, err := d.view.Counts(ctx)
	if err != nil {
		return err
	}
	free, err := d.free(d.opt.state())
	if err != nil {
		return err
	}
	if free < counts.Bytes+backupSpare {
		return event.NewFault(event.Unavailable, "free some space", "the disk is nearly full: %d MB are free, and a copy takes %d MB", free>>20, counts.Bytes>>20)
	}
	return nil
}

// tellRestored tells the owner what was held when the database was restored: once for each restore.
func (d conf) tellRestored(ctx context.Context) error {
	n, ok, err := backup.Restored(ctx, d.store.Reader())
	if err != nil || !ok {
		return err
	}
	text := fmt.Sprintf("My database was restored from a backup of %s. What happened since is forgotten.", d.local(n.Taken))
	if n.Messages > 0 || n.Inputs > 0 {
		text += fmt.Sprintf(" I hold what may have gone out or been answered since: %s (hob outbox list --state held) and %s (hob inbox list --state held). hob outbox retry ID and hob inbox retry SEQ let one go on.",
			plural(int(n.Messages), "message", "messages"), plural(int(n.Inputs), "input", "inputs"))
	}
	return d.store.Notice(ctx, "restored:"+n.At.UTC().Format(time.RFC3339Nano), text)
}
