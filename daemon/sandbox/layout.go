package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"hob/daemon/fsguard"
)

// view is a file or folder of the machine that a sandbox shows.
type view struct {
	at    string // its path inside the sandbox
	from  string // its path on the machine, symbolic links resolved
	write bool
	path  bool  // a folder of PATH
	is    *held // from, held open; nil: not opened yet
}

// layout is a Spec with its paths resolved: the views, outer ones first, and the masks that cover parts of them.
type layout struct {
	dir     string
	views   []view
	masks   []mask // mounted after the views
	scratch *view  // mounted after the masks; nil: none
	state   string // hob's state folder
	offline bool   // no network
	sockets bool   // the owner's unix sockets can be used
	here    *held  // dir
	opened  []*held
}

// mask hides a file or folder at a path inside the sandbox.
type mask struct {
	at     string
	folder bool
	is     fs.FileInfo // the hidden file or folder; nil: unknown
}

// Own returns hob's home, the parent of its state folder, with symbolic links resolved. The config is there too. "" means unknown.
func (s *Sandbox) Own() string {
	state, err := resolved(s.conf.State)
	if err != nil {
		return ""
	}
	return filepath.Dir(state)
}

// Bound reports whether the config binds a path, or a folder above it, into every sandbox.
func (s *Sandbox) Bound(path string) bool {
	return slices.ContainsFunc(s.conf.Binds, func(b Bind) bool {
		at, err := resolved(b.Path)
		return err == nil && within(at, path)
	})
}

// lay resolves a Spec and opens its folders. A configured bind or root that does not exist is left out; a missing working or scratch
// folder is an error. The caller releases the layout, also after an error.
func (s *Sandbox) lay(b Spec, own []string) (layout, error) {
	l := layout{offline: b.Offline || !s.conf.Network && !b.Online, sockets: s.conf.Sockets && !b.Offline && !b.ScratchOnly}
	var err error
	if l.state, err = resolved(s.conf.State); err != nil {
		return l, fmt.Errorf("state folder: %w", err)
	}
	if err := l.show(s, b, own); err != nil {
		return l, err
	}
	if err := l.cover(s.conf.Pinned); err != nil {
		return l, err
	}
	for _, path := range b.Hidden {
		if err := l.hide(path); err != nil {
			return l, fmt.Errorf("hidden %s: %w: %w", path, ErrMoved, err)
		}
	}
	if err := l.search(); err != nil {
		return l, err
	}
	if b.Scratch != "" {
		path, err := folder(b.Scratch, l.state)
		if err != nil {
			return l, fmt.Errorf("scratch %s: %w", b.Scratch, err)
		}
		l.scratch = &view{at: path, from: path, write: true}
	}
	// Every sandbox hides the state folder, whatever its Spec names.
	if err := l.hide(l.state); err != nil {
		return l, fmt.Errorf("state folder: %w", err)
	}
	if l.dir, err = folder(b.Dir, l.state); err != nil {
		return l, fmt.Errorf("working folder %s: %w", b.Dir, err)
	}
	l.pin()
	if !l.visible(l.dir) {
		return l, fmt.Errorf("working folder %s: %w: it is in none of the visible folders", b.Dir, ErrSpec)
	}
	return l, l.hold()
}

// cover shows folders in place of others, read only. On a system whose sandbox cannot do that, the folders stay invisible: what stands there
// may not be what was accepted.
func (l *layout) cover(pinned Pinned) error {
	if pinned == nil {
		return nil
	}
	for at, from := range pinned() {
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() || !slices.ContainsFunc(l.views, func(v view) bool { return v.at == v.from && within(v.at, at) }) {
			continue
		}
		if runtime.GOOS != "linux" {
			l.mask(mask{at, true, info})
			continue
		}
		if from, err = resolved(from); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		// Views inside would show the folder itself again.
		l.views = slices.DeleteFunc(l.views, func(v view) bool { return within(at, v.at) })
		l.views = append(l.views, view{at: at, from: from})
	}
	l.sort()
	return nil
}

// hold opens the views, the scratch folder and the working folder. With their inodes, later steps notice if another folder has taken one
// of the names.
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
	l.here, err = l.open(l.source(l.dir))
	return err
}

// source returns what stands at a path of the sandbox, as a path of the machine.
func (l *layout) source(path string) string {
	if v, ok := l.inner(path); ok {
		return filepath.Join(v.from, path[len(v.at):])
	}
	return path
}

// open holds a file or folder whose path is resolved. A symbolic link on the path now means that the path was changed.
func (l *layout) open(path string) (*held, error) {
	h, err := hold(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrMoved, err)
	}
	l.opened = append(l.opened, h)
	return h, nil
}

// release closes what the layout holds open.
func (l *layout) release() error {
	var errs []error
	for _, h := range l.opened {
		errs = append(errs, h.close())
	}
	l.opened = nil
	return errors.Join(errs...)
}

// show makes the views for the binds and for the folders of the Spec. own lists the programs that make the sandbox.
func (l *layout) show(s *Sandbox, b Spec, own []string) error {
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
		if v.Programs && errors.Is(err, ErrChanged) {
			continue // the owner has installed something: the next start of hob, or change of the config, shows it
		}
		if err != nil {
			return fmt.Errorf("%s: %w", v.Path, err)
		}
		// With ScratchOnly the command may write to its scratch folder and nowhere else.
		v.Write = v.Write && !b.ScratchOnly
		l.views = append(l.views, view{at: from, from: from, write: v.Write, path: v.Programs})
		if at := filepath.Clean(v.Path); at != from && lastIsLink(at) {
			l.views = append(l.views, view{at: at, from: from, write: v.Write}) // a link such as ~/.gitconfig is visible under its own name too
		}
	}
	l.sort()
	// Inside another view the link is visible as it is, so it needs no view of its own.
	l.views = slices.DeleteFunc(l.views, func(v view) bool {
		return v.at != v.from && slices.ContainsFunc(l.views, func(o view) bool { return o != v && within(o.at, v.at) })
	})
	for _, path := range own { // no sandbox may write the programs that make sandboxes: the next start of hob would run them
		if path, err := resolved(path); err == nil && slices.ContainsFunc(l.views, func(v view) bool { return v.write && within(v.at, path) }) {
			l.views = append(l.views, view{at: path, from: path})
		}
	}
	l.sort()
	return nil
}

// hide masks a path wherever a view or a system folder shows it.
func (l *layout) hide(path string) error {
	// Most of the known places do not exist, and to resolve a path costs a call for each of its folders.
	if _, err := os.Lstat(path); filepath.IsAbs(path) && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
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
		if !within(v.from, path) {
			continue
		}
		at := v.at + path[len(v.from):]
		// A folder that stands in place of another one hides what is below that anyway.
		if best, ok := l.inner(at); ok && best.at != best.from && !within(best.from, path) && at != best.at {
			continue
		}
		l.mask(mask{at, info.IsDir(), info})
	}
	if slices.ContainsFunc(systemFolders(), func(dir string) bool { return within(dir, path) }) {
		l.mask(mask{path, info.IsDir(), info})
	}
	return nil
}

// maxLooked limits how many entries of folders are looked at, at each start of a sandbox.
const maxLooked = 5_000

// search hides the FIFOs in the views: neither a read-only mount nor, below a temporary folder, Landlock stops a process that writes into one.
// In the folders of PATH it also hides what has the name of a key and is no program: the owner has not opened these folders himself. They come
// first, then upper folders.
func (l *layout) search() error {
	var paths, dirs []string
	for _, v := range l.views {
		if !slices.ContainsFunc(l.views, func(o view) bool { return o.from != v.from && within(o.from, v.from) }) && !slices.Contains(dirs, v.from) {
			if dirs = append(dirs, v.from); v.path {
				paths = append(paths, v.from)
			}
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(slices.Index(paths, b), slices.Index(paths, a)) })
	for left := maxLooked; len(dirs) > 0 && left > 0; dirs = dirs[1:] {
		f, err := openFolder(dirs[0])
		if err != nil {
			continue // the command cannot list it either
		}
		list, _ := f.ReadDir(left) // what can be read; a view may be a file
		left -= len(list) + 1
		for _, e := range list {
			switch path := filepath.Join(dirs[0], e.Name()); {
			case fsguard.SecretName(e.Name()) && !runs(e) && slices.ContainsFunc(paths, func(dir string) bool { return within(dir, path) }):
				err = errors.Join(err, l.hide(path))
			case e.IsDir():
				dirs = append(dirs, path)
			case e.Type()&fs.ModeNamedPipe != 0:
				err = errors.Join(err, l.hide(path))
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("hide FIFOs and keys: %w: %w", ErrMoved, err)
		}
	}
	return nil
}

// runs reports whether an entry of a folder is a program.
func runs(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// masksApart divides the masks. apart are those that share no path with a view and cover parts of system folders only; the others cover
// parts of views and must be mounted after them.
func (l *layout) masksApart() (apart, rest []mask) {
	for _, m := range l.masks {
		if slices.ContainsFunc(l.views, func(v view) bool { return within(v.at, m.at) || within(m.at, v.at) }) || l.scratch != nil && within(m.at, l.scratch.at) {
			rest = append(rest, m)
		} else {
			apart = append(apart, m)
		}
	}
	return apart, rest
}

// mask adds a mask. A mask inside an existing one is dropped; existing masks inside the new one are replaced.
func (l *layout) mask(m mask) {
	if slices.ContainsFunc(l.masks, func(o mask) bool { return within(o.at, m.at) }) {
		return
	}
	l.masks = slices.DeleteFunc(l.masks, func(o mask) bool { return within(m.at, o.at) })
	l.masks = append(l.masks, m)
}

// pin gives a view of its own to each folder between a mask or view and the view that contains it. The kernel renames no mount point
// (rename(2), EBUSY). So a command can neither move a folder away to find its hidden content under a new name, nor put another folder in
// the place of a view.
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

// inner returns the view that decides about a folder: the innermost one, and the last of several at the same path.
func (l *layout) inner(dir string) (best view, ok bool) {
	for _, v := range l.views {
		if within(v.at, dir) && (!ok || depth(v.at) >= depth(best.at)) {
			best, ok = v, true
		}
	}
	return best, ok
}

// sort puts outer views before inner ones, because later mounts cover earlier ones.
func (l *layout) sort() {
	slices.SortStableFunc(l.views, func(a, b view) int { return cmp.Compare(depth(a.at), depth(b.at)) })
}

// visible reports whether a view shows path and no mask hides it.
func (l *layout) visible(path string) bool {
	if l.scratch != nil && within(l.scratch.at, path) {
		return true
	}
	return slices.ContainsFunc(l.views, func(v view) bool { return within(v.at, path) }) &&
		!slices.ContainsFunc(l.masks, func(m mask) bool { return within(m.at, path) })
}

// writable lists the files and folders that the sandbox may write.
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

// folder resolves a folder that must exist.
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
		return "", fmt.Errorf("%w: not a folder", ErrSpec)
	}
	return dir, usable(dir, state)
}

// usable rejects a path that would expose hob's state, or a path that the sandbox provides itself.
func usable(path, state string) error {
	if within(state, path) {
		return fmt.Errorf("%w: hob's own state", ErrSpec)
	}
	for _, own := range []string{"/proc", "/sys", "/dev"} {
		if within(own, path) {
			return fmt.Errorf("%w: a sandbox has its own %s", ErrSpec, own)
		}
	}
	if path == "/" || path == "/run" {
		return fmt.Errorf("%w: too much would be opened", ErrSpec)
	}
	return nil
}

// resolved resolves the symbolic links of an absolute path. Parts that do not exist are kept as they are.
func resolved(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%w: %q is not an absolute path", ErrSpec, path)
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%w: a NUL in a path", ErrSpec)
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

// lastIsLink reports whether the last element of a path, and no other one, is a symbolic link.
func lastIsLink(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && parent == filepath.Dir(path)
}

// within reports whether path is dir or below it. Both are clean.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || dir == string(filepath.Separator) || os.IsPathSeparator(rest[0]))
}

func depth(path string) int { return strings.Count(path, string(filepath.Separator)) }
