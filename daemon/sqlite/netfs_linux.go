package sqlite

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// refuseNetwork rejects file systems on which SQLite's locks do not work (magic numbers of statfs(2)).
func refuseNetwork(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	network := []uint32{0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997, 0x5346414f, 0x00c36400} // NFS, SMB, SMB2, CIFS, 9P, AFS, Ceph
	if slices.Contains(network, uint32(st.Type)) {                                                  // #nosec G115 -- the magic numbers have 32 bits
		return fmt.Errorf("%w: %s", ErrNetwork, dir)
	}
	return nil
}
