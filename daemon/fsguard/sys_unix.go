//go:build unix

package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// links returns the number of names that a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 2 // unknown: search for other names
}

// identity returns "device:inode"; "" if they are unknown.
func identity(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}

// keepOwner gives a new file the owner and group of the file that it replaces, if hob may.
func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := now.Sys().(*syscall.Stat_t); ok && st.Uid == was.Uid && st.Gid == was.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// usableHere has no further rules: every name without a slash and NUL is valid here.
func usableHere(string) error { return nil }
