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

// links is always 2, because a FileInfo does not say it here. Callers then search for other names.
func links(fs.FileInfo) uint64 { return 2 }

func identity(fs.FileInfo) string { return "" }

// keepOwner does nothing: a new file takes the access list of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// usableHere rejects device names (NUL, COM1) and streams ("file:stream").
func usableHere(path string) error {
	rest := path[len(filepath.VolumeName(path)):]
	for _, name := range split(rest) {
		if name != ".." && (strings.Contains(name, ":") || !filepath.IsLocal(name)) {
			return fmt.Errorf("%w: %q is a reserved name", ErrPath, name)
		}
	}
	return nil
}
