package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Errors for a file or folder that was replaced.
var (
	ErrMoved   = errors.New("changed while it was used")                // between check and use; a retry may succeed
	ErrChanged = errors.New("not what it was when the config was read") // a root or bind is another folder than when the config was read
)

// held is a file or folder that hob checked. An open file keeps its inode, so no other file can get the same one meanwhile.
type held struct {
	info fs.FileInfo
	file *os.File // nil on systems that cannot open a file without rights to it
}

func (h *held) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// fixed records a configured root or bind at the moment when the config was read.
type fixed struct {
	path string // as the config spells it
	real string // with symbolic links resolved
	info fs.FileInfo
}

// fix records the configured folders, once. An entry that is missing or unreadable gets a path only.
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

// unchanged checks that a configured folder is still the same one. A command could have replaced it by a link to a folder that no config
// opens.
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
