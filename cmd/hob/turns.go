package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/console"
)

type turnRow struct {
	ID      int64     `json:"id"`
	Session string    `json:"session_key"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Running int64     `json:"running_ms"`
	Tokens  int64     `json:"tokens"`
	Why     string    `json:"why"`
	Text    string    `json:"text"`
	Outbox  []struct {
		ID int64 `json:"id"`
	} `json:"outbox"`
}

func turnsCommand(a *cli.App) *cobra.Command {
	return cli.Family("turns", "What hob has thought and done, turn by turn",
		cli.List(a, cli.Listing[turnRow]{
			Resource: "turns", Short: "List turns, newest first", None: "there are no turns yet",
			States: []string{"ready", "running", "waiting", "done", "failed", "stopped", "dead"},
			Head:   []string{"TURN", "STATE", "SESSION", "STARTED", "TOOK", "TOKENS", "SAID"},
			Row: func(t turnRow) []string {
				said := t.Text
				if said == "" {
					said = console.ToYou(t.Why)
				}
				return []string{cli.ID(t.ID), t.State, t.Session, console.Clock(t.Started), console.Span(t.Running), console.Thousands(t.Tokens), said}
			},
		}),
		cli.Show(a, "turns", "TURN", "Show a turn: what was said, every call with its arguments, and what it cost", nil),
		&cobra.Command{
			Use: "why TURN", Short: "Trace a turn back to what caused it", Args: cli.Named("turns", "TURN"),
			RunE: func(cmd *cobra.Command, args []string) error { return whyTurn(a, cmd, args[0]) },
		},
		cli.Verb(a, "turns", "stop", "TURN", "Stop a turn that runs or waits", "turn %s is stopped"),
	)
}

// whyTurn traces a turn from the last message that it sent.
func whyTurn(a *cli.App, cmd *cobra.Command, turn string) error {
	c, err := a.Client(cmd.Context())
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Show(cmd.Context(), "turns", turn, &raw); err != nil {
		return err
	}
	var t turnRow
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("the turn is not understood: %w", err)
	}
	if len(t.Outbox) == 0 {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("turn %s has sent nothing that could be traced", turn), Hint: "see: hob turns show " + turn}
	}
	return showWhy(cmd.Context(), a, strconv.FormatInt(t.Outbox[len(t.Outbox)-1].ID, 10))
}
