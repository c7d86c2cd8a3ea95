package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/console"
	"hob/daemon/logfile"
)

// upCommand makes hob up. The daemon runs in this process until a signal ends it. A service runs the same
// command with --no-chat.
func upCommand(a *cli.App) *cobra.Command {
	var listen string
	var noChat, newDatabase, verbose bool
	cmd := &cobra.Command{
		Use: "up", Short: "Run hob in the foreground", Args: cli.None,
		Example: "  hob up\n  hob up --no-chat --listen 127.0.0.1:4700",
		Long:    "Run hob until it is interrupted. On a terminal you can talk to it right there, as with hob chat.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A killed conversation may have left the terminal in raw mode.
			if err := a.RestoreTerminal(); err != nil {
				return err
			}
			chat := !noChat && !a.JSON && cli.IsTerminal(a.In) && cli.IsTerminal(a.Out)
			// A second hob up for the same home does not fail at a terminal: the person wants to talk to hob,
			// and it runs.
			err := runUp(cmd.Context(), a, listen, chat, newDatabase, conversationOptions{ends: true, verbose: verbose})
			if !errors.Is(err, daemon.ErrRunning) {
				return err
			}
			// A service or a script must see that it did not start.
			if !chat {
				return &cli.Problem{Code: cli.ExitFailed, Text: "hob is already running for this home", Hint: "talk to it with: hob chat"}
			}
			a.Note("hob is already running for this home; you are talking to it")
			return talk(cmd.Context(), a, conversationOptions{verbose: verbose})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "the loopback address of the API (default 127.0.0.1:4620)")
	cmd.Flags().BoolVar(&noChat, "no-chat", false, "do not take what is typed as chat")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show in a question the exact form of the call that it is about")
	cmd.Flags().BoolVar(&newDatabase, "new-database", false, "begin with an empty database in a home that has lost its own")
	return cmd
}

// runUp runs the daemon and, beside it, the conversation. The conversation uses the API like any other client,
// although the daemon is in the same process. Whichever ends first ends the other.
func runUp(ctx context.Context, a *cli.App, listen string, chat, newDatabase bool, o conversationOptions) error {
	home, _, err := a.HomeDir()
	if err != nil {
		return err
	}
	if err := cli.CheckHome(home); err != nil {
		return err
	}
	// end closes the log file. It is called last, because the daemon logs until it has stopped.
	log, end := daemonLog(a, home, chat)
	run := func(ctx context.Context, ready func()) error {
		return daemon.Run(ctx, daemon.Options{
			Home: home, Listen: listen, Version: version().Version, Self: self(), Log: log, NewDatabase: newDatabase,
			Ready: func(r daemon.Ready) {
				sayReady(a, r)
				if chat && !a.Quiet {
					welcome(a, home, r)
				}
				ready()
			},
		})
	}
	if !chat {
		return errors.Join(run(ctx, func() {}), end())
	}
	var talked error
	err = console.Attend(ctx, log, run, func(ctx context.Context) error {
		talked = talk(ctx, a, o)
		if !a.Quiet {
			a.Say("hob stops here. Reminders and jobs wait until it runs again; to keep it running: hob service install")
		}
		return nil
	})
	return errors.Join(err, talked, end())
}

// daemonLog writes JSON lines to the log file, and to standard error unless a conversation uses the terminal:
// in the journal's format under systemd, else as text. The file is what hob logs reads.
func daemonLog(a *cli.App, home string, chat bool) (log *slog.Logger, end func() error) {
	file := logfile.New(filepath.Join(home, "state", "log", "hob.log"), logfile.MaxBytes, logfile.Kept)
	// The file has all lines as JSON. What a terminal or the journal shows is the same in another form.
	sinks := []slog.Handler{logfile.Lines(file, slog.LevelInfo)}
	switch {
	// Log lines would be drawn into the conversation.
	case chat:
	case logfile.ToJournal(a.Err, os.Getenv("JOURNAL_STREAM")):
		sinks = append(sinks, logfile.Journal(a.Err, slog.LevelInfo))
	default:
		sinks = append(sinks, a.Logger(a.Err).Handler())
	}
	return slog.New(slog.NewMultiHandler(sinks...)), file.Close
}

// welcome prints, on a terminal, what a person needs to know to begin. After the first time it is one line.
func welcome(a *cli.App, home string, r daemon.Ready) {
	_, err := os.Stat(filepath.Join(home, "state", "chat.cursor"))
	if err == nil {
		introduce(a, "  type help for what hob understands; Ctrl-D ends hob")
		return
	}
	model := r.Model
	if strings.HasPrefix(model, "builtin") {
		model = "none: plain commands work; hob setup connects one"
	}
	introduce(a, fmt.Sprintf("  version   %s\n  model     %s\n  channels  %s\n  home      %s\n", version().Version, model, strings.Join(r.Channels, ", "), home))
	introduce(a, "Type help, or just: remind me in 20 minutes to stretch\nCtrl-C stops what hob is doing; Ctrl-D on an empty line ends hob.\n")
}

// sayReady prints the line that says that hob is ready, unless --quiet is set.
func sayReady(a *cli.App, r daemon.Ready) {
	if a.JSON {
		doc := map[string]any{"ready_ms": float64(r.After.Microseconds()) / 1000, "address": webAddress(r.Address), "model": r.Model, "channels": r.Channels, "notes": r.Notes}
		// The daemon runs on even if nobody reads its first line.
		if err := a.Document(doc); err != nil {
			a.Note(err.Error())
		}
		return
	}
	if a.Quiet {
		return
	}
	for _, n := range r.Notes {
		a.Note(n)
	}
	introduce(a, fmt.Sprintf("hob ready in %d ms %[2]s %[3]s %[2]s model %[4]s %[2]s channels %[5]s",
		r.After.Milliseconds(), a.Dot(), webAddress(r.Address), r.Model, strings.Join(r.Channels, ", ")))
}
