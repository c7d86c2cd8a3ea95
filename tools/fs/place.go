// Package fs holds the tools that read and write files. They go through fsguard, so that what was judged is
// what is opened; they decide nothing about permission and never follow a link that fsguard did not.
package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
)

// judge resolves the path of a call. What cannot be a path, and hob's own state, is refused right here.
func judge(g *fsguard.Guard, call tools.Call, path string) (fsguard.Place, error) {
	p, err := g.Resolve(call.Workdir, path)
	if err != nil {
		return p, refusal(g, call, path, err)
	}
	return p, nil
}

// intended returns what Intent judged; a call that comes back without it (after a restart) is judged anew
// and must lead to the same path.
func intended(g *fsguard.Guard, call tools.Call, path string, intent tools.Intent) (fsguard.Place, error) {
	if p, ok := intent.Keep.(fsguard.Place); ok {
		return p, nil
	}
	p, err := judge(g, call, path)
	if err != nil {
		return p, err
	}
	if len(intent.Paths) > 0 && intent.Paths[0].Path != p.Path {
		return p, tools.Refuse(tools.Conflict, "call the tool again", "%s now leads to %s, not to %s", path, p.Path, intent.Paths[0].Path)
	}
	return p, nil
}

func touched(p fsguard.Place, write bool) tools.Path { return tools.PathOf(p, write) }

// refusal turns an error of fsguard or the system into what the model reads.
func refusal(g *fsguard.Guard, call tools.Call, path string, err error) error {
	code, hint, text := tools.IO, "", plain(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code, text = tools.Denied, "this is hob's own state; no tool may reach it"
	case errors.Is(err, fsguard.ErrPath):
		code, hint = tools.Validation, "relative paths start in the workspace; ~ is the home folder"
	case errors.Is(err, fsguard.ErrRegular):
		code, hint = tools.Validation, "only regular files can be read and written"
	case errors.Is(err, fsguard.ErrFolder):
		code, hint = tools.NotFound, "a part of the path is a file, not a folder"
	case errors.Is(err, fsguard.ErrDangle):
		code, hint = tools.Denied, "name the file itself instead of the link"
	case errors.Is(err, fsguard.ErrMoved), errors.Is(err, fsguard.ErrExists):
		code, hint = tools.Conflict, "look again, then repeat the call"
	case errors.Is(err, fsguard.ErrLoop):
		code, hint = tools.NotFound, "the symbolic links lead in a circle"
	case errors.Is(err, iofs.ErrNotExist):
		code, text, hint = tools.NotFound, "there is no such file or folder", nearby(g, call, path)
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
	for _, known := range []error{
		fsguard.ErrRegular, fsguard.ErrFolder, fsguard.ErrDangle, fsguard.ErrMoved, fsguard.ErrExists, fsguard.ErrLoop,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// nearby says what is there instead: names like the missing one, or how far the path exists.
func nearby(g *fsguard.Guard, call tools.Call, path string) string {
	p, err := g.Resolve(call.Workdir, filepath.Dir(path))
	for err == nil && !p.Exists() && filepath.Dir(p.Path) != p.Path {
		p, err = g.Resolve("", filepath.Dir(p.Path))
		path = ""
	}
	if err != nil || !p.IsDir() || p.Area == fsguard.State || p.Area == fsguard.Sensitive {
		return ""
	}
	if path == "" {
		return fmt.Sprintf("%s exists; look into it with ls", p.Path)
	}
	names, err := namesIn(g, p)
	if err != nil {
		return ""
	}
	near := tools.Nearest(filepath.Base(path), names, 3)
	if len(near) == 0 {
		return fmt.Sprintf("ls %s shows what is there", p.Path)
	}
	return "there is " + strings.Join(near, ", ") + " in " + p.Path
}

func namesIn(g *fsguard.Guard, p fsguard.Place) ([]string, error) {
	root, err := g.Folder(p)
	if err != nil {
		return nil, err
	}
	defer closeRoot(root)
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(5000)
	return names, errors.Join(err, d.Close())
}

func closeRoot(r *os.Root) { _ = r.Close() } // only looked through: nothing to lose

// shown makes a path fit for a message: control characters visible, not endless.
func shown(path string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, path)
	if len(clean) > 300 {
		return strings.ToValidUTF8(clean[:300], "") + "…"
	}
	return clean
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sized writes a number of bytes for people.
func sized(n int64) string {
	const unit = 1024
	if n < unit {
		return count(int(n), "byte")
	}
	f, i := float64(n)/unit, 0
	for ; f >= unit && i < 4; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.1f %cB", f, "KMGTP"[i])
}
