// Package memory holds the tools that read hob's memory: memory_search and memory_get, over MEMORY.md
// and the files memory/**/*.md in the workspace. A search asks the index (daemon/memory); memory_get
// reads the file itself through the path guard. The tools read no other files, and write nothing.
package memory

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/daemon/text"
	"hob/tools"
)

// mostOfFile is how much memory_get reads of a file, in bytes.
const mostOfFile = 4 << 20

// Index finds passages. daemon/memory implements it.
type Index interface {
	Search(ctx context.Context, q index.Query) (index.Result, error)
}

// store reads the memory files.
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
	if f, ok := event.AsFault(err); ok {
		return tools.Refuse(code, f.Hint, "%s: %s", path, f.Text)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code = tools.Denied
	case errors.Is(err, fsguard.ErrPath), errors.Is(err, fsguard.ErrRegular):
		code, hint = tools.Validation, "memory is MEMORY.md and memory/**/*.md"
	case errors.Is(err, fsguard.ErrMoved):
		code, hint = tools.Conflict, "call the tool again"
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, fsguard.ErrFolder), errors.Is(err, fsguard.ErrLoop):
		code, hint = tools.NotFound, "memory_search shows what there is"
	case errors.Is(err, iofs.ErrPermission):
		code = tools.Denied
	}
	return tools.Refuse(code, hint, "%s: %v", path, index.Plain(err))
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

// nameOf returns the name of a memory file relative to the workspace, with slashes; false if the path is no memory file.
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
	return rel, index.IsFile(rel)
}

// count formats a number with its noun.
func count(n int, noun string) string { return text.Count(n, noun) }
