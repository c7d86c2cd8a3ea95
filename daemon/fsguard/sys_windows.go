package fsguard

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const nonblock = 0

func (g *Guard) openSame(root *os.Root, rel string, want fs.FileInfo) (*os.File, error) {
	return g.openPlain(root, rel, want)
}

// links is not known from a FileInfo here: always look.
func links(fs.FileInfo) uint64 { return 2 }

func identity(fs.FileInfo) string { return "" }

// keepOwner: a new file takes the access list of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// syncFolder: folders cannot be synced here; the rename is written through by the journal.
func syncFolder(*os.Root) error { return nil }

// usableHere refuses device names (NUL, COM1) and streams ("file:stream").
func usableHere(path string) error {
	rest := path[len(filepath.VolumeName(path)):]
	for _, name := range split(rest) {
		if name != ".." && (strings.Contains(name, ":") || !filepath.IsLocal(name)) {
			return fmt.Errorf("%w: %q is a reserved name", ErrPath, name)
		}
	}
	return nil
}
