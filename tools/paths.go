package tools

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/text"
)

// RefusePath converts an error of the path guard or the system into a refusal for the model. A refusal of a known kind has the path as it was
// given and fixed words, so it taints no turn. Only a call on the command line, which has no turn, gets names of foreign files in the hint.
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
	refused := Fail(code, hint, "%s: %s", ShownPath(path), text)
	refused.Own = code != IO && !errors.Is(err, fsguard.ErrPath) && !call.Typed
	return &refusal{refused, ShownPath(path) + ": " + text}
}

// Intended returns the place that an intent keeps. After a restart it has lost it; then the path is resolved again.
func Intended(intent Intent, path string, resolve func() (fsguard.Place, error)) (fsguard.Place, error) {
	if p, ok := intent.Keep.(fsguard.Place); ok {
		return p, nil
	}
	p, err := resolve()
	// The owner approved the old place. A link that was changed since then must not lead the call elsewhere.
	if err == nil && len(intent.Paths) > 0 && intent.Paths[0].Path != p.Path {
		err = Refuse(Conflict, "call the tool again", "%s now leads to %s, not to %s", path, p.Path, intent.Paths[0].Path)
	}
	return p, err
}

// PlainPath returns an error's text without the path, which the message already contains.
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

// mayName reports whether a hint may contain names from a folder before the permission rules have decided. It
// may if the names are neither secret nor foreign, and the requester could list the folder without
// approval.
func mayName(call Call, p fsguard.Place) bool {
	switch p.Area {
	case fsguard.State, fsguard.Sensitive:
		return false
	case fsguard.Workspace:
		return p.Foreign == ""
	}
	return call.Typed || call.Trust == event.Owner && p.Foreign == ""
}

// NearPath suggests what exists instead: similar names, or the existing part of the path.
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
	near := slices.DeleteFunc(Nearest(filepath.Base(path), names, 3), func(name string) bool {
		return !call.Typed && g.Foreign(filepath.Join(p.Path, name), p.Area) != "" // its name is foreign text too
	})
	if len(near) == 0 {
		return fmt.Sprintf("ls %s shows what is there", p.Path)
	}
	return "in " + p.Path + ": " + text.DidYouMean(near)
}

// namesIn returns up to 5,000 names in a folder.
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

func closeRoot(r *os.Root) { _ = r.Close() } // read only: nothing can be lost

// maxShown limits the length of a path in a message, in bytes.
const maxShown = 1000

// ShownPath prepares a path for a message: it replaces control characters and limits the length.
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
