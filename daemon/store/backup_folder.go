package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hob/daemon/sqlite"
)

// BackupFile is a copy in the folder of backups.
type BackupFile struct {
	Path  string    `json:"path"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	Auto  bool      `json:"auto"` // made by schedule, and thrown away by it; nothing else ever is
}

// The names of copies: made by schedule, and by hand. Their times are in UTC.
const (
	autoBackupName = "hob-auto-20060102-150405.db"
	handBackupName = "hob-20060102-150405.000.db"
)

// AutoBackupName is the name of a copy that the schedule makes.
func AutoBackupName(now time.Time) string { return now.UTC().Format(autoBackupName) }

// HandBackupName is the name of a copy that somebody asked for without giving it one.
func HandBackupName(now time.Time) string { return now.UTC().Format(handBackupName) }

// ListBackups lists the copies in a folder, newest first. It opens none of them. A folder that is not there has none.
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

// escapedPattern takes their meaning from the characters of a pattern in a path. Windows has no way to do that, and names hold none of them but [.
func escapedPattern(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// UnfinishedBackup ends the name of a copy that is being written.
const UnfinishedBackup = sqlite.Unfinished
