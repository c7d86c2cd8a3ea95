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

	Upgrade  int  `json:"upgrade,omitempty"`  // the schema of a database as it was before an upgrade; hob keeps the newest UpgradesKept
	Replaced bool `json:"replaced,omitempty"` // a database that a restore has replaced; it is never deleted
	Whole    bool `json:"whole,omitempty"`    // a whole backup, not only the database
}

// The file names of copies: made by the schedule, made by hand, and kept by a restore. Their times are in UTC.
const (
	autoBackupName = "hob-auto-20060102-150405.db"
	handBackupName = "hob-20060102-150405.000.db"
	replacedName   = "hob-before-restore-20060102-150405.000.db"
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

// WholeKept is the folder, inside a state folder, with one folder for each restore of a whole backup: the part of the home that it has replaced.
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
		f.readName(e.Name())
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b BackupFile) int { return b.Made.Compare(a.Made) })
	return list, nil
}

// readName takes what the name says, if hob gave it: its time is right also after the file was copied.
func (f *BackupFile) readName(name string) {
	ending := ".db"
	for _, whole := range []string{SealedBackup, WholeBackup} {
		if f.Whole && strings.HasSuffix(name, whole) {
			ending = whole
			break
		}
	}
	if made, err := time.Parse(autoBackupName, name); err == nil && AutoBackupName(made) == name {
		f.Made, f.Auto = made, true
	} else if made, err := time.Parse(handBackupName, strings.TrimSuffix(name, ending)+".db"); err == nil {
		f.Made = made
	} else if made, err := time.Parse(replacedName, name); err == nil {
		f.Made, f.Replaced = made, true
	} else if m := upgradeName().FindStringSubmatch(name); m != nil {
		// Both parts are digits, as the expression says; a date that does not exist leaves the time of the file.
		f.Upgrade, _ = strconv.Atoi(m[1])
		if made, err := time.Parse("20060102-150405", m[2]); err == nil {
			f.Made = made
		}
	}
}

// Newest returns the newest copy of a list from ListBackups, nil if there is none. A database that a restore has replaced counts only if there is nothing
// else: its owner did not want it.
func Newest(list []BackupFile) *BackupFile {
	for i, f := range list {
		if !f.Replaced {
			return &list[i]
		}
	}
	if len(list) > 0 {
		return &list[0]
	}
	return nil
}

// BackupsSince lists the copies that were made at an instant or later, newest first: those in the backup folder, and what restores and earlier versions
// left in the state folder. Copies in other places are not known.
func BackupsSince(state string, since time.Time) ([]string, error) {
	list, err := ListBackups(BackupFolder(state))
	if err != nil {
		return nil, err
	}
	left := []string{"hob.db.before-migration", "hob.db.before-restore", filepath.Join(WholeKept, "state", "hob.db")}
	restores, err := os.ReadDir(filepath.Join(state, WholeKept))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list what restores have replaced: %w", err)
	}
	for _, r := range restores {
		left = append(left, filepath.Join(WholeKept, r.Name(), "state", "hob.db"))
	}
	for _, name := range left {
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
