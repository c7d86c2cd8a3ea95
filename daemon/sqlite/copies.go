package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/sys"
)

// BackupFile is a copy in the backup folder.
type BackupFile struct {
	Path  string    `json:"path"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	Auto  bool      `json:"auto"` // made by the schedule, which also deletes it; copies made by hand are never deleted

	Upgrade int  `json:"upgrade,omitempty"` // the schema of a database as it was before an upgrade; hob keeps the newest UpgradesKept
	Whole   bool `json:"whole,omitempty"`   // a whole backup, not only the database
}

// The file names of copies: made by the schedule, and made by hand. Their times are in UTC.
const (
	autoBackupName = "hob-auto-20060102-150405.db"
	handBackupName = "hob-20060102-150405.000.db"
)

// The suffixes of a whole backup, plain and encrypted, in place of ".db".
const (
	WholeBackup  = ".tar.gz"
	SealedBackup = WholeBackup + ".age"
)

// upgradeName is the name of a database as it was before an upgrade: its schema, and when.
var upgradeName = sys.Regexp(`^hob-upgrade-([0-9]{1,6})-([0-9]{8}-[0-9]{6})\.db$`)

// AutoBackupName returns the name of a copy that the schedule makes.
func AutoBackupName(now time.Time) string { return now.UTC().Format(autoBackupName) }

// HandBackupName returns the name of a copy that was requested without a name.
func HandBackupName(now time.Time) string { return now.UTC().Format(handBackupName) }

// Scratch begins the names of folders, inside the backup folder, in which a whole backup is prepared.
const Scratch = "whole-"

// WholeKept is the folder, inside a state folder, of what the last restore of a whole backup has replaced.
const WholeKept = "before-restore"

// BackupFolder returns the folder for copies inside a state folder.
func BackupFolder(state string) string { return filepath.Join(state, "backups") }

// ListBackups lists the copies in a folder, newest first, without opening them. A missing folder is empty.
func ListBackups(dir string) ([]BackupFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return []BackupFile{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	list := []BackupFile{}
	for _, e := range entries {
		info, err := e.Info()
		whole := strings.HasSuffix(e.Name(), WholeBackup) || strings.HasSuffix(e.Name(), SealedBackup)
		if errors.Is(err, os.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".db") && !whole) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		f := BackupFile{Path: filepath.Join(dir, e.Name()), Bytes: info.Size(), Made: info.ModTime().UTC(), Whole: whole}
		// A name that hob gave holds the time more exactly than the file system.
		if made, err := time.Parse(autoBackupName, e.Name()); err == nil && AutoBackupName(made) == e.Name() {
			f.Made, f.Auto = made, true
		} else if made, err := time.Parse(handBackupName, e.Name()); err == nil {
			f.Made = made
		} else if m := upgradeName().FindStringSubmatch(e.Name()); m != nil {
			// Both parts are digits, as the expression says; a date that does not exist leaves the time of the file.
			f.Upgrade, _ = strconv.Atoi(m[1])
			if made, err := time.Parse("20060102-150405", m[2]); err == nil {
				f.Made = made
			}
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b BackupFile) int { return b.Made.Compare(a.Made) })
	return list, nil
}

// BackupsSince lists the copies that were made at an instant or later, newest first: those in the backup folder, and those that earlier versions and the last restore left
// in the state folder. Copies in other places are not known.
func BackupsSince(state string, since time.Time) ([]string, error) {
	list, err := ListBackups(BackupFolder(state))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hob.db.before-migration", "hob.db.before-restore", filepath.Join(WholeKept, "state", "hob.db")} {
		if info, err := os.Stat(filepath.Join(state, name)); err == nil {
			list = append(list, BackupFile{Path: filepath.Join(state, name), Made: info.ModTime()})
		}
	}
	paths := []string{}
	for _, f := range list {
		if !f.Made.Before(since) {
			paths = append(paths, f.Path)
		}
	}
	return paths, nil
}
