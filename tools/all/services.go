package all

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"hob/tools/edit"
	"hob/tools/fs"
	"hob/tools/fs/document"
	"hob/tools/memory"
)

// readFile is the first argument of a process that reads a document or a picture. A malformed file may crash that process.
const readFile = "read-file"

// NewServices makes the services that need nothing else. state is hob's state folder, instance marks the processes of this home, and self
// is hob's own executable; with self "" documents and pictures are refused. The caller sets the other fields.
func NewServices(state, instance, self string) Services {
	s := Services{Seen: fs.NewSeen(), Memory: Memory{Facts: new(memory.Facts)}, Environ: os.Environ(), Instance: instance, State: state, Journal: journal(state)}
	if self != "" {
		s.Reader = []string{self, readFile}
	}
	return s
}

// Picture makes a picture of others ready for a model, in the helper process. The error says why it cannot be shown.
func (s Services) Picture(ctx context.Context, data []byte) (mime string, shown []byte, err error) {
	fit, err := document.Show(ctx, s.Reader, bytes.NewReader(data), document.Picture)
	return fit.MIME, fit.Data, err
}

func journal(state string) string { return filepath.Join(state, "edits") }

// Recover completes or reverts the changes of several files that a crash has interrupted.
func Recover(ctx context.Context, state string) error { return edit.Recover(ctx, journal(state)) }

// RunHelper serves a process that a tool has started from hob's own executable. asked is false if the arguments are not those of such a process.
func RunHelper(args []string, in *os.File, out, errs io.Writer) (code int, asked bool) {
	if len(args) > 1 && args[0] == readFile {
		return document.Helper(args[1:], in, out, errs), true
	}
	return 0, false
}
