package filewatch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/glob"
)

// scope decides which files belong to a watch. It uses only names, and does not change.
// A path belongs to the watch if one entry contains it and the include patterns, if any, admit it.
type scope struct {
	entries []entry
	include []*glob.Pattern
	names   []*glob.Pattern // patterns of include without a slash, for names at any depth
	flat    bool
}

// entry is one of a watch's paths.
type entry struct {
	path string        // of a file or folder; for a glob, the folder before its first wildcard
	glob *glob.Pattern // of the whole path without its leading slash
}

// newScope builds the scope from a watch's paths, as New has resolved them.
func newScope(w Watch) (scope, error) {
	s := scope{flat: w.Flat}
	for _, path := range w.Paths {
		base, pattern := splitGlob(path)
		e := entry{path: filepath.Clean(filepath.FromSlash(base))}
		if pattern != "" {
			glob, err := glob.New(path)
			if err != nil {
				return scope{}, err
			}
			e.glob = glob
		}
		s.entries = append(s.entries, e)
	}
	for _, text := range w.Include {
		p, err := glob.New(text)
		if err != nil {
			return scope{}, err
		}
		// A pattern without a slash matches names in every folder.
		if strings.Contains(text, "/") {
			s.include = append(s.include, p)
		} else {
			s.names = append(s.names, p)
		}
	}
	return s, nil
}

// wants reports whether a file belongs to the watch.
func (s scope) wants(path string) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool {
		if e.glob != nil {
			return e.glob.Path(slashed(path)) && s.includes(e.path, path)
		}
		if path == e.path {
			return true
		}
		return below(e.path, path) && (!s.flat || filepath.Dir(path) == e.path) && s.includes(e.path, path)
	})
}

// includes reports whether the include patterns admit a path: those without a slash by its name, the others by the path from the base.
func (s scope) includes(base, path string) bool {
	if len(s.include)+len(s.names) == 0 {
		return true
	}
	rel := filepath.ToSlash(strings.TrimPrefix(path[len(base):], string(filepath.Separator)))
	name := filepath.Base(path)
	return slices.ContainsFunc(s.names, func(p *glob.Pattern) bool { return p.Path(name) }) ||
		slices.ContainsFunc(s.include, func(p *glob.Pattern) bool { return p.Path(rel) })
}

// enters reports whether a folder, or a folder below it, can contain files of the watch.
func (s scope) enters(dir string) bool {
	return s.holds(dir) || slices.ContainsFunc(s.entries, func(e entry) bool { return below(dir, e.path) })
}

// holds reports whether a folder is one of the watched paths or below one. For such a folder wanted files may be inside. It is false for a
// folder above a path, which is watched only because the path may appear in it.
func (s scope) holds(dir string) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool {
		switch {
		case dir == e.path:
			return true
		case !below(e.path, dir):
			return false
		case e.glob == nil:
			return !s.flat
		}
		// For a glob, something below the folder must still be able to match.
		state := e.glob.Start()
		for name := range strings.SplitSeq(slashed(dir), "/") {
			state = e.glob.Enter(state, name, glob.Shown)
		}
		return len(state) > 0
	})
}

// starts returns the folders at which the scan starts: the paths that are folders, and for other paths the nearest existing folder above.
// A folder above a missing path is watched because it reports when the path appears.
func (s scope) starts() []string {
	var list []string
	for _, e := range s.entries {
		dir := e.path
		for {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
		if !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// below reports whether path is inside dir, at any depth.
func below(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && len(rest) > 1 && os.IsPathSeparator(rest[0])
}

// slashed returns an absolute path in the form that globs are matched with.
func slashed(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
