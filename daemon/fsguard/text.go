package fsguard

import (
	"errors"
	"fmt"
	"io"
)

// Text reads a file that hob sends to a model unasked: one of the workspace's files with fixed names. Of a file over most bytes it returns the
// first three quarters of most and the last quarter, one after the other. Such a name could be a link, a pipe or a device, so Text reads only regular files, and neither secrets nor hob's own state. Errors: ErrState,
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
	head := most
	if at.Info.Size() > most {
		head = most * 3 / 4
	}
	text, err = io.ReadAll(io.LimitReader(f, head))
	if err == nil && head < most {
		var end []byte
		end, err = io.ReadAll(io.NewSectionReader(f, at.Info.Size()-(most-head), most-head))
		text = append(text, end...)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, at, fmt.Errorf("read %s: %w", path, err)
	}
	return text, at, nil
}
