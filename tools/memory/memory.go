// Package memory holds the tools that look into hob's memory: MEMORY.md and the files memory/*.md of the workspace. They go through
// fsguard, read nothing else, and write nothing.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
)

// The files of memory, in the workspace.
const (
	mainFile   = "MEMORY.md"
	noteFolder = "memory"
	noteEnding = ".md"
)

// Limits of reading.
const (
	mostOfFile = 1 << 20 // bytes of a file that are looked at
	mostFiles  = 5000
)

// file is a file of memory that has been read.
type file struct {
	name    string // "MEMORY.md", "memory/trips.md"
	text    string
	cut     bool   // there is more of it than is looked at
	foreign string // why it is somebody else's text, "" when it is not
}

// store finds and reads the files of memory.
type store struct{ guard *fsguard.Guard }

// looking is the intent of a tool that reads in the memory: which of its files are somebody else's text shows only when they are read.
func (s store) looking(summary string, args any) (tools.Intent, error) {
	p, err := s.guard.Resolve("", s.guard.Workspace())
	if err != nil {
		return tools.Intent{}, refusal("the workspace", err)
	}
	canonical, err := tools.Canonical(args)
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{tools.PathOf(p, false)}, Summary: summary, Canonical: canonical,
	}, err
}

// names lists the files of a scope, MEMORY.md first, the notes with the newest name first: notes are often named by their day.
func (s store) names(scope string) ([]string, error) {
	var names []string
	if scope != scopeNotes {
		names = append(names, mainFile)
	}
	if scope == scopeMain {
		return names, nil
	}
	p, err := s.guard.Resolve(s.guard.Workspace(), noteFolder)
	if err != nil || !p.IsDir() || !ours(p) {
		return names, err
	}
	root, err := s.guard.Folder(p)
	if err != nil {
		return names, err
	}
	defer func() { _ = root.Close() }() // only looked through: nothing to lose
	d, err := root.Open(".")
	if err != nil {
		return names, err
	}
	entries, err := d.ReadDir(mostFiles)
	if errors.Is(err, io.EOF) { // there are none
		err = nil
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return names, err
	}
	var notes []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), noteEnding) && !strings.HasPrefix(e.Name(), ".") {
			notes = append(notes, noteFolder+"/"+e.Name())
		}
	}
	slices.Sort(notes)
	slices.Reverse(notes)
	return append(names, notes...), nil
}

// ours says that a place lies where hob works. What a link in the memory leads to elsewhere was not judged, and is left out.
func ours(p fsguard.Place) bool {
	return p.Area == fsguard.Workspace || p.Area == fsguard.RootRO || p.Area == fsguard.RootRW
}

// read reads a file of memory; false: it is not there, no regular file, or leads elsewhere.
func (s store) read(name string) (file, bool, error) {
	p, err := s.guard.Resolve(s.guard.Workspace(), name)
	if err != nil || !p.Exists() || !p.Info.Mode().IsRegular() || !ours(p) {
		return file{}, false, nil //nolint:nilerr // one name that leads nowhere does not end a search
	}
	text, cut, err := s.content(p)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, fsguard.ErrMoved) {
		return file{}, false, nil // it has just gone, or is being replaced
	}
	return file{name, text, cut, p.Foreign}, err == nil, err
}

// content is the beginning of a file, and whether there is more of it.
func (s store) content(p fsguard.Place) (text string, cut bool, err error) {
	f, err := s.guard.Open(p)
	if err != nil {
		return "", false, err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostOfFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", false, err
	}
	cut = len(data) > mostOfFile
	text = strings.TrimPrefix(string(data[:min(len(data), mostOfFile)]), "\ufeff")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"), cut, nil
}

// refusal turns an error of fsguard or the system into what the model reads.
func refusal(path string, err error) error {
	code, hint := tools.IO, ""
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code = tools.Denied
	case errors.Is(err, fsguard.ErrPath), errors.Is(err, fsguard.ErrRegular):
		code, hint = tools.Validation, "memory is MEMORY.md and memory/*.md"
	case errors.Is(err, fsguard.ErrMoved):
		code, hint = tools.Conflict, "call the tool again"
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, fsguard.ErrFolder), errors.Is(err, fsguard.ErrLoop):
		code, hint = tools.NotFound, "memory_search shows what there is"
	case errors.Is(err, iofs.ErrPermission):
		code = tools.Denied
	}
	return tools.Refuse(code, hint, "%s: %v", path, plain(err))
}

// plain is an error without the path, which the message has already.
func plain(err error) error {
	if e, ok := errors.AsType[*iofs.PathError](err); ok {
		return e.Err
	}
	return err
}

// shown makes a text fit for one line: control characters visible, not endless.
func shown(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, s)
	if len(clean) > 200 {
		return strings.ToValidUTF8(clean[:200], "") + "…"
	}
	return clean
}

// nameOf is the name of a file of memory, relative to the workspace and with slashes; false: the path names none.
func (s store) nameOf(path string) (string, bool) {
	space := s.guard.Workspace()
	if !filepath.IsAbs(path) {
		path = filepath.Join(space, path)
	}
	rel, err := filepath.Rel(space, filepath.Clean(path))
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	note, ok := strings.CutPrefix(rel, noteFolder+"/")
	return rel, rel == mainFile || ok && !strings.Contains(note, "/") && strings.HasSuffix(note, noteEnding)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
