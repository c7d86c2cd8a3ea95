// Package setup asks the owner for what hob needs and writes it: the wizard hob setup, hob channels add and hob pairing start. It changes
// config.toml only by whole steps, each in one write, and never puts a secret into it.
package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
	"hob/daemon/sys"
)

// errEnded reports that the answers have ended: Ctrl-D, or the end of a pipe.
var errEnded = errors.New("the answers have ended")

// asker asks questions on standard error and reads the answers from standard input, which is a terminal or a pipe.
type asker struct {
	app     *cli.App
	in      *bufio.Reader // one for all answers: it may hold more than one line of a pipe
	pending chan line     // a read that has begun and whose line nobody has taken; nil: none
}

// line is a line that was read.
type line struct {
	text string
	err  error
}

// newAsker makes an asker on the streams of a command.
func newAsker(a *cli.App) *asker { return &asker{app: a, in: bufio.NewReader(a.In)} }

// terminal reports whether a person answers at a terminal.
func (k *asker) terminal() bool { return cli.IsTerminal(k.app.In) && cli.IsTerminal(k.app.Err) }

// next begins to read a line, or returns the read that has begun. A read cannot be cancelled, so that a line which was not waited for
// answers the next question.
func (k *asker) next() <-chan line {
	if k.pending == nil {
		c := make(chan line, 1)
		k.pending = c
		sys.NewGroup(slog.New(slog.DiscardHandler), nil).Once("read an answer", func() error { // it ends with the process where nobody types
			text, err := k.in.ReadString('\n')
			if err != nil && text != "" {
				err = nil // the last line of a pipe may lack its end
			}
			c <- line{strings.TrimSpace(text), err}
			return nil
		})
	}
	return k.pending
}

// ask shows a prompt and returns the answer, without the white space around it.
func (k *asker) ask(ctx context.Context, prompt string) (string, error) {
	if err := k.app.RestoreTerminal(); err != nil {
		return "", err
	}
	if _, err := k.app.Err.WriteString(k.wrapped(prompt)); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	select {
	case <-ctx.Done():
		k.app.Print(k.app.Err, "")
		return "", ctx.Err()
	case got := <-k.next():
		k.pending = nil
		if got.err != nil || !k.terminal() {
			k.app.Print(k.app.Err, "") // nobody has typed the end of this line
		}
		if errors.Is(got.err, io.EOF) {
			return "", errEnded
		}
		return got.text, got.err
	}
}

// wrapped is a prompt in lines of the terminal.
func (k *asker) wrapped(prompt string) string {
	prompt = console.Clean(prompt)
	if width := cli.Columns(k.app.Err); width > 0 && strings.HasSuffix(prompt, " ") {
		return strings.TrimSuffix(cli.Wrap(prompt, "", width-1), "\n") + " "
	}
	return prompt
}

// secret asks for something that is not echoed.
func (k *asker) secret(ctx context.Context, prompt string) (string, error) {
	if !k.terminal() {
		return k.ask(ctx, prompt)
	}
	if err := k.app.RestoreTerminal(); err != nil {
		return "", err
	}
	text, err := Hidden(ctx, k.app, k.wrapped(prompt))
	if errors.Is(err, io.EOF) {
		return "", errEnded
	}
	return strings.TrimSpace(text), err
}

// yes asks a question that Enter answers with the default.
func (k *asker) yes(ctx context.Context, question string, otherwise bool) (bool, error) {
	choices := " [y/N] "
	if otherwise {
		choices = " [Y/n] "
	}
	for {
		text, err := k.ask(ctx, question+choices)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(text) {
		case "":
			return otherwise, nil
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		k.app.Print(k.app.Err, "Answer y or n.")
	}
}

// choose shows a numbered list and returns the index of the answer: its number, or a text that only one of the names begins with. Enter takes
// otherwise; a negative one makes an answer necessary.
func (k *asker) choose(ctx context.Context, question string, names []string, otherwise int) (int, error) {
	for i, name := range names {
		k.app.Print(k.app.Err, fmt.Sprintf("  %2d  %s", i+1, console.OneLine(name)))
	}
	prompt := question + ": "
	if otherwise >= 0 {
		prompt = fmt.Sprintf("%s [%d]: ", question, otherwise+1)
	}
	for {
		text, err := k.ask(ctx, prompt)
		if err != nil {
			return 0, err
		}
		if text == "" && otherwise >= 0 {
			return otherwise, nil
		}
		// "n" is an answer to the offer, not the beginning of a name.
		last := names[len(names)-1]
		if slices.Contains([]string{"n", "no"}, strings.ToLower(text)) && (strings.HasPrefix(last, "skip") || strings.HasPrefix(last, "keep")) {
			return len(names) - 1, nil
		}
		if i := pick(names, text); i >= 0 {
			return i, nil
		}
		k.app.Print(k.app.Err, fmt.Sprintf("Answer with a number from 1 to %d, or with a name of the list.", len(names)))
	}
}

// pick finds the element of a list that an answer means, -1 if there is none or more than one.
func pick(names []string, text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(names) {
			return -1
		}
		return n - 1
	}
	found := -1
	for i, name := range names {
		switch {
		case strings.EqualFold(name, text):
			return i
		case text == "" || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(text)):
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}
