// Package search holds the tools that look for text and for files: grep and glob. They find what ripgrep and fd find, go
// through fsguard, follow no link, and never open what is not a regular file. They decide nothing about permission.
package search

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
)

// judge resolves where a search starts. What cannot be a path, is not there, and hob's own state are refused right here.
func judge(g *fsguard.Guard, call tools.Call, path string) (fsguard.Place, error) {
	p, err := g.Resolve(call.Workdir, path)
	switch {
	case err != nil:
	case p.Area == fsguard.State:
		err = fsguard.ErrState
	case !p.Exists():
		err = iofs.ErrNotExist
	}
	if err != nil {
		return p, refusal(path, err)
	}
	return p, nil
}

// looking is the intent of a search: it reads below a path.
func looking(tool, pattern string, p fsguard.Place) (tools.Intent, error) {
	canonical, err := tools.Canonical(struct {
		Tool    string `json:"tool"`
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		ID      string `json:"id"`
	}{tool, pattern, p.Path, p.ID()})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{tools.PathOf(p, false)},
		Summary: fmt.Sprintf("%s %s in %s", tool, shown(pattern), shown(p.Path)), Canonical: canonical, Keep: p,
	}, err
}

// intended returns what Intent judged; a call that comes back without it (after a restart) is judged anew and must lead to
// the same path.
func intended(g *fsguard.Guard, call tools.Call, path string, intent tools.Intent) (fsguard.Place, error) {
	if p, ok := intent.Keep.(fsguard.Place); ok {
		return p, nil
	}
	p, err := judge(g, call, path)
	if err == nil && len(intent.Paths) > 0 && intent.Paths[0].Path != p.Path {
		err = tools.Refuse(tools.Conflict, "call the tool again", "%s now leads to %s, not to %s", path, p.Path, intent.Paths[0].Path)
	}
	return p, err
}

// refusal turns an error of fsguard or the system into what the model reads.
func refusal(path string, err error) error {
	code, hint, text := tools.IO, "", plain(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code, text = tools.Denied, "this is hob's own state; no tool may reach it"
	case errors.Is(err, fsguard.ErrPath):
		code, hint = tools.Validation, "relative paths start in the workspace; ~ is the home folder"
	case errors.Is(err, fsguard.ErrRegular):
		code, hint = tools.Validation, "search a folder or a regular file"
	case errors.Is(err, fsguard.ErrFolder), errors.Is(err, fsguard.ErrLoop):
		code, hint = tools.NotFound, "ls shows what is there"
	case errors.Is(err, fsguard.ErrMoved):
		code, hint = tools.Conflict, "call the tool again"
	case errors.Is(err, iofs.ErrNotExist):
		code, text, hint = tools.NotFound, "there is no such file or folder", "glob or ls shows what is there"
	case errors.Is(err, iofs.ErrPermission):
		code, text = tools.Denied, "the system does not allow it (file permissions)"
	}
	return tools.Refuse(code, hint, "%s: %s", shown(path), text)
}

// plain is an error's text without the path, which the message has already.
func plain(err error) string {
	if e, ok := errors.AsType[*iofs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// naming writes the paths of results: as read takes them, relative to where relative paths start if they lie there.
type naming struct{ before string }

func namesFrom(g *fsguard.Guard, call tools.Call, start string) (naming, error) {
	base := g.Workspace()
	if call.Workdir != "" {
		p, err := g.Resolve("", call.Workdir)
		if err != nil {
			return naming{}, refusal(call.Workdir, err)
		}
		base = p.Path
	}
	rel, err := filepath.Rel(base, start)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return naming{filepath.ToSlash(start)}, nil
	case rel == ".":
		return naming{}, nil
	default:
		return naming{filepath.ToSlash(rel)}, nil
	}
}

// of is the name of a path below the start; "" is the start itself.
func (n naming) of(below string) string {
	switch {
	case n.before == "":
		return below
	case below == "":
		return n.before
	case strings.HasSuffix(n.before, "/"):
		return n.before + below
	default:
		return n.before + "/" + below
	}
}

// shown makes a path fit for a line: control characters visible, not endless.
func shown(path string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, path)
	if len(clean) > 1000 {
		return strings.ToValidUTF8(clean[:1000], "") + "…"
	}
	return strings.ToValidUTF8(clean, "\uFFFD")
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + strings.ReplaceAll(noun, " or ", "s or ") + "s"
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
