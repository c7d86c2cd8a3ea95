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

// Staged is a change to one file that is prepared and that nobody sees yet: new content that waits beside the
// file under a temporary name, or the file's removal. Several of them can be prepared before the first is applied.
type Staged struct {
	dir   *os.Root
	place Place
	temp  string // "": a removal
	info  fs.FileInfo
	home  fs.FileInfo
	hash  string // of the content
	tell  func(hash string)
}

// TempName is a fresh name for a temporary file beside name. IsTemp and Sweep know it.
func TempName(name string) string { return tempPrefix(name) + sys.RandomIDs().Code(12) + ".tmp" }

// Identity names a file by device and inode; "" where the system has no such numbers.
func Identity(info fs.FileInfo) string { return identity(info) }

// Missing lists the folders that are to be made before a file can be written at a place, the outermost first.
func Missing(p Place) []string {
	var dirs []string
	for dir := filepath.Dir(p.Path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append([]string{dir}, dirs...)
	}
}

// Stage makes new content durable under the name temp (of TempName) beside a judged place, and makes missing folders; content writes
// it into an empty file, from its beginning. A file that is there passes on its permission bits and, where hob may, its owner; else
// like does, and without that a new file gets 0644 less the umask. The caller closes what it gets. Errors as of WriteFile.
func (g *Guard) Stage(p Place, temp string, content func(*os.File) error, like fs.FileInfo) (*Staged, error) {
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
	mode := fs.FileMode(0o644)
	if like != nil {
		mode = 0o600 // until fill gives it the bits of the other
	}
	s := &Staged{dir: dir, place: p, temp: temp, tell: teller(g, p)}
	if s.info, s.hash, err = fill(dir, temp, content, mode, like, s.tell != nil); err == nil {
		s.home, err = dir.Stat(".")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", p.Path, err), s.Discard())
	}
	return s, nil
}

// StageRemoval prepares the removal of a judged file. The caller closes what it gets.
// Errors: ErrState, ErrRegular, fs.ErrNotExist, fs.ErrPermission.
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
	s := &Staged{dir: dir, place: p, tell: teller(g, p)}
	if s.home, err = dir.Stat("."); err != nil {
		return nil, errors.Join(fmt.Errorf("remove %s: %w", p.Path, err), s.Close())
	}
	return s, nil
}

// Place is where the change will be seen.
func (s *Staged) Place() Place { return s.place }

// Temp is the temporary file with the new content; nil of a removal.
func (s *Staged) Temp() fs.FileInfo { return s.info }

// Folder is the folder that holds the file.
func (s *Staged) Folder() fs.FileInfo { return s.home }

// Check says ErrMoved when the file is no longer what was judged: another one, longer, or written to.
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

// Keep gives what is there a second name beside it, so that Restore can bring it back. Where the system has no hard links
// it is a copy. Without a file it does nothing.
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

// Apply gives the new content its name, or removes the file. It follows nothing and is not durable before Sync.
func (s *Staged) Apply() error {
	var err error
	if s.tell != nil {
		s.tell(s.hash)
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

// Restore undoes Apply with what Keep kept.
func (s *Staged) Restore(name string) error {
	if s.place.Info == nil {
		return s.dir.Remove(s.name())
	}
	return s.dir.Rename(name, s.name())
}

// Sync makes the names in the file's folder durable.
func (s *Staged) Sync() error { return syncFolder(s.dir) }

// Forget removes what Keep kept; without a file, or when nothing was kept, it does nothing.
func (s *Staged) Forget(name string) error {
	if s.place.Info == nil {
		return nil
	}
	return gone(s.dir.Remove(name))
}

// Discard removes the temporary file, if it is still there, and closes.
func (s *Staged) Discard() error {
	if s.temp == "" {
		return s.Close()
	}
	return errors.Join(gone(s.dir.Remove(s.temp)), s.Close())
}

// Close lets go of the folder.
func (s *Staged) Close() error { return s.dir.Close() }

func (s *Staged) name() string { return filepath.Base(s.place.Path) }

// gone forgives that there was nothing to remove.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
