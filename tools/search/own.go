package search

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sync"

	"hob/daemon/sys"
	"hob/daemon/walk"
)

// own knows hob's state folder and its files by identity, whatever other names lead to them. No
// search may open one of them: when a process closes any descriptor of a SQLite file, it loses
// SQLite's locks on that file.
// The rule is that of POSIX advisory locks (SQLite documentation, "How To Corrupt An SQLite Database File").
type own struct {
	path   string
	folder [2]uint64
	inodes map[uint64]struct{} // its files at the start of the search
}

// newOwn records the files that exist now.
func newOwn(state string) (own, error) {
	o := own{path: state, inodes: map[uint64]struct{}{}}
	info, err := os.Lstat(state)
	// Without a state folder there is nothing to protect.
	if errors.Is(err, iofs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	// Device and inode identify the folder whatever its name is.
	o.folder[0], o.folder[1] = walk.Identity(info)
	return o, o.each(func(_, inode uint64) { o.inodes[inode] = struct{}{} })
}

// each calls file for every file in the state folder.
func (o own) each(file func(device, inode uint64)) error {
	return filepath.WalkDir(o.path, func(_ string, e iofs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info iofs.FileInfo
			if info, err = e.Info(); err == nil {
				file(walk.Identity(info))
			}
		}
		// Files may disappear during the walk, such as journals of SQLite.
		return sys.Except(err, iofs.ErrNotExist)
	})
}

// holds reports whether an opened file now belongs to the state folder. Its link count does not
// tell: the file may have lost a name since it was opened.
func (o own) holds(device, inode uint64) (bool, error) {
	found := false
	err := o.each(func(d, i uint64) { found = found || d == device && i == inode })
	return found, err
}

// keptOpen holds files that turned out to be hob's own only after they were opened, because
// somebody swapped them in at that moment. They are never read and never closed.
type keptOpen struct {
	mu    sync.Mutex
	files []io.Closer
}

// caught keeps an open file if it is hob's own, or if that cannot be determined: then it returns
// the error.
func (k *keptOpen) caught(o own, f io.Closer, device, inode uint64) (bool, error) {
	hobs, err := o.holds(device, inode)
	if !hobs && err == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = append(k.files, f)
	return true, err
}

// some reports whether this has ever happened. From then on files are opened in a slower way that
// prevents it, so the list stays short.
func (k *keptOpen) some() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.files) > 0
}
