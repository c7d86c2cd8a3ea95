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
)

// maxTrouble is how much is kept of what a helper says when it ends; a crash of it says more.
const maxTrouble = 16 << 10

// ReadPDF lets use read the text of the pages of f that are wanted (see ParsePages); use may stop when it has enough. pages is how many the document
// has. helper is the command whose main function is Helper: f itself is handed to it, whatever its name leads to by now.
// Errors: that of use, ErrBroken, ErrLarge, ErrEncrypted, ErrPages, ErrTime, ErrHelper, or that of ctx.
func ReadPDF(ctx context.Context, helper []string, f *os.File, want string, use func(pages int, text io.Reader) error) error {
	if _, err := ParsePages(want); err != nil {
		return err
	}
	if len(helper) == 0 {
		return fmt.Errorf("%w: there is no command for it", ErrHelper)
	}
	limited, stop := context.WithTimeout(ctx, maxTime+5*time.Second) // the helper's own clock is the first
	defer stop()
	args := append(append([]string(nil), helper[1:]...), want)
	cmd, said := exec.CommandContext(limited, helper[0], args...), &bounded{} // #nosec G204 -- hob's own program
	cmd.Stdin, cmd.Stderr, cmd.Env, cmd.WaitDelay = f, said, []string{}, time.Second
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

// hand reads the opening and gives the rest to use.
func hand(text io.Reader, use func(int, io.Reader) error) error {
	r := bufio.NewReaderSize(text, 32<<10)
	line, err := r.ReadSlice('\n')
	var o opening
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return fmt.Errorf("%w: it does not say how many pages there are: %w", ErrHelper, err)
	}
	return use(o.Pages, r)
}

// cause is the error that a helper ended with.
func cause(state *os.ProcessState, said []byte, waited error) error {
	var t trouble
	switch {
	case state.ExitCode() == exitTime:
		return fmt.Errorf("%w: more than %d seconds", ErrTime, int(maxTime.Seconds()))
	case state.ExitCode() == exitError && json.Unmarshal(said, &t) == nil:
		if kind := kinds()[t.Kind]; kind != nil {
			return told{kind, t.Text}
		}
		return fmt.Errorf("%w: %s", ErrHelper, t.Text)
	default: // it crashed, or went over a limit
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
