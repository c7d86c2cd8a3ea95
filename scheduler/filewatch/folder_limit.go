package filewatch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MostFolders returns how many folders one user of the system can watch; 0 if unknown.
// Linux limits the watches of inotify for each user (inotify(7)), and every watched folder needs one.
func MostFolders() int {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0 // not Linux
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	return n
}

// Exceeds reports whether a watch has more than most folders. It returns false if ctx ends before the answer is known. It also returns
// false with Gitignore, because only the first scan finds the folders that the rules exclude.
//
// The caller warns the owner when a watch is made. The caller sets a deadline in ctx, because counting a large tree takes long.
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
				return nil // the first scan reports unreadable folders
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
