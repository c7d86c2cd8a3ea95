package search

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"

	"hob/daemon/walk"
)

// own knows hob's state folder and the files in it by their identity, whatever they are called elsewhere. None of them may
// be opened: SQLite's locks on its files end when the process closes any descriptor of them.
type own struct {
	path   string
	folder [2]uint64
	inodes map[uint64]struct{} // of its files, when the search began
}

func newOwn(state string) (own, error) {
	o := own{path: state, inodes: map[uint64]struct{}{}}
	info, err := os.Lstat(state)
	if errors.Is(err, iofs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.folder[0], o.folder[1] = walk.Identity(info)
	return o, o.each(func(_, inode uint64) { o.inodes[inode] = struct{}{} })
}

// each tells of every file that is in the state folder now.
func (o own) each(file func(device, inode uint64)) error {
	return filepath.WalkDir(o.path, func(_ string, e iofs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info iofs.FileInfo
			if info, err = e.Info(); err == nil {
				file(walk.Identity(info))
			}
		}
		if errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// holds says that a file which was opened is one of the state folder's now. Its number of names does not tell: it may have
// lost one again since it was opened.
func (o own) holds(device, inode uint64) (bool, error) {
	found := false
	err := o.each(func(d, i uint64) { found = found || d == device && i == inode })
	return found, err
}

// kept are files that turned out to be hob's own only when they were open: somebody had put them in the place of others in
// that moment. They are neither read nor closed, ever.
type kept struct {
	mu    sync.Mutex
	files []io.Closer
}

// caught keeps an open file if it is hob's own, or if nobody can tell: then the error says why.
func (k *kept) caught(o own, f io.Closer, device, inode uint64) (bool, error) {
	hobs, err := o.holds(device, inode)
	if !hobs && err == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = append(k.files, f)
	return true, err
}

// some says that it happened. From then on files are opened in a slower way in which it cannot: so there are few.
func (k *kept) some() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.files) > 0
}
