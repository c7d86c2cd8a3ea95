//go:build unix && !linux

package sqlite

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// refuseNetwork rejects file systems on which SQLite's locks do not work.
func refuseNetwork(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	if slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav", "9p"}, name) {
		return fmt.Errorf("%w: %s", ErrNetwork, dir)
	}
	return nil
}
