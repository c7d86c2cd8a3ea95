// This file finds the files with foreign text that a sandbox must hide, and what a command sees of them.

package runtime

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
)

// mounts counts the places of the sandbox that are needed to hide a list of paths: each path, and
// each folder above it.
func (s *site) mounts(list []string) int {
	seen := map[string]bool{}
	for _, path := range list {
		for ; !seen[path] && s.shows(path); path = filepath.Dir(path) {
			seen[path] = true
		}
	}
	return len(seen)
}

// shows reports whether the sandbox would show a path if nothing were hidden.
func (s *site) shows(path string) bool {
	return inAny(s.sandbox.Writable, path) || inAny(s.sandbox.Readable, path) || inAny(s.bound, path)
}

// foreignPaths lists the files and folders with foreign text that the sandbox would show, with their versions. It leaves out what is in
// another folder of the list, and symbolic links, because only their targets matter. names are the names that the sandbox shows although
// it hides what has them, and the targets of links, apart from those in the command.
func (e executor) foreignPaths(at *site, attachments bool) (paths map[string]string, names []string) {
	list := append(fsguard.ForeignMemories(e.Guard.Workspace()), filepath.Join(e.Guard.Workspace(), fsguard.ScratchFolder))
	if !attachments {
		list = append(list, filepath.Join(e.Guard.Workspace(), fsguard.AttachmentFolder))
	}
	own := len(list) // hob has chosen the names of these
	if e.Marked != nil {
		list = append(list, e.Marked()...)
	}
	list = append(list, e.Registry.foreign(e.Guard)...)
	paths = map[string]string{}
	for i, path := range list {
		if !at.shows(path) {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		shown := []string{filepath.Base(path)}
		if info.Mode()&os.ModeSymlink == 0 {
			paths[path] = FileVersion(info)
		} else if target, err := os.Readlink(path); err == nil {
			shown = append(shown, target)
		}
		for _, name := range shown {
			if i >= own && !strings.Contains(at.command, name) {
				names = append(names, name)
			}
		}
	}
	maps.DeleteFunc(paths, func(path, _ string) bool {
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, ok := paths[dir]; ok {
				return true
			}
		}
		return false
	})
	return paths, names
}

// seesNewForeign reports whether the output of a command in the sandbox is foreign for a reason that its start did not show. It can now see
// foreign files that were not foreign, or not there, when it started: a file that was hidden at the start becomes visible when another file
// takes its place. Or its output shows the name of a hidden file.
func (e executor) seesNewForeign(at *site, output func() string) bool {
	if !at.sandboxed || at.sandbox.ScratchOnly {
		return false
	}
	now, names := e.foreignPaths(at, false)
	return slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(path string) bool { return !at.covers(path, now) }) ||
		len(at.names)+len(names) > 0 && mentions(output(), slices.Concat(at.names, names))
}

// Limits of the search for names in what a command has written, in bytes.
const (
	maxWritten  = 1 << 20  // of one file
	maxSearched = 16 << 20 // of all files
)

// wroteNames marks those of the changed files that have, or hold, the name of a file that is hidden from a command.
// The smallest come first, because a list of names is small.
func (e executor) wroteNames(at *site, changed func() []string) (list []tools.Mark) {
	if !at.sandboxed || at.sandbox.ScratchOnly {
		return nil
	}
	now, names := e.foreignPaths(at, false)
	if names = append(names, at.names...); len(names) == 0 {
		return nil
	}
	foreign, files := slices.Collect(maps.Keys(now)), map[string]os.FileInfo{}
	for _, path := range changed() {
		if info, err := os.Lstat(path); err == nil && !inAny(foreign, path) {
			files[path] = info
		}
	}
	left := maxSearched
	order := func(a, b string) int { return cmp.Or(cmp.Compare(files[a].Size(), files[b].Size()), cmp.Compare(a, b)) }
	apart := func(entry string) bool { return files[entry] != nil || now[entry] != "" }
	for _, path := range slices.SortedFunc(maps.Keys(files), order) {
		text := e.written(path, files[path].Mode(), int64(min(maxWritten, left)), apart)
		if left -= len(text); mentions(filepath.Base(path)+"\n"+text, names) {
			list = append(list, tools.Mark{Path: path, Why: byNames})
		}
	}
	return list
}

// written returns what a path shows to others: the beginning of a file, the target of a link, or the names in a folder that takes the place
// of its files. apart reports whether an entry is judged by itself. What cannot be read shows nothing. Only the guard opens a file: it waits
// for no FIFO, and never touches the database, whose locks the system drops when any descriptor of it is closed.
func (e executor) written(path string, mode os.FileMode, most int64, apart func(entry string) bool) string {
	switch {
	case mode&os.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return target
	case !mode.IsDir():
		head, _ := fsguard.Head(e.Guard, path, max(most, 0))
		return string(head)
	}
	entries, _ := os.ReadDir(path)
	var shown []string
	for _, entry := range entries {
		if !apart(filepath.Join(path, entry.Name())) {
			shown = append(shown, entry.Name())
		}
	}
	return strings.Join(shown, "\n")
}

// hiddenCount returns how many files and folders are hidden from the command because of their
// marks. The folders that always hold foreign text do not count. The names are not reported,
// because somebody else may have chosen them.
func (s *site) hiddenCount() (n int) {
	for path := range s.covered {
		if base := filepath.Base(path); base != fsguard.ScratchFolder && base != fsguard.AttachmentFolder {
			n++
		}
	}
	return n
}

// covers reports whether a path, or a folder above it, has been hidden since the command started.
// now holds the current versions.
func (s *site) covers(path string, now map[string]string) bool {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if was, ok := s.covered[dir]; ok && was == now[dir] {
			return true
		}
	}
	return false
}
