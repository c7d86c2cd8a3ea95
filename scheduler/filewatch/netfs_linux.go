package filewatch

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remote reports whether a folder is on a file system that does not report changes by other machines (magic numbers of statfs(2)).
func remote(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false // it is gone or invisible; the scan reports that
	}
	// NFS, SMB, SMB2, CIFS, 9P, AFS, Ceph, FUSE, Coda
	network := []uint32{0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997, 0x5346414f, 0x00c36400, 0x65735546, 0x73757245}
	return slices.Contains(network, uint32(st.Type)) // #nosec G115 -- the magic numbers have 32 bits
}
