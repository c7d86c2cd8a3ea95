package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

// maxInput is the longest message that standard input may hold, in bytes: a request's limit less its wrapping.
const maxInput = 900 << 10

func chatCommand(a *app) *cobra.Command {
	var session string
	var attach []string
	var noWait bool
	cmd := &cobra.Command{
		Use: "chat [TEXT]", Short: "Say one thing and see the answer, or talk",
		Long: "With a text, or with one on standard input, hob chat says it and shows the answer.\n" +
			"On a terminal without a text it is a conversation: a line that ends in \\ goes on, \"\"\" begins and ends a\n" +
			"text of several lines, Ctrl-C stops what hob is doing (what is queued behind it goes on), Ctrl-D leaves;\n" +
			"/attach FILE sends a file with the next message.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := joined(args)
			if text == "" && len(attach) == 0 && isTerminal(a.in) {
				return talk(cmd.Context(), a, session)
			}
			files, err := client.Attach(attach...)
			if err != nil {
				return err
			}
			if text == "" && !isTerminal(a.in) {
				if text, err = readInput(a, len(files) > 0); err != nil {
					return err
				}
			}
			m := client.Message{Text: text, Session: session, Attachments: files}
			if noWait {
				return queue(cmd.Context(), a, m)
			}
			return askOnce(cmd.Context(), a, m)
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "the conversation to speak in (default main)")
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "send a `FILE` along; may be given up to 10 times")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "leave the message and do not wait for the answer")
	return cmd
}

// readInput reads the message from standard input; only where something is attached may there be none.
func readInput(a *app, attached bool) (string, error) {
	b, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("read the message: %w", err)
	}
	if len(b) > maxInput {
		return "", usage("put it into a file and name the file", "the message is over %s long", console.Size(maxInput))
	}
	text := strings.TrimSpace(string(b))
	if text == "" && !attached {
		return "", usage(`for example: hob chat "remind me in 20m to stretch"`, "there is no message")
	}
	return text, nil
}

// chatCursor is the file that keeps how far the person has read.
func chatCursor(a *app) (console.Cursor, error) {
	home, _, err := a.homeDir()
	return console.Cursor(filepath.Join(home, "state", "chat.cursor")), err
}

// askOnce says one thing and waits for what becomes of it.
func askOnce(ctx context.Context, a *app, m client.Message) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	cursor, err := chatCursor(a)
	if err != nil {
		return err
	}
	live := isTerminal(a.out) && !a.json
	pipes := &console.Pipes{Out: a.out, Err: a.err, Live: live, Dim: a.color(a.err), Quiet: a.quiet || a.json}
	o := console.Once{API: c, Out: pipes, Cursor: cursor, Zone: time.Local}
	if isTerminal(a.in) && isTerminal(a.err) && !a.json {
		if err := a.mend(); err != nil {
			return err
		}
		o.Ask = console.NewPrompter(a.in, a.err, slog.New(slog.DiscardHandler)).Ask
	}
	answer, err := o.Say(ctx, m)
	if err != nil {
		return err
	}
	if !live && !a.json && answer.Text != "" {
		if _, err := io.WriteString(a.out, strings.TrimRight(answer.Text, "\n")+"\n"); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
	}
	return verdict(a, answer)
}

// verdict turns the end of a turn into the exit code.
func verdict(a *app, answer console.Answer) error {
	var p *problem
	switch {
	case answer.State == "waiting":
		p = &problem{code: exitWaiting, doc: answer}
		if a.quiet {
			p.text, p.hint = "waiting for your answer: "+answer.Question.Text, answer.Question.How()
		}
	case answer.State != "done":
		p = &problem{code: exitFailed, doc: answer}
	case a.json:
		return a.document(answer)
	default:
		return nil
	}
	if !a.json {
		p.doc = nil
	}
	return p
}

// talk is the conversation on a terminal.
func talk(ctx context.Context, a *app, session string) error {
	if a.json {
		return usage("give a text: hob chat --json TEXT", "a conversation is no JSON document")
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	cursor, err := chatCursor(a)
	if err != nil {
		return err
	}
	if err := a.mend(); err != nil {
		return err
	}
	fd := int(a.in.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	t := console.Talk{
		API: c, In: a.in, Out: a.out, Session: session, Cursor: cursor, Zone: time.Local,
		Dim: a.color(a.out), Log: slog.New(slog.DiscardHandler),
		Size: func() (int, int) {
			w, h, err := term.GetSize(int(a.out.Fd()))
			if err != nil {
				return 80, 24
			}
			return w, h
		},
	}
	return errors.Join(t.Run(ctx), term.Restore(fd, old))
}
