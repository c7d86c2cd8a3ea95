// This file finds the files in the workspace and the writable roots and binds that have changed since an
// instant. It opens no file, and does not judge what a change means.

package runtime

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hob/daemon/fsguard"
)

// Limits of the search.
const (
	maxChanged = 1_000   // changed files listed per folder; beyond that the folder is listed instead
	maxEntries = 200_000 // entries examined per root; beyond that the root is listed instead
)

// ChangedFiles lists the files and symbolic links that changed at since or later, and the folders that were made then, as absolute
// paths, sorted. It goes by the time of the last state change (ctime), which no program can set
// back. A folder takes the place of its files if more than maxChanged of them changed, if it cannot
// be read, or if it was moved: the files in a moved folder keep their times. Scratch and
// attachments are left out because they always count as foreign.
func ChangedFiles(g *fsguard.Guard, since time.Time) []string {
	var found []string
	for _, root := range writable(g) {
		if info, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() { // a bind
			if Touched(root, since) {
				found = append(found, root)
			}
			continue
		}
		s := changeScan{since: since, skip: fsguard.ForeignFolders(g.Workspace())}
		found = append(found, s.below(root)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Touched reports whether a file or symbolic link changed, or a folder was made, at since or later, either itself or
// because a folder above it was moved.
func Touched(path string, since time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil || !changed(info).Before(since) && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0 || made(path, info, since)) {
		return err == nil
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && moved(info, since) {
			return true
		}
	}
	return false
}

// moved reports whether a folder was moved or renamed at since or later, with its entries
// unchanged.
func moved(info fs.FileInfo, since time.Time) bool {
	return !changed(info).Before(since) && info.ModTime().Before(since)
}

// writable returns the workspace and the writable roots and binds, without those inside another.
func writable(g *fsguard.Guard) []string {
	all := []string{g.Workspace()}
	for _, r := range g.Roots() {
		if r.Write {
			all = append(all, r.Path)
		}
	}
	for _, b := range g.Binds() {
		if b.Write {
			all = append(all, b.Path)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && below(q, p) })
	})
}

// FileVersion identifies a file in its current state. It changes when another file takes the place,
// or when content, name or permissions change. For a folder it only identifies the folder.
func FileVersion(info fs.FileInfo) string {
	if info.IsDir() {
		return fsguard.Identity(info)
	}
	return fsguard.Identity(info) + " " + strconv.FormatInt(info.Size(), 10) + " " + changed(info).UTC().Format(time.RFC3339Nano)
}

// changeScan walks one root.
type changeScan struct {
	since time.Time
	skip  []string
	seen  int
}

// below returns the changed files below a root, or folders in their place.
func (s *changeScan) below(root string) []string {
	folders, files, ok := s.folder(root)
	if !ok {
		return []string{root}
	}
	return append(folders, files...)
}

// folder examines one folder. folders are the subfolders that take the place of their files; files
// are the changed files outside of those. ok is false if the root has too many entries, or the
// folder cannot be read.
func (s *changeScan) folder(dir string) (folders, files []string, ok bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, false
	}
	for _, e := range entries {
		if s.seen++; s.seen > maxEntries {
			return nil, nil, false
		}
		path := filepath.Join(dir, e.Name())
		switch info, err := e.Info(); {
		case err != nil || slices.Contains(s.skip, path): // it is gone, or always foreign
		case e.IsDir():
			inFolders, inFiles, ok := s.within(path, info)
			if !ok {
				return nil, nil, false
			}
			folders, files = append(folders, inFolders...), append(files, inFiles...)
		case (info.Mode().IsRegular() || e.Type() == fs.ModeSymlink) && !changed(info).Before(s.since):
			files = append(files, path)
		}
	}
	if len(files) > maxChanged {
		return []string{dir}, nil, true
	}
	return folders, files, true
}

// within is folder for a subfolder. The subfolder takes the place of its files if it was moved or
// cannot be read.
func (s *changeScan) within(path string, info fs.FileInfo) (folders, files []string, ok bool) {
	if moved(info, s.since) {
		return []string{path}, nil, true
	}
	folders, files, ok = s.folder(path)
	if !ok && s.seen <= maxEntries {
		return []string{path}, nil, true
	}
	if ok && !changed(info).Before(s.since) && made(path, info, s.since) {
		folders = append(folders, path) // its name may be foreign text
	}
	return folders, files, ok
}
