package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// maxInput is the longest message that standard input may hold, in bytes: a request's limit less its wrapping.
const maxInput = 900 << 10

// chatCommand makes hob chat. It has three forms: a conversation on a terminal, one message with its answer,
// and one message that nobody waits for.
func chatCommand(a *cli.App) *cobra.Command {
	var session string
	var attach []string
	var noWait, resume, verbose, typed bool
	cmd := &cobra.Command{
		Use: "chat [TEXT] [-]", Short: "Say one thing and see the answer, or talk",
		Long: "hob chat TEXT sends the text and shows the answer. With - after it, standard input is attached as a file of text of others, after\n" +
			"which hob asks more often. So is standard input without a text. With --typed it is your message.\n" +
			"On a terminal without a text it is a conversation: Alt-Enter or Ctrl-J begins another line, and so does \\ at the\n" +
			"end of one; a paste is one message; \"\"\" begins and ends a text of several lines; Ctrl-R searches the history,\n" +
			"Tab completes; Ctrl-C stops what hob is doing (what is queued after it goes on), Ctrl-D leaves; /attach FILE\n" +
			"sends a file with the next message. With TERM=dumb the system edits the line, and Ctrl-C leaves.",
		Example: "  hob chat\n  hob chat \"remind me in 20m to stretch\"\n  hob chat --attach photo.jpg \"what is this?\"\n  df -h | hob chat \"which disk is full?\" -\n  hob chat --typed --session garden < plan.md",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: cli.Words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := cli.Joined(args)
			if resume && (text != "" || len(attach) > 0 || !cli.IsTerminal(a.In)) {
				return cli.Usage("choose one by its name: hob chat --session NAME TEXT", "--resume asks on a terminal, without a text")
			}
			// Nothing to say and a person at the keyboard: they want to talk.
			if text == "" && len(attach) == 0 && cli.IsTerminal(a.In) {
				return talk(cmd.Context(), a, conversationOptions{session: session, resume: resume, verbose: verbose})
			}
			// Files are read before anything is sent, so a missing file sends nothing.
			files, err := client.Attach(attach...)
			if err != nil {
				return err
			}
			// Without a "-" a message in the arguments leaves standard input alone: a loop of a shell may read it.
			last := len(args) - 1
			if dash := last >= 0 && args[last] == "-"; dash || text == "" && !cli.IsTerminal(a.In) {
				if dash {
					text = cli.Joined(args[:last])
				}
				input, err := readInput(a, len(files) > 0)
				switch {
				case err != nil:
					return err
				// A terminal's own paste is typed, and so is what the owner says is. Anything else is text of others.
				case typed, text == "" && cli.IsTerminal(a.In):
					text = strings.TrimSpace(text + "\n\n" + string(input))
				case len(input) > 0:
					files = append(files, client.Attachment{Name: "stdin.txt", Data: input})
					a.Note("hob attaches standard input as stdin.txt and treats it as text of others; if you wrote it, add --typed")
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
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show in a question the exact form of the call that it is about")
	cmd.Flags().BoolVar(&resume, "resume", false, "choose one of your conversations and go on with it (on a terminal)")
	cmd.Flags().BoolVar(&typed, "typed", false, "what comes on standard input is your own text, as if you had typed it")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "leave the message and do not wait for the answer")
	cli.CompleteFlag(cmd, "session", cli.Complete(a, api.Sessions))
	return cmd
}

// readInput reads standard input. It may be empty only if a file is attached.
func readInput(a *cli.App, attached bool) ([]byte, error) {
	// One byte more than allowed shows that there was more.
	b, err := io.ReadAll(io.LimitReader(a.In, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the message: %w", err)
	}
	if len(b) > maxInput {
		return nil, cli.Usage("put it into a file and name the file", "the message is over %s long", console.Size(maxInput))
	}
	if len(bytes.TrimSpace(b)) > 0 {
		return b, nil
	}
	if !attached {
		return nil, cli.Usage(`for example: hob chat "remind me in 20m to stretch"`, "there is no message")
	}
	return nil, nil
}

// chatCursor is the file that keeps how far the person has read. The conversation shows what came in since, and
// moves the cursor on.
func chatCursor(a *cli.App) (console.Cursor, error) {
	home, _, err := a.HomeDir()
	return console.Cursor(filepath.Join(home, "state", "chat.cursor")), err
}

// askOnce sends one message and waits for the answer. The message goes to the inbox like one from any channel.
// The event stream says which turn serves it and how that turn ends.
func askOnce(ctx context.Context, a *cli.App, m client.Message) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	cursor, err := chatCursor(a)
	if err != nil {
		return err
	}
	if m.Session, err = sessionKey(ctx, c, m.Session); err != nil {
		return err
	}
	// On a terminal the answer is printed while the model writes it. A pipe gets it once and whole, because
	// pieces may be taken back.
	live := cli.IsTerminal(a.Out) && !a.JSON
	// The answer goes to standard output; remarks and questions go to standard error.
	screen := a.Look()
	screen.Moves = screen.Moves && live && cli.IsTerminal(a.Err)
	pipes := &console.Pipes{Out: a.Out, Err: a.Err, Live: live, Screen: screen, Size: a.Size(), Dim: a.Color(a.Err), Quiet: a.Quiet || a.JSON}
	o := console.Once{API: c, Out: pipes, Cursor: cursor, Zone: cli.OwnersZone(ctx, c)}
	if cli.IsTerminal(a.In) && cli.IsTerminal(a.Err) && !a.JSON {
		if err := a.RestoreTerminal(); err != nil {
			return err
		}
		// With a person at the terminal, a question of the turn is asked at once. Otherwise the command ends
		// with exit code 5 and the question stays open.
		prompter := console.NewPrompter(a.In, a.Err, slog.New(slog.DiscardHandler))
		o.Ask = func(ctx context.Context, prompt string) (string, error) {
			if err := a.DropTyped(); err != nil {
				return "", err
			}
			return prompter.Ask(ctx, prompt)
		}
	}
	// Say returns when the turn has ended, or when it waits for an answer that cannot be asked for here.
	answer, err := o.Say(ctx, m)
	if err != nil {
		return err
	}
	if !live && !a.JSON && answer.Text != "" {
		if _, err := io.WriteString(a.Out, strings.TrimRight(answer.Text, "\n")+"\n"); err != nil {
			return fmt.Errorf("print the answer: %w", err)
		}
	}
	return verdict(a, answer)
}

// verdict turns the end of a turn into the exit code. 0 is done, 5 waits for an answer, everything else is 1.
// Texts were printed by the conversation before, so a Problem without a text adds nothing.
func verdict(a *cli.App, answer console.Answer) error {
	var p *cli.Problem
	switch {
	case answer.State == "waiting":
		p = &cli.Problem{Code: cli.ExitWaiting, Doc: answer}
		if a.Quiet {
			p.Text, p.Hint = "waiting for your answer: "+answer.Question.Text, answer.Question.How()
		}
	case answer.State != "done":
		p = &cli.Problem{Code: cli.ExitFailed, Doc: answer}
	case a.JSON:
		return a.Document(answer)
	default:
		return nil
	}
	// With a Doc, Exit would print the Text even if it is empty.
	if !a.JSON {
		p.Doc = nil
	}
	return p
}

// conversationOptions say how a conversation on the terminal begins and ends.
type conversationOptions struct {
	session string // key or number; "" is main
	verbose bool   // show the exact form of calls in questions
	resume  bool   // show the conversations to choose from
	ends    bool   // leaving it ends hob
}

// introduce prints what is above a conversation, broken at its words as the conversation is.
func introduce(a *cli.App, text string) {
	a.Say("%s", console.Wrapped(console.Clean(text), cli.Columns(a.Out)))
}

// talk runs a conversation on the terminal.
func talk(ctx context.Context, a *cli.App, o conversationOptions) error {
	if a.JSON {
		return cli.Usage("give a text: hob chat --json TEXT", "a conversation is no JSON document")
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	// A number names a session by its id. It must be turned into the key before the conversation begins,
	// because messages carry keys.
	session, err := sessionKey(ctx, c, o.session)
	if err != nil {
		return err
	}
	cursor, err := chatCursor(a)
	if err != nil {
		return err
	}
	if !o.ends && !a.Quiet {
		introduce(a, fmt.Sprintf("conversation %s %s type help; /sessions shows the others; Ctrl-D leaves", cmp.Or(session, "main"), a.Dot()))
	}
	// Messages for the owner may wait for a channel, and nothing else says so here.
	if !a.Quiet {
		if err := sayUnsent(ctx, a); err != nil {
			return err
		}
	}
	if err := a.RestoreTerminal(); err != nil {
		return err
	}
	restore := func() error { return nil }
	if a.Look().Moves {
		// The conversation draws its own input line, so it needs every key press as it is typed.
		fd := int(a.In.Fd())
		old, err := term.MakeRaw(fd)
		if err != nil {
			return fmt.Errorf("take the terminal: %w", err)
		}
		restore = func() error { return term.Restore(fd, old) }
	}
	resized, still := cli.Resizes()
	defer still()
	t := console.Talk{
		API: c, In: a.In, Out: a.Out, Session: session, Cursor: cursor, Zone: cli.OwnersZone(ctx, c),
		Look: a.Look(), History: filepath.Join(filepath.Dir(string(cursor)), "chat.history"),
		Words: a.Offers(ctx), Sessions: conversations(ctx, c), Choose: o.resume, Ends: o.ends, Verbose: o.verbose, Size: a.Size(), Resized: resized, Log: slog.New(slog.DiscardHandler),
	}
	// The terminal leaves raw mode also when the conversation ends with an error.
	return errors.Join(t.Run(ctx), restore())
}

// conversations returns the function that lists the conversations of the owner, the newest first.
func conversations(ctx context.Context, c *client.Client) func() ([]console.Choice, error) {
	return func() ([]console.Choice, error) {
		rows, err := client.List(ctx, c, api.Sessions, client.Filter{State: "live", Limit: 20})
		if err != nil {
			return nil, fmt.Errorf("list the conversations: %w", err)
		}
		list := make([]console.Choice, len(rows))
		for i, r := range rows {
			list[i] = console.Choice{Key: r.Key, Title: r.Title, Turns: r.Turns}
		}
		return list, nil
	}
}
