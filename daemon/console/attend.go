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

// Attend runs a daemon and, once it is ready, a conversation with it. When the conversation ends, Attend stops the daemon; when
// the daemon ends, it ends the conversation.
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

// Prompter asks a person on a terminal that is not in raw mode.
type Prompter struct {
	in  *bufio.Reader
	out io.Writer
	log *slog.Logger
}

// NewPrompter reads answers from in and writes prompts to out.
func NewPrompter(in io.Reader, out io.Writer, log *slog.Logger) *Prompter {
	return &Prompter{in: bufio.NewReader(in), out: out, log: log}
}

// Ask writes the prompt and returns the line that is typed, without its end. It returns early when
// ctx ends; the caller must not ask again after that.
func (p *Prompter) Ask(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(p.out, prompt); err != nil {
		return "", fmt.Errorf("show the question: %w", err)
	}
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
