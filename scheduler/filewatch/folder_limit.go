package filewatch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MostFolders is how many folders one user of the system can watch, 0 where that is not known.
func MostFolders() int {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0 // another system
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	return n
}

// Exceeds reports whether a watch has more folders than so many; false too where ctx ended before that was known, and with Gitignore, which
// leaves out folders that only the first look finds.
func Exceeds(ctx context.Context, w Watch, most int) bool {
	s, err := newScope(w)
	if err != nil || w.Gitignore {
		return false
	}
	n := 0
	for _, start := range s.starts() {
		err = filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil || n > most:
				return fs.SkipAll
			case err != nil || !d.IsDir():
				return nil // the first look tells what cannot be read
			case !s.enters(path) || machine(path):
				return fs.SkipDir
			}
			n++
			return nil
		})
		if err != nil {
			return false
		}
	}
	return n > most
}
