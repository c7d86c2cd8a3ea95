//go:build unix

package walk

import (
	"io/fs"
	"syscall"
)

// numbers returns the device and inode of a file; 0 if they are unknown.
func numbers(info fs.FileInfo) (device, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // of other sizes on some; only compared
	}
	return 0, 0
}

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // 16 bits on some systems
	}
	return 2 // unknown: search
}
