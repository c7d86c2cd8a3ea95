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

// maxTrouble is how much is kept of what a helper says when it ends; a crash of it says more.
const maxTrouble = 16 << 10

// Read lets use read what a helper makes of a file: the opening, and the text of its pages or the bytes of a picture; use may stop when it
// has enough. helper is the command whose main function is Helper. A file is handed to it as it is, whatever its name leads to by now;
// another reader goes through a pipe. args are those of the kind. Errors: that of use, of ctx, of this package, or of package picture.
func Read(ctx context.Context, helper []string, in io.Reader, use func(o Opening, text io.Reader) error, kind Kind, args ...string) error {
	if len(helper) == 0 {
		return fmt.Errorf("%w: there is no command for it", ErrHelper)
	}
	limited, stop := context.WithTimeout(ctx, maxTime+5*time.Second) // the helper's own clock is the first
	defer stop()
	words := append(append(append([]string(nil), helper[1:]...), string(kind)), args...)
	cmd, said := exec.CommandContext(limited, helper[0], words...), &bounded{} // #nosec G204 -- hob's own program
	cmd.Stdin, cmd.Stderr, cmd.Env, cmd.WaitDelay = in, said, []string{}, time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHelper, err)
	}
	text := &watched{r: out}
	err = hand(text, use)
	if !text.ended { // nobody wants the rest
		stop()
	}
	waited := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case text.ended && waited != nil:
		return cause(cmd.ProcessState, said.text, waited)
	default:
		return err
	}
}

// Show is the picture that a helper makes of a file.
func Show(ctx context.Context, helper []string, in io.Reader) (shown picture.Shown, err error) {
	err = Read(ctx, helper, in, func(o Opening, data io.Reader) error {
		if o.Picture == nil {
			return fmt.Errorf("%w: it does not say what picture it is", ErrHelper)
		}
		shown = *o.Picture
		shown.Data, err = io.ReadAll(data)
		return err
	}, Picture)
	return shown, err
}

// hand reads the opening and gives the rest to use.
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

// cause is the error that a helper ended with.
func cause(state *os.ProcessState, said []byte, waited error) error {
	var t trouble
	switch {
	case state.ExitCode() == exitTime:
		return fmt.Errorf("%w: more than %d seconds", ErrTime, int(maxTime.Seconds()))
	case state.ExitCode() == exitMemory:
		return fmt.Errorf("%w: reading it takes more memory than hob gives to one file", ErrLarge)
	case state.ExitCode() == exitError && json.Unmarshal(said, &t) == nil:
		if kind := kinds()[t.Kind]; kind != nil {
			return told{kind, t.Text}
		}
		return fmt.Errorf("%w: %s", ErrHelper, t.Text)
	default: // it crashed, or went over a limit of the system
		return fmt.Errorf("%w: the reader gave up on it (%w)", ErrBroken, waited)
	}
}

// told is an error of the other process: of a kind, in its words.
type told struct {
	kind error
	text string
}

// Error is the other process's text.
func (t told) Error() string { return t.text }

// Unwrap is the kind.
func (t told) Unwrap() error { return t.kind }

// watched notices the end of what is read.
type watched struct {
	r     io.Reader
	ended bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.ended = w.ended || errors.Is(err, io.EOF)
	return n, err
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ text []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxTrouble-len(b.text))]...)
	return len(p), nil
}
