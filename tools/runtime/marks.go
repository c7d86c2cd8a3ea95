package runtime

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/tools"
)

// Limits of the search for what a command changed.
const (
	maxMarked  = 1_000   // files of a folder; with more the folder is marked
	maxEntries = 200_000 // entries of a root; with more the root is marked
)

// marks says of the files that were changed in the workspace and the roots that may be written, at since or later, that why.
// A file counts as changed by the time of its last change of state, which no program can set back. Scratch and attachments are
// foreign anyway. A folder that was only moved or renamed is marked whole: what it holds keeps its times.
func marks(g *fsguard.Guard, since time.Time, why string) []tools.Mark {
	var found []string
	for _, root := range writable(g) {
		s := sweep{since: since, skip: foreignFolders(g)}
		found = append(found, s.below(root)...)
	}
	slices.Sort(found)
	out := make([]tools.Mark, 0, len(found))
	for _, path := range slices.Compact(found) {
		out = append(out, tools.Mark{Path: path, Why: why})
	}
	return out
}

// touched says whether a file was changed at since or later: itself, or by moving a folder that it lies in.
func touched(path string, since time.Time) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() && !changed(info).Before(since) {
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

func foreignFolders(g *fsguard.Guard) []string {
	return []string{filepath.Join(g.Workspace(), fsguard.ScratchFolder), filepath.Join(g.Workspace(), fsguard.AttachmentFolder)}
}

// writable are the workspace and the roots that may be written, without those inside others.
func writable(g *fsguard.Guard) []string {
	all := []string{g.Workspace()}
	for _, r := range g.Roots() {
		if r.Write {
			all = append(all, r.Path)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && below(q, p) })
	})
}

// below says whether path is dir or lies in it. Both are absolute and clean.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// sweep walks through one root.
type sweep struct {
	since time.Time
	skip  []string
	seen  int
}

// below are the changed files below a root, or the folders that stand for them.
func (s *sweep) below(root string) []string {
	folders, files, ok := s.folder(root)
	if !ok {
		return []string{root}
	}
	return append(folders, files...)
}

// folder looks through a folder: the folders in it that are marked whole, and the changed files outside of those. It is not
// ok when there is too much to look at, or the folder cannot be read.
func (s *sweep) folder(dir string) (folders, files []string, ok bool) {
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
		case info.Mode().IsRegular() && !changed(info).Before(s.since):
			files = append(files, path)
		}
	}
	if len(files) > maxMarked {
		return []string{dir}, nil, true
	}
	return folders, files, true
}

// within is folder for one that lies in another: it stands for itself when it was moved there or cannot be read.
func (s *sweep) within(path string, info fs.FileInfo) (folders, files []string, ok bool) {
	if moved(info, s.since) {
		return []string{path}, nil, true
	}
	folders, files, ok = s.folder(path)
	if !ok && s.seen <= maxEntries {
		return []string{path}, nil, true
	}
	return folders, files, ok
}
