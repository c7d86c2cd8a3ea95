package backup

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

// File is a copy in the folder of backups.
type File struct {
	Path  string    `json:"path"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	Auto  bool      `json:"auto"` // made by schedule, and thrown away by it; nothing else ever is
}

// The names of copies: made by schedule, and by hand. Their times are in UTC.
const (
	autoName = "hob-auto-20060102-150405.db"
	handName = "hob-20060102-150405.000.db"
)

// AutoName is the name of a copy that the schedule makes.
func AutoName(now time.Time) string { return now.UTC().Format(autoName) }

// HandName is the name of a copy that somebody asked for without giving it one.
func HandName(now time.Time) string { return now.UTC().Format(handName) }

// List lists the copies in a folder, newest first. It opens none of them. A folder that is not there has none.
func List(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return []File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	list := []File{}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), ".db")) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		f := File{Path: filepath.Join(dir, e.Name()), Bytes: info.Size(), Made: info.ModTime().UTC()}
		if made, err := time.Parse(autoName, e.Name()); err == nil && AutoName(made) == e.Name() {
			f.Made, f.Auto = made, true
		} else if made, err := time.Parse(handName, e.Name()); err == nil {
			f.Made = made
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b File) int { return b.Made.Compare(a.Made) })
	return list, nil
}

// escaped takes their meaning from the characters of a pattern in a path. Windows has no way to do that, and names hold none of them but [.
func escaped(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Unfinished ends the name of a copy that is being written.
const Unfinished = sqlite.Unfinished
