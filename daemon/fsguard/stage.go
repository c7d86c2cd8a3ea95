package fsguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hob/daemon/sys"
)

// Staged is a prepared change to one file that nobody sees yet: new content under a temporary name next to the file, or the file's
// removal. Several changes can be prepared before the first is applied. The order of calls is Stage, Check, Keep, Apply, Sync, then
// Forget; or Restore to undo.
type Staged struct {
	dir    *os.Root
	place  Place
	temp   string // "": a removal
	info   fs.FileInfo
	home   fs.FileInfo
	hash   string // SHA-256 of the content; "": a removal
	notify func(hash string)
}

// TempName returns a new name for a temporary file next to name. IsTemp and Sweep recognise it.
func TempName(name string) string { return tempPrefix(name) + sys.RandomIDs().Code(12) + ".tmp" }

// Identity identifies a file by device and inode; "" where the system has no such numbers.
func Identity(info fs.FileInfo) string { return identity(info) }

// Missing lists the folders that must be made before a file can be written at a place, the outermost first.
func Missing(p Place) []string {
	var dirs []string
	for dir := filepath.Dir(p.Path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append([]string{dir}, dirs...)
	}
}

// Stage writes new content durably under the name temp (from TempName) next to a classified place, and makes missing folders. The new file
// takes the permission bits and, if hob may set it, the owner of the existing file, or else of like; without both it gets 0644 minus the
// umask. The caller closes the result. Errors: those of WriteFile.
func (g *Guard) Stage(p Place, temp string, content Content, like fs.FileInfo) (*Staged, error) {
	if err := writable(p, false); err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}
	dir, err := g.parent(p)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}
	if p.Info != nil {
		like = p.Info
	}
	// Without a file to take the permission bits from, the umask decides.
	mode := fs.FileMode(0o644)
	if like != nil {
		mode = 0o600 // until fill sets the right bits
	}
	s := &Staged{dir: dir, place: p, temp: temp, notify: notifier(g, p)}
	if s.info, s.hash, err = fill(dir, temp, content, mode, like, s.notify != nil); err == nil {
		s.home, err = dir.Stat(".")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", p.Path, err), s.Discard())
	}
	return s, nil
}

// StageRemoval prepares the removal of a classified file. The caller closes the result. Errors: ErrState, ErrRegular, fs.ErrNotExist,
// fs.ErrPermission.
func (g *Guard) StageRemoval(p Place) (*Staged, error) {
	err := readable(p)
	if err == nil {
		err = writable(p, false)
	}
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", p.Path, err)
	}
	dir, err := g.folder(filepath.Dir(p.Path))
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", p.Path, err)
	}
	s := &Staged{dir: dir, place: p, notify: notifier(g, p)}
	if s.home, err = dir.Stat("."); err != nil {
		return nil, errors.Join(fmt.Errorf("remove %s: %w", p.Path, err), s.Close())
	}
	return s, nil
}

// Place returns the place of the change.
func (s *Staged) Place() Place { return s.place }

// Temp describes the temporary file with the new content; nil for a removal.
func (s *Staged) Temp() fs.FileInfo { return s.info }

// Folder describes the folder of the file.
func (s *Staged) Folder() fs.FileInfo { return s.home }

// Check returns ErrMoved if the file is not the one that was classified, or if its size or time has changed.
// It runs before Keep and Apply. A later change is not noticed.
func (s *Staged) Check() error {
	now, err := s.dir.Lstat(s.name())
	was := s.place.Info
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), err == nil && was == nil:
		return fmt.Errorf("%s: %w", s.place.Path, ErrMoved)
	case err != nil:
		return fmt.Errorf("%s: %w", s.place.Path, err)
	case !os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()):
		return fmt.Errorf("%s: %w", s.place.Path, ErrMoved)
	}
	return nil
}

// Keep gives the existing file a second name, so that Restore can bring it back. Without hard links it makes a copy. If there is no file,
// it does nothing.
func (s *Staged) Keep(name string) error {
	if s.place.Info == nil {
		return nil
	}
	if err := s.dir.Link(s.name(), name); err == nil {
		return nil
	}
	if err := s.copy(name); err != nil {
		return fmt.Errorf("keep the old %s: %w", s.place.Path, err)
	}
	return nil
}

func (s *Staged) copy(name string) error {
	from, err := s.dir.OpenFile(s.name(), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	to, err := s.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Chmod(s.place.Info.Mode().Perm()), to.Sync(), to.Close(), from.Close())
}

// Apply renames the new content to its final name, or removes the file. It follows no links. The change is durable only after Sync.
func (s *Staged) Apply() error {
	var err error
	// A watch may see the new content at once, so the notice comes first.
	if s.notify != nil {
		s.notify(s.hash)
	}
	if s.temp == "" {
		err = s.dir.Remove(s.name())
	} else {
		err = s.dir.Rename(s.temp, s.name())
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", s.place.Path, err)
	}
	return nil
}

// Restore undoes Apply with the file that Keep kept.
// If there was no file before, it removes the new one.
func (s *Staged) Restore(name string) error {
	if s.place.Info == nil {
		return s.dir.Remove(s.name())
	}
	return s.dir.Rename(name, s.name())
}

// Sync makes the names in the file's folder durable.
func (s *Staged) Sync() error { return sys.SyncFolderIn(s.dir, ".") }

// Forget removes the file that Keep kept. It does nothing if there was none.
func (s *Staged) Forget(name string) error {
	if s.place.Info == nil {
		return nil
	}
	return ignoreMissing(s.dir.Remove(name))
}

// Discard removes the temporary file, if it still exists, and closes.
func (s *Staged) Discard() error {
	if s.temp == "" {
		return s.Close()
	}
	return errors.Join(ignoreMissing(s.dir.Remove(s.temp)), s.Close())
}

// Close closes the folder.
func (s *Staged) Close() error { return s.dir.Close() }

func (s *Staged) name() string { return filepath.Base(s.place.Path) }

// ignoreMissing drops the error that there was nothing to remove.
func ignoreMissing(err error) error {
	return sys.Except(err, fs.ErrNotExist)
}
