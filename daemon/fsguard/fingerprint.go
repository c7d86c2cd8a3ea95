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

// Fingerprint identifies a file after it was renamed, and tells whether it changed.
// The store keeps it for each file that a tainted turn wrote, to find the file again under another name.
type Fingerprint struct {
	ID      string // device, inode and, if the system knows it, the birth time, because systems reuse inodes. "" where there are no inodes
	Size    int64  // in bytes
	Changed int64  // nanoseconds since 1970: the last change of content, name or rights; where the system lacks that, of the content only
	Mode    fs.FileMode
}

// lstat is Look for systems and kernels that do not report birth times.
func lstat(path string) (Fingerprint, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Fingerprint{}, err
	}
	return Fingerprint{ID: identity(info), Size: info.Size(), Changed: info.ModTime().UnixNano(), Mode: info.Mode()}, nil
}

// Sum returns the SHA-256, in hex, of a regular file's content. For a folder it covers the names and fingerprints of everything below,
// not the content. It opens no files of the state folder. Errors: ErrState and those of Open.
func Sum(g *Guard, path string) (string, error) {
	w, err := walk(os.Lstat, path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	switch state, err := g.inState(os.Lstat, w); {
	case err != nil:
		return "", fmt.Errorf("classify %s: %w", path, err)
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

// listing writes a line for each file and folder below a folder. If one cannot be read, its line has the error.
func listing(to io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		p, failed := Look(path)
		_, writing := fmt.Fprintf(to, "%q %s %d %d %v\n", path, p.ID, p.Size, p.Changed, errors.Join(err, failed))
		return writing
	})
}
