package fsguard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Limits of a walk. They are those of Linux: 40 links, and paths of 4,096 bytes.
const (
	maxLinks = 40
	maxPath  = 4096
)

// walked is the result of a walk.
// Guard.area decides by it; Resolve makes a Place of it.
type walked struct {
	path   string        // with all links resolved
	info   fs.FileInfo   // the file at path; nil: it does not exist
	trail  []fs.FileInfo // every existing folder on the way, from the root on, without path itself
	folder fs.FileInfo   // the folder that holds path; nil: it does not exist
	dangle bool
	via    []string // the folders of the links on the way
}

// lookup is os.Lstat, or that of a Batch, which remembers.
type lookup func(path string) (fs.FileInfo, error)

// walk follows a path component by component. It only calls lstat and readlink; it opens nothing.
func walk(look lookup, path string) (walked, error) {
	volume := filepath.VolumeName(path)
	// The target of each link is put before the components that are left, so the loop follows it like a part of the path.
	w := walker{look: look, rest: split(path[len(volume):])}
	w.start(volume + string(filepath.Separator))
	for len(w.rest) > 0 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		if err := w.step(name); err != nil {
			return walked{}, err
		}
	}
	out := walked{path: w.here(), trail: w.infos, dangle: w.dangle, via: w.via}
	if len(w.missing) == 0 && len(w.infos) > 0 {
		out.info, out.trail = w.infos[len(w.infos)-1], w.infos[:len(w.infos)-1]
	}
	if n := len(out.trail); len(w.missing) < 2 && n > 0 {
		out.folder = out.trail[n-1]
	}
	out.dangle = out.dangle && out.info == nil
	return out, nil
}

// walker is the state of a walk.
type walker struct {
	look    lookup
	at      string        // what exists of the path so far
	depth   int           // components of at
	infos   []fs.FileInfo // of the root and of each component
	missing []string      // missing components after at
	rest    []string      // components still to visit
	links   int
	own     int  // how many of rest come from the caller; the ones before them come from links
	dangle  bool // the first missing component comes from a link
	via     []string
}

// start begins again at a root, for example after an absolute link.
func (w *walker) start(root string) {
	w.at, w.depth, w.missing = root, 0, nil
	w.infos = w.infos[:0:0]
	if info, err := w.look(root); err == nil {
		w.infos = append(w.infos, info)
	}
}

// here returns the path that has been reached, with the missing components.
func (w *walker) here() string {
	if len(w.missing) == 0 {
		return w.at
	}
	return filepath.Join(append([]string{w.at}, w.missing...)...)
}

// step visits one component.
func (w *walker) step(name string) error {
	switch {
	case name == "." || name == "":
		return w.mustBeFolder()
	case name == "..":
		return w.up()
	case len(w.missing) > 0:
		w.missing = append(w.missing, name)
		return nil
	}
	if err := w.mustBeFolder(); err != nil {
		return err
	}
	full := w.at + name
	if w.depth > 0 { // only a root ends with a separator
		full = w.at + string(filepath.Separator) + name
	}
	info, err := w.look(full)
	if errors.Is(err, fs.ErrNotExist) {
		full, info, err = w.spelled(strings.TrimSuffix(full, name), name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		w.missing = append(w.missing, name)
		w.dangle = w.links > 0 && len(w.rest) >= w.own
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return w.follow(full)
	}
	w.at, w.depth, w.infos = full, w.depth+1, append(w.infos, info)
	return nil
}

// spelled looks for a name that is not there under the same name with composed or decomposed letters (Unicode, UAX #15): macOS and what was packed
// there have accents apart. If both exist, the name is neither.
func (w *walker) spelled(dir, name string) (path string, info fs.FileInfo, err error) {
	path, err = dir+name, fs.ErrNotExist
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		other := form.String(name)
		if other == name {
			continue
		}
		one, missing := w.look(dir + other)
		switch {
		case missing == nil && info == nil:
			path, info, err = dir+other, one, nil
		case !errors.Is(missing, fs.ErrNotExist):
			return dir + name, nil, cmp.Or(missing, fs.ErrNotExist)
		}
	}
	return path, info, err
}

// mustBeFolder returns ErrFolder if the last existing component cannot have anything below it.
func (w *walker) mustBeFolder() error {
	if n := len(w.infos); len(w.missing) == 0 && n > 0 && !w.infos[n-1].IsDir() {
		return fmt.Errorf("%s: %w", w.here(), ErrFolder)
	}
	return nil
}

// up handles "..".
func (w *walker) up() error {
	if err := w.mustBeFolder(); err != nil {
		return err
	}
	if n := len(w.missing); n > 0 {
		w.missing = w.missing[:n-1]
		return nil
	}
	if w.depth > 0 {
		w.at, w.depth = filepath.Dir(w.at), w.depth-1
		w.infos = w.infos[:len(w.infos)-1]
	}
	return nil
}

// follow replaces a link by the components of its target.
func (w *walker) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return ErrLoop
	}
	target, err := os.Readlink(link)
	if err != nil {
		return err
	}
	w.via = append(w.via, filepath.Dir(link))
	if w.links == 1 || len(w.rest) < w.own {
		w.own = len(w.rest)
	}
	volume := filepath.VolumeName(target)
	w.rest = append(split(target[len(volume):]), w.rest...)
	if filepath.IsAbs(target) {
		w.start(volume + string(filepath.Separator))
	}
	return nil
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator })
}

// usable returns ErrPath for a path that no system call would accept. Names have at most 255 bytes (NAME_MAX).
func usable(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrPath)
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%w: it holds a NUL byte", ErrPath)
	case len(path) > maxPath:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrPath, maxPath)
	}
	for _, name := range split(path) {
		if len(name) > 255 {
			return fmt.Errorf("%w: a name in it is longer than 255 bytes", ErrPath)
		}
	}
	return usableHere(path)
}

// within reports whether path is dir or below it. Both are resolved.
func within(dir, path string) bool {
	if rest, ok := strings.CutPrefix(path, dir); ok && dir != "" && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1])) {
		return true
	}
	if runtime.GOOS != "windows" {
		return false
	}
	rel, err := filepath.Rel(dir, path) // ignores case there
	return err == nil && filepath.IsLocal(rel)
}
