package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
)

// The types of backups that the command line uses.
type (
	// BackupReport sums up the content of a database file.
	BackupReport = store.BackupReport
	// BackupFile is a copy in the folder of backups.
	BackupFile = sqlite.BackupFile
	// BackupLoss sums up what a restore would lose.
	BackupLoss = store.BackupLoss
	// RestoreNote says what is held after a restore.
	RestoreNote = store.RestoreNote
)

// VerifyBackup sums up a copy, or returns why it is damaged.
// It reads only the copy, so it also works while a hob runs.
func VerifyBackup(ctx context.Context, path string) (BackupReport, error) {
	// The lock file is beside the database of a home only, so it tells the database from a copy.
	if _, err := os.Lstat(filepath.Join(filepath.Dir(path), "hob.lock")); err == nil && filepath.Base(path) == "hob.db" {
		return BackupReport{}, event.NewFault(event.Invalid, "hob doctor looks at it; hob backup create makes a copy", "%s is the database itself, no copy of it", path)
	}
	r, err := store.VerifyBackup(ctx, path, store.Migrations())
	return r, store.BackupFault(path, err)
}

// CheckDatabase sums up the database of a home. The error is ErrRunning while a hob runs, os.ErrNotExist when there is none yet, one for which
// IsDamage is true, or a fault that says why the database cannot be checked.
func CheckDatabase(ctx context.Context, home string) (BackupReport, error) {
	r, err := store.InspectDatabase(ctx, Options{Home: home}.database(), store.Migrations())
	if errors.Is(err, os.ErrNotExist) || IsDamage(err) {
		return r, err
	}
	return r, startFault(home, err)
}

// IsDamage reports whether an error says that the file of a database is damaged, or is no database of hob.
func IsDamage(err error) bool {
	return errors.Is(err, sqlite.ErrCorrupt) || errors.Is(err, sqlite.ErrForeign)
}

// NewestBackup returns the newest copy of a list from Backups, nil if there is none.
func NewestBackup(list []BackupFile) *BackupFile { return sqlite.Newest(list) }

// Backups lists the copies in the folder of a home, newest first. It opens none.
func Backups(home string) ([]BackupFile, error) {
	return sqlite.ListBackups(sqlite.BackupFolder(Options{Home: home}.state()))
}

// Leftovers lists what an interrupted restore or backup has left in a home. It is not needed while no hob runs.
func Leftovers(home string) ([]string, error) {
	o := Options{Home: home}
	list, err := store.BackupLeftovers(o.state())
	// A restore with its mark is not left over: the next start finishes it.
	if stage := filepath.Join(o.state(), wholeStage); exists(stage) && !exists(filepath.Join(o.state(), filepath.FromSlash(wholeMark))) {
		list = append(list, stage)
	}
	return list, err
}

// RestoreLoss returns what a restore would lose. The error is ErrRunning while a hob runs.
func RestoreLoss(ctx context.Context, home string, r BackupReport) (BackupLoss, error) {
	o := Options{Home: home}
	if err := o.writable(o.state(), o.lock()); err != nil {
		return BackupLoss{}, err
	}
	loss, err := store.BackupLoses(ctx, o.database(), store.Migrations(), r)
	return loss, startFault(home, err)
}

// RestoreBackup replaces the database of a home by a copy, and removes the index that was made from it. kept is where the old database stays; "": there was
// none. The error is ErrRunning while a hob runs.
func RestoreBackup(ctx context.Context, home, from string) (n RestoreNote, kept string, err error) {
	o := Options{Home: home}
	if err := o.prepare(); err != nil {
		return n, "", err
	}
	if err := o.writable(o.state(), o.lock(), sqlite.BackupFolder(o.state())); err != nil {
		return n, "", err
	}
	if err := o.resumeWhole(); err != nil {
		return n, "", startFault(home, err)
	}
	// A copy of an older hob is allowed: the store checks the copy against the migrations of this one.
	n, kept, err = store.RestoreBackup(ctx, o.database(), from, store.Migrations(), sys.RealClock().Wall)
	if err != nil {
		return n, kept, store.BackupFault(from, err)
	}
	// The index of the memory is of the database that was replaced.
	return n, kept, toolset.RemoveMemory(o.state())
}

func (o Options) database() string { return filepath.Join(o.state(), "hob.db") }

// backupSchedule makes copies of this hob's database with the settings of the config at that moment.
func (d *daemon) backupSchedule() store.BackupSchedule {
	return store.BackupSchedule{
		State: d.opt.state(), Migrations: store.Migrations(), Readers: d.store.Reader(), Copy: d.store.Backups.Backup, Notice: d.store.Events.Notice,
		Free: sys.DiskFree, Zone: d.zone.location, Clock: d.clock, Log: d.log,
		// The schedule asks for the plan at each look, so a reload of the config needs no restart. The zero plan makes no copies.
		Plan: func() sqlite.BackupPlan {
			c := d.config().Backup
			if c.Daily == 0 {
				return sqlite.BackupPlan{}
			}
			return sqlite.BackupPlan{Every: c.Every, Daily: c.Daily, Weekly: c.Weekly}
		},
	}
}

// createBackup makes a copy and verifies it.
func createBackup(ctx context.Context, d *daemon, in api.BackupPath) (api.Backup, error) {
	// MS of the answer covers both the copy and its verification.
	start := d.clock.Mono()
	path := backupPath(d.opt, in.Path, sqlite.HandBackupName(d.clock.Wall()))
	r, err := d.backups.Save(ctx, path)
	if err != nil {
		return api.Backup{}, backupFault(path, err)
	}
	return api.Backup{BackupReport: r, MS: (d.clock.Mono() - start).Milliseconds()}, nil
}

// backupPath returns where a backup is written: in the backup folder if no path is given, and in a folder that the path names.
func backupPath(o Options, path, name string) string {
	if path == "" {
		return filepath.Join(sqlite.BackupFolder(o.state()), name)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, name)
	}
	return path
}

// backupFault turns an error of writing a backup into a sentence with a hint.
func backupFault(path string, err error) error {
	const hint = "choose a folder that exists and that hob may write to"
	switch {
	// Save never overwrites a file.
	case errors.Is(err, fs.ErrExist):
		return &event.Fault{Kind: event.Clash, Text: "there is a file " + path + " already", Hint: "choose another path", Err: err}
	case errors.Is(err, os.ErrNotExist):
		return &event.Fault{Kind: event.Invalid, Text: "there is no folder " + filepath.Dir(path), Hint: hint, Err: err}
	case errors.Is(err, os.ErrPermission):
		return &event.Fault{Kind: event.Invalid, Text: "hob may not write to " + filepath.Dir(path), Hint: hint, Err: err}
	}
	return err
}

// fullDisk turns the system's error of a full disk into a sentence with a hint.
func fullDisk(err error) error {
	if errors.Is(err, errNoSpace) {
		return &event.Fault{Kind: event.Unavailable, Text: "the disk is full: nothing was changed", Hint: "free some space, or name a path on another disk", Err: err}
	}
	return err
}
