package gates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	gohash "hash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/glob"
	"hob/scheduler"
)

// Limits of a look at files.
const (
	mostFiles   = 20_000   // files and folders that are looked at
	contentUpTo = 64 << 10 // bytes; of a larger file size and time are compared, not the content
)

// errMany is the fault of globs that name half of the machine.
var errMany = fmt.Errorf("there are more than %d files and folders to look at: name them more closely", mostFiles)

// Files hashes what the gate's paths and globs name: names, sizes, the contents of small files and the times of large ones. A folder stands
// for all that is in it. What is not there is a fact too. Links are not followed below where a glob begins.
func (e *Evaluator) Files(ctx context.Context, j scheduler.Job) (string, error) {
	s := &survey{ctx: ctx, guard: e.Setting().Guard, sum: sha256.New()}
	for _, pattern := range j.Gate.Files {
		s.note("glob", pattern, "")
		if err := s.glob(pattern); err != nil {
			return "", fmt.Errorf("%s: %w", pattern, err)
		}
	}
	return hex.EncodeToString(s.sum.Sum(nil)), nil
}

// anchored splits a glob into the path before its first pattern and the rest, "" when there is no pattern in it.
func anchored(pattern string) (base, rest string) {
	names := strings.Split(pattern, "/")
	n := slices.IndexFunc(names, func(name string) bool { return strings.ContainsAny(name, `*?[{\!`) })
	if n < 0 {
		return pattern, ""
	}
	base = strings.Join(names[:n], "/")
	switch {
	case n == 0:
		base = "."
	case base == "":
		base = "/"
	}
	return base, strings.Join(names[n:], "/")
}

// survey is one look at files.
type survey struct {
	ctx   context.Context //nolint:containedctx // of this one look
	guard *fsguard.Guard
	sum   gohash.Hash
	seen  int
}

// note takes one fact in; no two lists of facts look the same.
func (s *survey) note(kind, name, value string) {
	_, _ = fmt.Fprintf(s.sum, "%s %q %q\n", kind, name, value) // a hash never fails
}

func (s *survey) glob(named string) error {
	base, rest := anchored(named)
	p, err := s.guard.Resolve("", base)
	if err != nil {
		return err
	}
	switch {
	case p.Area == fsguard.State:
		return fsguard.ErrState
	case !p.Exists():
		s.note("none", base, "")
		return nil
	case rest == "" && !p.IsDir():
		return s.file(p)
	case rest == "":
		rest = "**"
	}
	pattern, err := glob.New(rest)
	if err != nil {
		return err
	}
	return s.folder(p.Path, pattern, pattern.Start())
}

// folder looks through a folder for what still matches. One that is gone by now has nothing in it.
func (s *survey) folder(path string, pattern *glob.Pattern, at glob.State) error {
	entries, err := s.entries(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if s.seen++; s.seen > mostFiles {
			return errMany
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		child := filepath.Join(path, e.Name())
		switch {
		case e.IsDir():
			if next := pattern.Enter(at, e.Name(), glob.Shown); len(next) > 0 {
				err = s.folder(child, pattern, next)
			}
		case e.Type().IsRegular():
			if ok, _ := pattern.Match(at, e.Name()); ok {
				err = s.found(child)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries lists a folder by name; hob's own state has none.
func (s *survey) entries(path string) ([]fs.DirEntry, error) {
	p, err := s.guard.Resolve("", path)
	if err != nil || p.Area == fsguard.State || !p.IsDir() {
		return nil, err
	}
	root, err := s.guard.Folder(p)
	if err != nil {
		return nil, passing(err)
	}
	list, err := fs.ReadDir(root.FS(), ".")
	return list, errors.Join(passing(err), root.Close())
}

// passing drops the error that only says that something has gone, or may not be read: there is nothing to see.
func passing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fsguard.ErrMoved) {
		return nil
	}
	return err
}

func (s *survey) found(path string) error {
	p, err := s.guard.Resolve("", path)
	if err != nil || p.Area == fsguard.State || !p.Exists() {
		return err
	}
	return s.file(p)
}

// file takes one file in. What may hold keys is not opened.
func (s *survey) file(p fsguard.Place) error {
	size := fmt.Sprint(p.Info.Size())
	if p.Area != fsguard.Sensitive && p.Info.Mode().IsRegular() && p.Info.Size() <= contentUpTo {
		if content, ok := s.content(p); ok {
			s.note("file", p.Path, size+" "+content)
			return nil
		}
	}
	s.note("file", p.Path, size+" "+fmt.Sprint(p.Info.ModTime().UnixNano()))
	return nil
}

// content hashes a small file; false: it cannot be read.
func (s *survey) content(p fsguard.Place) (string, bool) {
	f, err := s.guard.Open(p)
	if err != nil {
		return "", false
	}
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, contentUpTo+1))
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close()) == nil
}
