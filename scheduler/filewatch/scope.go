package filewatch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/glob"
)

// scope says which files a watch means. It looks at names only, and does not change.
type scope struct {
	entries []entry
	include []*glob.Pattern
	names   []*glob.Pattern // those of include without a slash: for names at any depth
	flat    bool
}

// entry is one of a watch's paths.
type entry struct {
	path string        // of a file or folder; of a glob the folder before its first wildcard
	glob *glob.Pattern // of the whole path without the slash it begins with
}

// newScope reads the paths of a watch, as New has resolved them.
func newScope(w Watch) (scope, error) {
	s := scope{flat: w.Flat}
	for _, path := range w.Paths {
		base, pattern := cutGlob(path)
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
		if strings.Contains(text, "/") {
			s.include = append(s.include, p)
		} else {
			s.names = append(s.names, p)
		}
	}
	return s, nil
}

// wants says that a file is meant.
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

func (s scope) includes(base, path string) bool {
	if len(s.include)+len(s.names) == 0 {
		return true
	}
	rel := filepath.ToSlash(strings.TrimPrefix(path[len(base):], string(filepath.Separator)))
	name := filepath.Base(path)
	return slices.ContainsFunc(s.names, func(p *glob.Pattern) bool { return p.Path(name) }) ||
		slices.ContainsFunc(s.include, func(p *glob.Pattern) bool { return p.Path(rel) })
}

// enters says that files in a folder, or below it, can be meant.
func (s scope) enters(dir string) bool {
	return s.holds(dir) || slices.ContainsFunc(s.entries, func(e entry) bool { return below(dir, e.path) })
}

// holds says that a folder stands at one of the paths or below one, not only on the way there.
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
		state := e.glob.Start()
		for name := range strings.SplitSeq(slashed(dir), "/") {
			state = e.glob.Enter(state, name, glob.Shown)
		}
		return len(state) > 0
	})
}

// starts are the folders in which a watch begins: those at its paths, and where nothing or a file stands, the nearest one
// above.
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

// below says that path stands in dir, at any depth.
func below(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && len(rest) > 1 && os.IsPathSeparator(rest[0])
}

func slashed(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
