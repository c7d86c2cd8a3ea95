package sys

import (
	"fmt"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// errFull is the system's error of a full disk.
const errFull = windows.ERROR_DISK_FULL

// DiskFree returns how many bytes the caller may still write to the file system of a folder (GetDiskFreeSpaceExW).
func DiskFree(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	return int64(min(free, math.MaxInt64)), nil // #nosec G115 -- bounded
}

// FileOwner always reports the caller, because access to a file does not depend on its owner on this system.
func FileOwner(path string) (uid int, mine bool, err error) {
	_, err = os.Stat(path)
	return -1, true, err
}

// Exposed finds nothing: the access rights of this system are not looked at.
func Exposed(string) (why, repair string, err error) { return "", "", nil }

// Adopt does nothing: a new file inherits the access rights of its folder on this system.
func Adopt(*os.File, string) error { return nil }

// Writable only looks whether the file is there: whether the caller may write to it is known when it is written.
func Writable(path string) error {
	_, err := os.Stat(path)
	return err
}

// SameDisk always reports true: a folder on another disk is a link here, which can be renamed.
func SameDisk(string, fs.FileInfo) (bool, error) { return true, nil }
