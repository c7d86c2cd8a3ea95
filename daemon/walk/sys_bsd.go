//go:build unix && !linux

package walk

import (
	"io/fs"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // 16 bits on some systems
	}
	return 2 // unknown: search
}
