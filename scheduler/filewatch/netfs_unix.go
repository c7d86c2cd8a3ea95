//go:build unix && !linux

package filewatch

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remote says that a folder lies on a file system that does not tell what others do on it.
func remote(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false // it is gone, or cannot be seen: the look at it will say so
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	return slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "9p", "macfuse", "osxfuse", "fusefs"}, name)
}
