package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

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

func turnsCommand(a *app) *cobra.Command {
	return family("turns", "What hob has thought and done, turn by turn",
		listCommand(a, listing[turnRow]{
			resource: "turns", short: "List turns, newest first", none: "there are no turns yet",
			states: []string{"ready", "running", "waiting", "done", "failed", "stopped", "dead"},
			head:   []string{"TURN", "STATE", "SESSION", "STARTED", "TOOK", "TOKENS", "SAID"},
			row: func(t turnRow) []string {
				said := t.Text
				if said == "" {
					said = console.ToYou(t.Why)
				}
				return []string{id(t.ID), t.State, t.Session, console.Clock(t.Started), console.Span(t.Running), console.Thousands(t.Tokens), said}
			},
		}),
		showCommand(a, "turns", "TURN", "Show a turn: what was said, every call with its arguments, and what it cost", nil),
		&cobra.Command{
			Use: "why TURN", Short: "Trace a turn back to what caused it", Args: named("turns", "TURN"),
			RunE: func(cmd *cobra.Command, args []string) error { return whyTurn(a, cmd, args[0]) },
		},
		verbCommand(a, "turns", "stop", "TURN", "Stop a turn that runs or waits", "turn %s is stopped"),
	)
}

// whyTurn traces a turn from the last message that it sent.
func whyTurn(a *app, cmd *cobra.Command, turn string) error {
	c, err := a.client(cmd.Context())
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
		return &problem{code: exitFailed, text: fmt.Sprintf("turn %s has sent nothing that could be traced", turn), hint: "see: hob turns show " + turn}
	}
	return showWhy(cmd.Context(), a, strconv.FormatInt(t.Outbox[len(t.Outbox)-1].ID, 10))
}

func id(n int64) string { return strconv.FormatInt(n, 10) }
