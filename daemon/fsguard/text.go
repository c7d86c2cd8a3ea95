package fsguard

import (
	"errors"
	"fmt"
	"io"
)

// Text reads up to most bytes of a file that hob sends to a model unasked: one of the workspace's files with fixed names. Such a name
// could be a link, a pipe or a device, so Text reads only regular files, and neither secrets nor hob's own state. Errors: ErrState,
// ErrSecret, ErrRegular, ErrMoved, fs.ErrNotExist, fs.ErrPermission.
func Text(g *Guard, path string, most int64) (text []byte, at Place, err error) {
	at, err = g.Resolve("", path)
	if err != nil {
		return nil, at, err
	}
	if at.Area == Sensitive {
		return nil, at, fmt.Errorf("%s leads to %s: %w", path, at.Path, ErrSecret)
	}
	f, err := g.Open(at)
	if err != nil {
		return nil, at, err
	}
	text, err = io.ReadAll(io.LimitReader(f, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, at, fmt.Errorf("read %s: %w", path, err)
	}
	return text, at, nil
}
