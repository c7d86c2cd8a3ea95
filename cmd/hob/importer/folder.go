package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"hob/daemon/console"
	"hob/daemon/fsguard"
)

// The limits of what is read. A workspace file of hob is at most some kilobytes long; the rest is room for long memories.
const (
	maxText    = 1 << 20
	maxEntries = 5000 // files and folders that are looked at
	maxSkills  = 500
	maxDepth   = 5 // folders below skills
)

// folder is the other program's folder. Nothing outside of it is read, wherever its links lead.
type folder struct {
	path string
	root *os.Root
}

// openFolder opens a folder. A link to it is fine, since the caller names it.
func openFolder(dir string) (*folder, error) {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(at)
	return &folder{at, root}, err
}

// is reports whether there is a folder or, with file, a regular file of a name. Links count as missing.
func (f *folder) is(name string, file bool) bool {
	info, err := f.root.Lstat(name)
	return err == nil && (file && info.Mode().IsRegular() || !file && info.IsDir())
}

// hasAny reports whether there is anything with one of the names.
func (f *folder) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := f.root.Lstat(name)
		return err == nil
	})
}

// text reads a text file. The error is a sentence without the name of the file, or fs.ErrNotExist.
func (f *folder) text(name string) ([]byte, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, &unreadError{err}
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a link, and links are not followed")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case fsguard.Links(info) > 1:
		return nil, errors.New("it has another name somewhere else (a hard link), and may be any of your files")
	case info.Size() > maxText:
		return nil, fmt.Errorf("it is too long (%s; at most %s)", console.Size(info.Size()), console.Size(maxText))
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, &unreadError{err}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxText+1)) // it may grow meanwhile
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, &unreadError{err}
	}
	if len(text) > maxText || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not text")
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}
