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

// Limits of one check of files.
const (
	mostFiles   = 20_000   // files and folders that are looked at
	contentUpTo = 64 << 10 // bytes; of a larger file size and time are compared, not the content
)

// errMany is the error for globs that match too many files.
var errMany = fmt.Errorf("there are more than %d files and folders to look at: name them more closely", mostFiles)

// Files hashes the files of the gate's paths and globs: names, sizes, the contents of small files and the times of large ones. A folder
// includes everything in it. A missing file changes the hash too. Links below the start of a glob are not followed.
// The scheduler compares the hash with that of the last check, so equal files must give equal input in the same order.
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

// survey is one check of files: it collects facts in a hash.
type survey struct {
	ctx   context.Context //nolint:containedctx // of this one look
	guard *fsguard.Guard
	sum   gohash.Hash
	seen  int
}

// note adds one fact to the hash. Different lists of facts never give the same input.
func (s *survey) note(kind, name, value string) {
	_, _ = fmt.Fprintf(s.sum, "%s %q %q\n", kind, name, value) // a hash never fails
}

// glob adds the files of one path or glob. The guard resolves the part before the first pattern; hob's own state is refused.
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
	// base was resolved by the guard above; the pattern applies to names below it.
	pattern, err := glob.New(rest)
	if err != nil {
		return err
	}
	return s.folder(p.Path, pattern, pattern.Start())
}

// folder adds the matching entries of a folder. A folder that is gone by now counts as empty.
// at is the state of the pattern at this folder; a folder that no match can be in is not entered.
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
		// A link is neither a folder nor a regular file here, so it is left out.
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

// entries lists a folder by name. hob's own state folder counts as empty, so that no gate reads it.
func (s *survey) entries(path string) ([]fs.DirEntry, error) {
	// Each folder is resolved anew, because it may have been replaced by a link since its parent was listed.
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

// passing drops the error of a file that is gone or must not be read: such a file counts as missing.
func passing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fsguard.ErrMoved) {
		return nil
	}
	return err
}

// found adds a file that a glob has matched. It is resolved again, because it may be a link or be gone by now.
func (s *survey) found(path string) error {
	p, err := s.guard.Resolve("", path)
	if err != nil || p.Area == fsguard.State || !p.Exists() {
		return err
	}
	return s.file(p)
}

// file adds one file. Files that may contain keys are not opened.
// Their size and time are compared instead.
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
