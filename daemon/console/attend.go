package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"hob/daemon/sys"
)

// Attend runs a daemon in the foreground together with a conversation. The conversation starts when the daemon is ready.
// Whichever ends first stops the other: both share a context, which the end of either cancels. Attend returns the daemon's error when both
// have ended.
func Attend(ctx context.Context, log *slog.Logger, run func(ctx context.Context, ready func()) error, talk func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := sys.NewGroup(log, nil)
	err := run(ctx, func() {
		g.Once("conversation", func() error {
			defer stop()
			return talk(ctx)
		})
	})
	stop()
	g.Wait()
	return err
}

// Prompter asks questions on a terminal that is not in raw mode.
type Prompter struct {
	in  *bufio.Reader
	out io.Writer
	log *slog.Logger
}

// NewPrompter returns a Prompter that reads answers from in and writes prompts to out.
func NewPrompter(in io.Reader, out io.Writer, log *slog.Logger) *Prompter {
	return &Prompter{in: bufio.NewReader(in), out: out, log: log}
}

// Ask writes the prompt and returns the typed line without its end. It returns early when ctx ends. The goroutine that reads the line
// then still waits for input, so the caller must not ask again.
func (p *Prompter) Ask(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(p.out, prompt); err != nil {
		return "", fmt.Errorf("show the question: %w", err)
	}
	// A read of the terminal cannot be cancelled, so it runs beside the wait. The channel has room for a result that nobody takes.
	type got struct {
		line string
		err  error
	}
	c := make(chan got, 1)
	sys.NewGroup(p.log, nil).Once("keyboard", func() error {
		line, err := p.in.ReadString('\n')
		c <- got{strings.TrimRight(line, "\r\n"), err}
		return nil
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case g := <-c:
		return g.line, g.err
	}
}
