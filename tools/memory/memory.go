// Package memory holds the tools that read hob's memory: memory_search and memory_get, over
// MEMORY.md and the files memory/*.md in the workspace. A search splits the files into chunks and
// ranks them by the words of the query (BM25); it keeps no index. The tools read through the path
// guard, read no other files, and write nothing.
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

// The memory files, relative to the workspace.
const (
	mainFile   = "MEMORY.md"
	noteFolder = "memory"
	noteEnding = ".md"
)

// Limits of reading.
const (
	mostOfFile = 1 << 20 // bytes read per file
	mostFiles  = 5000
)

// file is a memory file that has been read.
type file struct {
	name    string // "MEMORY.md", "memory/trips.md"
	text    string
	cut     bool   // the file is longer than mostOfFile
	foreign string // why it is foreign text; "": it is not
}

// store finds and reads the memory files.
type store struct{ guard *fsguard.Guard }

// readIntent is the intent of a search in the memory. Which of the files are foreign is only known
// after reading them.
func (s store) readIntent(summary string, args any) (tools.Intent, error) {
	// The permission rules judge the workspace as a whole, because a search may read any file of the memory.
	p, err := s.guard.Resolve("", s.guard.Workspace())
	if err != nil {
		return tools.Intent{}, refusal("the workspace", err)
	}
	canonical, err := tools.Canonical(args)
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{tools.PathOf(p, false)}, Summary: summary, Canonical: canonical,
	}, err
}

// names lists the files of a scope: MEMORY.md first, then the notes in descending order, because
// their names often start with a date.
func (s store) names(scope string) ([]string, error) {
	var names []string
	if scope != scopeNotes {
		names = append(names, mainFile)
	}
	if scope == scopeMain {
		return names, nil
	}
	p, err := s.guard.Resolve(s.guard.Workspace(), noteFolder)
	// A workspace without notes is usual, and no error.
	if err != nil || !p.IsDir() || !ours(p) {
		return names, err
	}
	// An open folder: a link that replaces it from now on has no effect.
	root, err := s.guard.Folder(p)
	if err != nil {
		return names, err
	}
	defer func() { _ = root.Close() }() // read only: nothing can be lost
	d, err := root.Open(".")
	if err != nil {
		return names, err
	}
	entries, err := d.ReadDir(mostFiles)
	if errors.Is(err, io.EOF) { // the folder is empty
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
	// Names that start with a date come out newest first.
	slices.Sort(notes)
	slices.Reverse(notes)
	return append(names, notes...), nil
}

// ours reports whether a place is inside the workspace or a root. A link from the memory to any
// other place has not been judged by the permission rules, so such a file is left out.
func ours(p fsguard.Place) bool {
	return p.Area == fsguard.Workspace || p.Area == fsguard.RootRO || p.Area == fsguard.RootRW
}

// read reads a memory file; false if it does not exist, is not a regular file, or leads elsewhere.
func (s store) read(name string) (file, bool, error) {
	p, err := s.guard.Resolve(s.guard.Workspace(), name)
	if err != nil || !p.Exists() || !p.Info.Mode().IsRegular() || !ours(p) {
		return file{}, false, nil //nolint:nilerr // a name that leads nowhere does not fail the search
	}
	text, cut, err := s.content(p)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, fsguard.ErrMoved) {
		return file{}, false, nil // it was just removed or replaced
	}
	return file{name, text, cut, p.Foreign}, err == nil, err
}

// content returns the beginning of a file, and whether there is more of it.
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
	// Line ends become "\n" and broken bytes U+FFFD, so that line numbers and words are the same everywhere.
	text = strings.TrimPrefix(string(data[:min(len(data), mostOfFile)]), "\ufeff")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"), cut, nil
}

// refusal converts an error of the path guard or the system into a refusal for the model.
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

// plain returns an error without the path, which the message already contains.
func plain(err error) error {
	if e, ok := errors.AsType[*iofs.PathError](err); ok {
		return e.Err
	}
	return err
}

// shown prepares a text for one line: it replaces control characters and limits the length.
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

// nameOf returns the name of a memory file, relative to the workspace and with slashes; false if
// the path is not one.
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

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
