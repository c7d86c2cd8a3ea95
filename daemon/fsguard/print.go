package fsguard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Print is what tells a file again when it has another name.
type Print struct {
	ID      string // device, inode and, where the system says it, the time of birth: systems use inodes again. "" where there are no inodes
	Size    int64  // in bytes
	Changed int64  // nanoseconds since 1970: the last change of its content, name or rights, or of its content only where the system says no more
	Mode    fs.FileMode
}

// lstat is Look for systems, and kernels, that do not say when a file was born.
func lstat(path string) (Print, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Print{}, err
	}
	return Print{ID: identity(info), Size: info.Size(), Changed: info.ModTime().UnixNano(), Mode: info.Mode()}, nil
}

// Sum is the SHA-256, in hex, of the content of a regular file. That of a folder covers the name and the state of all below it, not the
// content. Files of the state folder are not opened. Errors: those of Open, ErrState.
func Sum(g *Guard, path string) (string, error) {
	w, err := walk(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	switch state, err := g.inState(w); {
	case err != nil:
		return "", fmt.Errorf("judge %s: %w", path, err)
	case state:
		return "", fmt.Errorf("%s: %w", path, ErrState)
	}
	p, h := Place{Path: w.path, Info: w.info}, sha256.New()
	if p.IsDir() {
		err = listing(h, p.Path)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	f, err := g.Open(p)
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(h, f); err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// listing writes a line for each file and folder below a folder. What cannot be looked at has its error in it.
func listing(to io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		p, failed := Look(path)
		_, writing := fmt.Fprintf(to, "%q %s %d %d %v\n", path, p.ID, p.Size, p.Changed, errors.Join(err, failed))
		return writing
	})
}
