package fsguard

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Look returns the fingerprint of a path with one system call. Symbolic links are not followed.
func Look(path string) (Fingerprint, error) {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old kernel, or a container that forbids the call
		return lstat(path)
	}
	if err != nil {
		return Fingerprint{}, &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	var mode fs.FileMode
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode = fs.ModeDir
	default:
		mode = fs.ModeIrregular
	}
	return Fingerprint{
		ID:   fmt.Sprintf("%d:%d:%d:%d.%d", s.Dev_major, s.Dev_minor, s.Ino, s.Btime.Sec, s.Btime.Nsec),
		Size: int64(s.Size), Changed: s.Ctime.Sec*1e9 + int64(s.Ctime.Nsec), Mode: mode, // #nosec G115 -- no file is larger
	}, nil
}
