//go:build unix && !linux

package walk

import (
	"io/fs"
	"syscall"
)

// nonblock are the flags for opening a file: a pipe without a writer does not block, and a link is not followed.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // 16 bits on some systems
	}
	return 2 // unknown: search
}
