package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// view is a file or folder of the machine that a box shows.
type view struct {
	at    string // where it is seen
	from  string // what it is, symbolic links resolved
	write bool
	is    *held // from; nil: it was not held yet
}

// layout is a box with its paths resolved: what it shows, the outer before the inner, and what of that is masked.
type layout struct {
	dir     string
	views   []view
	masks   []mask // after the views
	scratch *view  // after the masks; nil: none
	state   string // hob's state folder
	here    *held  // dir
	opened  []*held
}

// mask hides a file or folder, at a place of the box.
type mask struct {
	at     string
	folder bool
	is     fs.FileInfo // what is hidden; nil: it is not known
}

// Own is hob's home, the folder that its state lies in, with symbolic links resolved: its configuration lies there too. It is ""
// when that is not known.
func (s *Sandbox) Own() string {
	state, err := resolved(s.conf.State)
	if err != nil {
		return ""
	}
	return filepath.Dir(state)
}

// Bound says whether the configuration opens a path to every box by its name, or a folder that it lies in.
func (s *Sandbox) Bound(path string) bool {
	return slices.ContainsFunc(s.conf.Binds, func(b Bind) bool {
		at, err := resolved(b.Path)
		return err == nil && within(at, path)
	})
}

// lay resolves a box and holds what it shows. What is configured but not there (a bind, a root) is left out; what must be there is an
// error. What it holds is the caller's to release, also with an error.
func (s *Sandbox) lay(b Box, own []string) (layout, error) {
	var l layout
	var err error
	if l.state, err = resolved(s.conf.State); err != nil {
		return l, fmt.Errorf("state folder: %w", err)
	}
	if err := l.show(s, b, own); err != nil {
		return l, err
	}
	for _, path := range b.Hidden {
		if err := l.hide(path); err != nil {
			return l, fmt.Errorf("hidden %s: %w: %w", path, ErrMoved, err)
		}
	}
	if b.Scratch != "" {
		path, err := folder(b.Scratch, l.state)
		if err != nil {
			return l, fmt.Errorf("scratch %s: %w", b.Scratch, err)
		}
		l.scratch = &view{at: path, from: path, write: true}
	}
	if err := l.hide(l.state); err != nil {
		return l, fmt.Errorf("state folder: %w", err)
	}
	if l.dir, err = folder(b.Dir, l.state); err != nil {
		return l, fmt.Errorf("working folder %s: %w", b.Dir, err)
	}
	l.pin()
	if !l.visible(l.dir) {
		return l, fmt.Errorf("working folder %s: %w: it is in none of the visible folders", b.Dir, ErrBox)
	}
	return l, l.hold()
}

// hold opens what the box shows, so that what was looked at can be told from what has taken its name since.
func (l *layout) hold() (err error) {
	for i := range l.views {
		if l.views[i].is, err = l.open(l.views[i].from); err != nil {
			return err
		}
	}
	if l.scratch != nil {
		if l.scratch.is, err = l.open(l.scratch.from); err != nil {
			return err
		}
	}
	l.here, err = l.open(l.dir)
	return err
}

// open holds a file or folder whose path is resolved: a link on the way says that it has changed since.
func (l *layout) open(path string) (*held, error) {
	h, err := hold(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrMoved, err)
	}
	l.opened = append(l.opened, h)
	return h, nil
}

// release gives back what the layout holds.
func (l *layout) release() error {
	var errs []error
	for _, h := range l.opened {
		errs = append(errs, h.close())
	}
	l.opened = nil
	return errors.Join(errs...)
}

// show makes the views of binds and of the box's folders.
func (l *layout) show(s *Sandbox, b Box, own []string) error {
	list := slices.Clone(s.conf.Binds)
	for _, path := range b.Readable {
		list = append(list, Bind{Path: path})
	}
	for _, path := range b.Writable {
		list = append(list, Bind{Path: path, Write: true})
	}
	for _, v := range list {
		from, err := resolved(v.Path)
		if err == nil {
			_, err = os.Lstat(from)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = usable(from, l.state)
		}
		if err == nil {
			err = s.unchanged(v.Path, from)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v.Path, err)
		}
		v.Write = v.Write && !b.Sealed
		l.views = append(l.views, view{at: from, from: from, write: v.Write})
		if at := filepath.Clean(v.Path); at != from && lastIsLink(at) {
			l.views = append(l.views, view{at: at, from: from, write: v.Write}) // a link, ~/.gitconfig perhaps, is seen by its own name too
		}
	}
	l.sort()
	// The link of a view that lies in another view is seen there as the link that it is.
	l.views = slices.DeleteFunc(l.views, func(v view) bool {
		return v.at != v.from && slices.ContainsFunc(l.views, func(o view) bool { return o != v && within(o.at, v.at) })
	})
	for _, path := range own { // no box writes the programs that make it, for whoever starts hob next
		if path, err := resolved(path); err == nil && slices.ContainsFunc(l.views, func(v view) bool { return v.write && within(v.at, path) }) {
			l.views = append(l.views, view{at: path, from: path})
		}
	}
	l.sort()
	return nil
}

// hide masks a path wherever a view or a folder of the system shows it.
func (l *layout) hide(path string) error {
	path, err := resolved(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, v := range l.views {
		if within(v.from, path) {
			l.mask(mask{v.at + path[len(v.from):], info.IsDir(), info})
		}
	}
	if slices.ContainsFunc(systemFolders(), func(dir string) bool { return within(dir, path) }) {
		l.mask(mask{path, info.IsDir(), info})
	}
	return nil
}

// mask adds a mask that none of those there covers already, in the place of those that it covers.
func (l *layout) mask(m mask) {
	if slices.ContainsFunc(l.masks, func(o mask) bool { return within(o.at, m.at) }) {
		return
	}
	l.masks = slices.DeleteFunc(l.masks, func(o mask) bool { return within(m.at, o.at) })
	l.masks = append(l.masks, m)
}

// pin makes a view of its own of each folder between a mask, or a view, and the view that it lies in. The kernel renames no mount point
// (rename(2), EBUSY): so what a mask hides cannot be carried out from under its name with the folder that it lies in, to be found there
// later, and no other folder can be put in the place of a view.
func (l *layout) pin() {
	var inside []string
	for _, m := range l.masks {
		inside = append(inside, m.at)
	}
	for _, v := range l.views {
		inside = append(inside, v.at)
	}
	for _, path := range inside {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			v, ok := l.inner(dir)
			if !ok {
				break
			}
			if v.at != dir {
				l.views = append(l.views, view{at: dir, from: filepath.Join(v.from, dir[len(v.at):]), write: v.write})
			}
		}
	}
	l.sort()
}

// inner is the view that decides about a folder: the innermost, the last of several.
func (l *layout) inner(dir string) (best view, ok bool) {
	for _, v := range l.views {
		if within(v.at, dir) && (!ok || depth(v.at) >= depth(best.at)) {
			best, ok = v, true
		}
	}
	return best, ok
}

// sort puts the outer views before the inner ones: what is mounted later covers what was before.
func (l *layout) sort() {
	slices.SortStableFunc(l.views, func(a, b view) int { return cmp.Compare(depth(a.at), depth(b.at)) })
}

// visible says whether a view, and no mask, shows path.
func (l *layout) visible(path string) bool {
	if l.scratch != nil && within(l.scratch.at, path) {
		return true
	}
	return slices.ContainsFunc(l.views, func(v view) bool { return within(v.at, path) }) &&
		!slices.ContainsFunc(l.masks, func(m mask) bool { return within(m.at, path) })
}

// writable are the folders and files that may be written.
func (l *layout) writable() []string {
	var list []string
	for _, v := range l.views {
		if v.write {
			list = append(list, v.at)
		}
	}
	if l.scratch != nil {
		list = append(list, l.scratch.at)
	}
	return list
}

// folder resolves a folder that must be there.
func folder(path, state string) (string, error) {
	dir, err := resolved(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: not a folder", ErrBox)
	}
	return dir, usable(dir, state)
}

// usable refuses what would open hob's state, or what a box has of its own.
func usable(path, state string) error {
	if within(state, path) {
		return fmt.Errorf("%w: hob's own state", ErrBox)
	}
	for _, own := range []string{"/proc", "/sys", "/dev"} {
		if within(own, path) {
			return fmt.Errorf("%w: a box has its own %s", ErrBox, own)
		}
	}
	if path == "/" || path == "/run" {
		return fmt.Errorf("%w: too much would be opened", ErrBox)
	}
	return nil
}

// resolved follows the symbolic links of an absolute path; what is not there is taken as it stands.
func resolved(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%w: %q is not an absolute path", ErrBox, path)
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: a NUL in a path", ErrBox)
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(path)
		if parent == path {
			return path, nil
		}
		if parent, err = resolved(parent); err != nil {
			return "", err
		}
		return filepath.Join(parent, filepath.Base(path)), nil
	}
	return real, err
}

func lastIsLink(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && parent == filepath.Dir(path)
}

// within says whether path is dir or lies below it. Both are clean.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || dir == string(filepath.Separator) || os.IsPathSeparator(rest[0]))
}

func depth(path string) int { return strings.Count(path, string(filepath.Separator)) }
