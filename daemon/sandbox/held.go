package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// What is wrong with a folder that is no longer what it was.
var (
	ErrMoved   = errors.New("changed while it was used")                // between two looks: another try may find it at rest
	ErrChanged = errors.New("not what it was when the config was read") // a root or bind
)

// held is a file or folder that was looked at. While it is open the system gives its inode to no other one.
type held struct {
	info fs.FileInfo
	file *os.File // nil where the system opens nothing only to hold it
}

func (h *held) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// fixed is what a root or bind of the configuration was when that was read.
type fixed struct {
	path string // as the configuration has it
	real string // with symbolic links resolved
	info fs.FileInfo
}

// fix looks at the configured folders, once. What is not there, or cannot be looked at, has a path only.
func fix(c Config) []fixed {
	var list []fixed
	for _, b := range append(append([]Bind{}, c.Binds...), c.Roots...) {
		f := fixed{path: b.Path, real: b.Path}
		if real, err := resolved(b.Path); err == nil {
			f.real = real
		}
		if info, err := os.Lstat(f.real); err == nil {
			f.info = info
		}
		list = append(list, f)
	}
	return list
}

// unchanged wants a configured folder to be what it was: a command could have put a link in its place, to what no config opens.
func (s *Sandbox) unchanged(path, real string) error {
	for _, f := range s.fixed {
		if f.path != path && f.real != path {
			continue
		}
		info, err := os.Lstat(real)
		if err != nil {
			return err
		}
		if f.real != real || f.info != nil && !os.SameFile(f.info, info) {
			return fmt.Errorf("%w: %s", ErrChanged, f.real)
		}
	}
	return nil
}
