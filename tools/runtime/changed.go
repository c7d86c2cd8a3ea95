// This file finds the files that a program has changed since an instant, in the workspace and the roots that may be written. It
// opens no file, and does not say what a change means.

package runtime

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/fsguard"
)

// Limits of the search.
const (
	maxChanged = 1_000   // files of a folder; with more the folder stands for them
	maxEntries = 200_000 // entries of a root; with more the root stands for them
)

// ChangedFiles lists the files and symbolic links that were changed at since or later, absolute and sorted, or the folders that stand for
// them. A file counts as changed by the time of its last change of state, which no program can set back. Scratch and attachments are
// foreign anyway and left out. A folder that was only moved or renamed stands for all in it: what it holds keeps its times.
func ChangedFiles(g *fsguard.Guard, since time.Time) []string {
	var found []string
	for _, root := range writable(g) {
		s := changeScan{since: since, skip: fsguard.ForeignFolders(g.Workspace())}
		found = append(found, s.below(root)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Touched says whether a file or a symbolic link was changed at since or later: itself, or by moving a folder that it lies in.
func Touched(path string, since time.Time) bool {
	if info, err := os.Lstat(path); err != nil || (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) && !changed(info).Before(since) {
		return err == nil
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && moved(info, since) {
			return true
		}
	}
	return false
}

// moved says of a folder that it was given its place since then, and holds what it held before.
func moved(info fs.FileInfo, since time.Time) bool {
	return !changed(info).Before(since) && info.ModTime().Before(since)
}

// writable are the workspace and the roots that may be written, without those inside others.
func writable(g *fsguard.Guard) []string {
	all := []string{g.Workspace()}
	for _, r := range g.Roots() {
		if r.Write {
			all = append(all, r.Path)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && within(q, p) })
	})
}

// within says whether path is dir or lies in it. Both are absolute and clean.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || dir == string(filepath.Separator) || os.IsPathSeparator(rest[0]))
}

// FileVersion names a file in the state that it is in: another file in its place, or a change of its content, name or rights, makes another
// one. Of a folder only which one it is.
func FileVersion(info fs.FileInfo) string {
	if info.IsDir() {
		return fsguard.Identity(info)
	}
	return fsguard.Identity(info) + " " + strconv.FormatInt(info.Size(), 10) + " " + changed(info).UTC().Format(time.RFC3339Nano)
}

// changeScan goes through one root.
type changeScan struct {
	since time.Time
	skip  []string
	seen  int
}

// below are the changed files below a root, or the folders that stand for them.
func (s *changeScan) below(root string) []string {
	folders, files, ok := s.folder(root)
	if !ok {
		return []string{root}
	}
	return append(folders, files...)
}

// folder looks through a folder: the folders in it that stand for themselves, and the changed files outside of those. It is not
// ok when there is too much to look at, or the folder cannot be read.
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
		case err != nil || slices.Contains(s.skip, path): // it is gone already, or foreign anyway
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

// within is folder for one that lies in another: it stands for itself when it was moved there or cannot be read.
func (s *changeScan) within(path string, info fs.FileInfo) (folders, files []string, ok bool) {
	if moved(info, s.since) {
		return []string{path}, nil, true
	}
	folders, files, ok = s.folder(path)
	if !ok && s.seen <= maxEntries {
		return []string{path}, nil, true
	}
	return folders, files, ok
}
