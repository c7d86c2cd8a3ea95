//go:build unix && !linux

package filewatch

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remote reports whether a folder is on a file system that does not report changes by other machines.
// The names are those that the system reports for mounted file systems (statfs(2), f_fstypename).
func remote(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false // it is gone or invisible; the scan reports that
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	return slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "9p", "macfuse", "osxfuse", "fusefs"}, name)
}
