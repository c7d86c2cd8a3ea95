package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// BackupFile is a copy in the backup folder.
type BackupFile struct {
	Path  string    `json:"path"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	Auto  bool      `json:"auto"` // made by the schedule, which also deletes it; other copies are never deleted
}

// The file names of copies: made by the schedule, and made by hand. Their times are in UTC.
const (
	autoBackupName = "hob-auto-20060102-150405.db"
	handBackupName = "hob-20060102-150405.000.db"
)

// AutoBackupName returns the name of a copy that the schedule makes.
func AutoBackupName(now time.Time) string { return now.UTC().Format(autoBackupName) }

// HandBackupName returns the name of a copy that was requested without a name.
func HandBackupName(now time.Time) string { return now.UTC().Format(handBackupName) }

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
		if errors.Is(err, os.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".db")) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		f := BackupFile{Path: filepath.Join(dir, e.Name()), Bytes: info.Size(), Made: info.ModTime().UTC()}
		// A name that hob gave holds the time more exactly than the file system.
		if made, err := time.Parse(autoBackupName, e.Name()); err == nil && AutoBackupName(made) == e.Name() {
			f.Made, f.Auto = made, true
		} else if made, err := time.Parse(handBackupName, e.Name()); err == nil {
			f.Made = made
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b BackupFile) int { return b.Made.Compare(a.Made) })
	return list, nil
}

// BackupsSince lists the copies that were made at an instant or later, newest first: those in the backup folder, and those that the last migration and the last restore left
// in the state folder. Copies in other places are not known.
func BackupsSince(state string, since time.Time) ([]string, error) {
	list, err := ListBackups(BackupFolder(state))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hob.db.before-migration", "hob.db.before-restore"} {
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
