package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

type sessionRow struct {
	ID        int64     `json:"id"`
	Key       string    `json:"key"`
	Title     string    `json:"title"`
	Kind      string    `json:"kind"`
	Watermark string    `json:"watermark"`
	Created   time.Time `json:"created"`
	Archived  time.Time `json:"archived"`
	Items     int64     `json:"items"`
	Turns     int64     `json:"turns"`
}

type itemRow struct {
	Seq  int64  `json:"seq"`
	Role string `json:"role"`
	Kind string `json:"kind"`
	Tool string `json:"tool"`
	Args string `json:"args"`
	Text string `json:"text"`
}

// The states of a session.
const (
	stateLive     = "live"
	stateArchived = "archived"
)

func (s sessionRow) state() string {
	if s.Archived.IsZero() {
		return stateLive
	}
	return stateArchived
}

func sessionsCommand(a *cli.App) *cobra.Command {
	return cli.Family("sessions", "The conversations",
		cli.List(a, cli.Listing[sessionRow]{
			Resource: "sessions", Short: "List the conversations, newest first", None: "there are no sessions yet",
			States: []string{stateLive, stateArchived}, State: stateLive,
			Head: []string{"ID", "SESSION", "STATE", "KIND", "TRUST", "CREATED", "TURNS", "TITLE"},
			Row: func(s sessionRow, clock cli.Clock) []string {
				return []string{cli.ID(s.ID), s.Key, s.state(), s.Kind, console.OrDash(s.Watermark), clock(s.Created), console.Thousands(s.Turns), s.Title}
			},
		}),
		cli.Show(a, "sessions", "SESSION", "Show a conversation with every call and its arguments", func(raw json.RawMessage, _ cli.Clock) error { return drawSession(a, raw) }),
		&cobra.Command{
			Use: "send SESSION TEXT", Short: "Write into a conversation without waiting for the answer", Args: cli.AtLeast(2, "a SESSION and a TEXT"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return queue(cmd.Context(), a, client.Message{Session: args[0], Text: cli.Joined(args[1:])})
			},
		},
		&cobra.Command{
			Use: "export SESSION", Short: "Print all items of a conversation, one JSON object per line", Args: cli.Exactly(1, "one SESSION"),
			RunE: func(cmd *cobra.Command, args []string) error { return exportSession(cmd.Context(), a, args[0]) },
		},
		&cobra.Command{
			Use: "rm SESSION", Short: "Archive a conversation: it ends, and can still be read by its ID", Args: cli.Exactly(1, "one SESSION"),
			RunE: func(cmd *cobra.Command, args []string) error { return removeSession(cmd.Context(), a, args[0]) },
		},
	)
}

// queue posts a message and says where it went.
func queue(ctx context.Context, a *cli.App, m client.Message) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	r, err := c.Post(ctx, m)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return a.Done(raw, fmt.Sprintf("queued as inbox row %d", r.Inbox))
}

func removeSession(ctx context.Context, a *cli.App, key string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.RemoveSession(ctx, key, &raw); err != nil {
		return err
	}
	return a.Done(raw, fmt.Sprintf("session %s is archived", key))
}

// drawSession shows a conversation as it was led.
func drawSession(a *cli.App, raw json.RawMessage) error {
	var s struct {
		sessionRow
		Transcript []itemRow `json:"transcript"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("the session is not understood: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s · %s · %s\n", console.OneLine(s.Key), s.state(), console.OrDash(s.Kind), console.Plural(s.Turns, "turn"))
	for _, i := range s.Transcript {
		who := i.Role
		if i.Kind != "text" && i.Kind != "input" {
			who = strings.TrimSpace(i.Kind + " " + i.Tool)
		}
		text := strings.ReplaceAll(console.Clean(strings.TrimSpace(i.Text)), "\n", "\n    ")
		if i.Args != "" {
			text = strings.TrimSpace(text + " " + console.Cut(i.Args))
		}
		fmt.Fprintf(&b, "%s: %s\n", console.OneLine(who), text)
	}
	return a.Text(b.String())
}

func exportSession(ctx context.Context, a *cli.App, key string) error {
	return a.Show(ctx, "sessions", key, func(raw json.RawMessage, _ cli.Clock) error {
		var s struct {
			Items []json.RawMessage `json:"transcript"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("the session is not understood: %w", err)
		}
		for _, item := range s.Items {
			if err := a.Document(item); err != nil {
				return err
			}
		}
		return nil
	})
}
