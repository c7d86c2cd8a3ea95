package tools

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
)

// RefusePath turns an error of fsguard or the system into what the model reads.
func RefusePath(g *fsguard.Guard, call Call, path string, err error) error {
	code, hint, text := IO, "", PlainPath(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fsguard.ErrState):
		code, text = Denied, "this is hob's own state; no tool may reach it"
	case errors.Is(err, fsguard.ErrPath):
		code, hint = Validation, "relative paths start in the workspace; ~ is the home folder"
	case errors.Is(err, fsguard.ErrRegular):
		code, hint = Validation, "only regular files can be read and written"
	case errors.Is(err, fsguard.ErrFolder):
		code, hint = NotFound, "a part of the path is a file, not a folder"
	case errors.Is(err, fsguard.ErrDangle):
		code, hint = Denied, "name the file itself instead of the link"
	case errors.Is(err, fsguard.ErrMoved), errors.Is(err, fsguard.ErrExists):
		code, hint = Conflict, "look again, then repeat the call"
	case errors.Is(err, fsguard.ErrLoop):
		code, hint = NotFound, "the symbolic links lead in a circle"
	case errors.Is(err, iofs.ErrNotExist):
		code, text, hint = NotFound, "there is no such file or folder", NearPath(g, call, path)
	case errors.Is(err, iofs.ErrPermission):
		code, text = Denied, "the system does not allow it (file permissions)"
	}
	return Refuse(code, hint, "%s: %s", ShownPath(path), text)
}

// PlainPath is an error's text without the path, which the message has already.
func PlainPath(err error) string {
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

// mayName reports whether the names in a folder may be told before the gate has been asked: they are neither secret nor somebody
// else's, and whoever asks could list them without a question.
func mayName(call Call, p fsguard.Place) bool {
	switch p.Area {
	case fsguard.State, fsguard.Sensitive:
		return false
	case fsguard.Workspace:
		return p.Foreign == ""
	default:
		return call.Typed || call.Trust == event.Owner && p.Foreign == ""
	}
}

// NearPath says what is there instead: names like the missing one, or how far the path exists.
func NearPath(g *fsguard.Guard, call Call, path string) string {
	p, err := g.Resolve(call.Workdir, filepath.Dir(path))
	for err == nil && !p.Exists() && filepath.Dir(p.Path) != p.Path {
		p, err = g.Resolve("", filepath.Dir(p.Path))
		path = ""
	}
	if err != nil || !p.IsDir() || !mayName(call, p) {
		return ""
	}
	if path == "" {
		return fmt.Sprintf("%s exists; look into it with ls", p.Path)
	}
	names, err := namesIn(g, p)
	if err != nil {
		return ""
	}
	near := Nearest(filepath.Base(path), names, 3)
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

// maxShown is how much of a path is shown, in bytes.
const maxShown = 1000

// ShownPath makes a path fit for a message: control characters visible, not endless.
func ShownPath(path string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, path)
	if len(clean) > maxShown {
		return strings.ToValidUTF8(clean[:maxShown], "") + "…"
	}
	return strings.ToValidUTF8(clean, "\uFFFD")
}
