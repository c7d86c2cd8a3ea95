package edit

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

// refusal turns an error of fsguard or the system into what the model reads.
func refusal(g *fsguard.Guard, call tools.Call, path string, err error) error {
	code, hint, text := tools.IO, "", err.Error()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code, text = tools.Denied, "this is hob's own state; no tool may reach it"
	case errors.Is(err, fsguard.ErrPath):
		code, hint = tools.Validation, "relative paths start in the workspace; ~ is the home folder"
	case errors.Is(err, fsguard.ErrRegular):
		code, hint = tools.Validation, "only regular files can be edited"
	case errors.Is(err, fsguard.ErrFolder):
		code, hint = tools.NotFound, "a part of the path is a file, not a folder"
	case errors.Is(err, fsguard.ErrDangle):
		code, hint = tools.Denied, "name the file itself instead of the link"
	case errors.Is(err, fsguard.ErrMoved):
		code, hint, text = tools.Conflict, "read it again, then repeat the call", "a file changed while it was edited: "+err.Error()
	case errors.Is(err, fsguard.ErrLoop):
		code, hint = tools.NotFound, "the symbolic links lead in a circle"
	case errors.Is(err, iofs.ErrNotExist):
		code, text, hint = tools.NotFound, "there is no such file", nearby(g, call, path)
	case errors.Is(err, iofs.ErrPermission):
		code, text = tools.Denied, "the system does not allow it (file permissions)"
	}
	return tools.Refuse(code, hint, "%s: %s", shown(path), text)
}

// nearby names the files that a missing one may be.
func nearby(g *fsguard.Guard, call tools.Call, path string) string {
	p, err := g.Resolve(call.Workdir, filepath.Dir(path))
	if err != nil || !p.IsDir() || p.Area == fsguard.State || p.Area == fsguard.Sensitive {
		return ""
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
	return fmt.Sprintf("%d %ss", n, noun)
}
