package document

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"hob/tools/fs/picture"
)

// maxTrouble limits the bytes of a helper's error output that are kept. A crash writes more than
// that.
const maxTrouble = 16 << 10

// Read starts a helper process for a file and passes its output to use: the opening, and the text
// or the bytes of a picture. use may stop early. helper is the command whose main function is
// Helper. The helper gets an open file directly, so that its name does not matter; another reader
// goes through a pipe. args are the arguments of the kind. Errors: those of use, ctx, this package
// and package picture.
func Read(ctx context.Context, helper []string, in io.Reader, use func(o Opening, text io.Reader) error, kind Kind, args ...string) error {
	if len(helper) == 0 {
		return fmt.Errorf("%w: there is no command for it", ErrHelper)
	}
	limited, stop := context.WithTimeout(ctx, maxTime+5*time.Second) // the helper's own time limit comes first
	defer stop()
	words := append(append(append([]string(nil), helper[1:]...), string(kind)), args...)
	cmd, errOut := exec.CommandContext(limited, helper[0], words...), &bounded{} // #nosec G204 -- hob's own program
	cmd.Stdin, cmd.Stderr, cmd.Env, cmd.WaitDelay = in, errOut, []string{}, time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHelper, err)
	}
	text := &watched{r: out}
	err = hand(text, use)
	if !text.ended { // use has stopped early
		stop()
	}
	// The exit code tells more than the end of the output.
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case text.ended && waited != nil:
		return cause(cmd.ProcessState, errOut.text, waited)
	}
	return err
}

// Show returns the picture that a helper makes of a file. kind is Picture or Drawing.
func Show(ctx context.Context, helper []string, in io.Reader, kind Kind) (shown picture.Shown, err error) {
	err = Read(ctx, helper, in, func(o Opening, data io.Reader) error {
		if o.Picture == nil {
			return fmt.Errorf("%w: it does not say what picture it is", ErrHelper)
		}
		shown = *o.Picture
		shown.Data, err = io.ReadAll(data)
		return err
	}, kind)
	return shown, err
}

// hand reads the opening and passes the rest to use.
func hand(text io.Reader, use func(Opening, io.Reader) error) error {
	r := bufio.NewReaderSize(text, 32<<10)
	line, err := r.ReadSlice('\n')
	var o Opening
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return fmt.Errorf("%w: it does not say what it reads: %w", ErrHelper, err)
	}
	return use(o, r)
}

// cause converts the end of a helper into an error.
func cause(state *os.ProcessState, errOut []byte, waited error) error {
	var t trouble
	switch {
	case state.ExitCode() == exitTime:
		return fmt.Errorf("%w: more than %d seconds", ErrTime, int(maxTime.Seconds()))
	case state.ExitCode() == exitMemory:
		return fmt.Errorf("%w: reading it takes more memory than hob gives to one file", ErrLarge)
	case state.ExitCode() == exitError && json.Unmarshal(errOut, &t) == nil:
		if kind := kinds()[t.Kind]; kind != nil {
			return remoteError{kind, t.Text}
		}
		return fmt.Errorf("%w: %s", ErrHelper, t.Text)
	default: // it crashed, or exceeded a limit of the system
		return fmt.Errorf("%w: the reader gave up on it (%w)", ErrBroken, waited)
	}
}

// remoteError is an error of the helper process: its kind and its text.
type remoteError struct {
	kind error
	text string
}

// Error returns the text of the helper.
func (t remoteError) Error() string { return t.text }

// Unwrap returns the kind.
func (t remoteError) Unwrap() error { return t.kind }

// watched notices the end of the output.
type watched struct {
	r     io.Reader
	ended bool
}

// Read reads, and notices the end.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.ended = w.ended || errors.Is(err, io.EOF)
	return n, err
}

// bounded keeps the beginning of its input.
type bounded struct{ text []byte }

// Write keeps as much as fits and drops the rest.
func (b *bounded) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxTrouble-len(b.text))]...)
	return len(p), nil
}
