//go:build unix && !linux

package fsguard

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// openSame compares after opening, because these systems have no O_PATH.
func (g *Guard) openSame(root *os.Root, rel string, want fs.FileInfo) (*os.File, error) {
	return g.openPlain(root, rel, want)
}
