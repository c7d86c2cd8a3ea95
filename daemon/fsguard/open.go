package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens a regular file for reading, without blocking, and only if it is still the file that was classified. Errors: ErrState,
// ErrRegular, ErrMoved, fs.ErrNotExist, fs.ErrPermission.
func (g *Guard) Open(p Place) (*os.File, error) {
	if err := readable(p); err != nil {
		return nil, err
	}
	if !p.Info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w: it is %s", p.Path, ErrRegular, Kind(p.Info.Mode()))
	}
	root, rel, err := g.anchor(p)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Path, err)
	}
	defer closeRoot(root)
	f, err := g.openSame(root, rel, p.Info)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Path, err)
	}
	return f, nil
}

// Folder opens a folder, only if it is still the one that was classified. The caller closes it. Errors: ErrState, ErrFolder, ErrMoved,
// fs.ErrNotExist, fs.ErrPermission.
func (g *Guard) Folder(p Place) (*os.Root, error) {
	if err := readable(p); err != nil {
		return nil, err
	}
	if !p.IsDir() {
		return nil, fmt.Errorf("open %s: %w: it is %s", p.Path, ErrFolder, Kind(p.Info.Mode()))
	}
	root, err := os.OpenRoot(p.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Path, err)
	}
	// The open folder is compared, because its path may lead elsewhere by now.
	info, err := root.Stat(".")
	if err == nil && !os.SameFile(info, p.Info) {
		err = ErrMoved
	}
	if err != nil {
		closeRoot(root)
		return nil, fmt.Errorf("open %s: %w", p.Path, err)
	}
	return root, nil
}

// readable returns ErrState for the state folder and fs.ErrNotExist for a missing file, before anything is opened.
func readable(p Place) error {
	if p.Area == State {
		return fmt.Errorf("%s: %w", p.Path, ErrState)
	}
	if p.Info == nil {
		return &fs.PathError{Op: "open", Path: p.Path, Err: fs.ErrNotExist}
	}
	return nil
}

// anchor opens the folder from which a path is reached: its root, or else its parent folder.
// os.Root keeps the rest of the path inside, whatever somebody replaces meanwhile.
func (g *Guard) anchor(p Place) (*os.Root, string, error) {
	opened, _ := g.rootOf(p.Path)
	dir := opened.Path
	if dir == "" || dir == p.Path {
		dir = filepath.Dir(p.Path)
	}
	rel, err := filepath.Rel(dir, p.Path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(dir)
	return root, rel, err
}

// openPlain opens a file and compares it afterwards, on systems that cannot compare first. If a race made it open a file of the state
// folder, it keeps the descriptor open forever: closing it would drop the locks of the database.
func (g *Guard) openPlain(root *os.Root, rel string, want fs.FileInfo) (*os.File, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && os.SameFile(info, want) {
		return f, nil
	}
	if err == nil {
		err = ErrMoved
	}
	if !g.harmless(info) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.held = append(g.held, f)
		return nil, err
	}
	return nil, errors.Join(err, f.Close())
}

// harmless reports whether a file is certainly not in the state folder.
// If that cannot be found out, it returns false.
func (g *Guard) harmless(info fs.FileInfo) bool {
	if info == nil {
		return false
	}
	found := false
	err := filepath.WalkDir(g.state, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		other, err := d.Info()
		found = found || err == nil && os.SameFile(info, other)
		return err
	})
	return !found && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// Kind names the kind of a file for people.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// closeRoot closes a folder that was only read, so an error loses nothing.
func closeRoot(r *os.Root) { _ = r.Close() }
