//go:build unix

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// errFull is the system's error of a full disk.
const errFull = syscall.ENOSPC

// DiskFree returns how many bytes the caller may still write to the file system of a folder (statfs(2), f_bavail).
func DiskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,nolintlint // G115: the types differ from system to system, and no disk has 2^63 bytes
}

// Adopt gives a new file or folder to the owner of the folder that it is in, if the caller is root: root writes into the home of a service that runs
// as another user, and a file of mode 0600 could not be read there.
func Adopt(f *os.File, folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(folder, &st); err != nil {
		return &os.PathError{Op: "stat", Path: folder, Err: err}
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// FileOwner returns the user id of a file's owner, and whether that is the caller.
func FileOwner(path string) (uid int, mine bool, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, false, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return int(st.Uid), int(st.Uid) == os.Geteuid(), nil
}

// Writable returns an error if the caller may not read and write a file, or may not make and remove files in a folder. It changes nothing.
func Writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := uint32(unix.R_OK | unix.W_OK)
	if info.IsDir() {
		mode |= unix.X_OK
	}
	// A file system that is mounted read-only is an error for root too.
	if err := unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write to", Path: path, Err: err}
	}
	return nil
}

// SameDisk reports whether a file is on the file system of a folder.
func SameDisk(folder string, file fs.FileInfo) (bool, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	a, ok := info.Sys().(*syscall.Stat_t)
	b, also := file.Sys().(*syscall.Stat_t)
	return !ok || !also || a.Dev == b.Dev, nil
}

// Exposed returns why somebody else may change a file or folder, and the command that ends it; "" when nobody else may. Links are followed. It must
// belong to the caller or to root, and nobody else may write to it, nor to a folder above it that has no sticky bit. A group may, where the folder
// above lets nobody in. The rule is that of sshd (sshd_config(5), StrictModes). A missing file is judged by the folder that it would be in.
func Exposed(path string) (why, repair string, err error) {
	real, err := filepath.EvalSymlinks(path)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		// A link to a missing file is followed too: that file may be made later.
		if to, bad := os.Readlink(path); bad != nil {
			path = filepath.Dir(path)
		} else if filepath.IsAbs(to) {
			path = to
		} else {
			path = filepath.Join(filepath.Dir(path), to)
		}
		real, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", "", err
	}
	var st, above unix.Stat_t
	if err := errors.Join(unix.Stat(real, &st), unix.Stat(filepath.Dir(real), &above)); err != nil {
		return "", "", &os.PathError{Op: "stat", Path: real, Err: err}
	}
	switch mode := uint32(st.Mode); { //nolint:gosec,nolintlint,unconvert // the types differ from system to system
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return fmt.Sprintf("%s belongs to another user (%d)", real, st.Uid), fmt.Sprintf("chown -R %d %s, or run hob as its owner: sudo -u '#%d' hob up", os.Geteuid(), real, st.Uid), nil
	case mode&unix.S_IWOTH != 0:
		return "everybody may write to " + real, "chmod go-w " + real, nil
	case mode&unix.S_IWGRP != 0 && uint32(above.Mode)&unix.S_IXGRP != 0: //nolint:gosec,nolintlint,unconvert // as above
		return fmt.Sprintf("the group %d may write to %s", st.Gid, real), "chmod go-w " + real, nil
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if err := unix.Stat(dir, &above); err != nil {
			return "", "", &os.PathError{Op: "stat", Path: dir, Err: err}
		}
		if above.Mode&unix.S_IWOTH != 0 && above.Mode&unix.S_ISVTX == 0 {
			return fmt.Sprintf("everybody may write to %s, which holds %s", dir, real), "chmod o-w " + dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", "", nil
		}
	}
}
