package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// turnsCommand makes hob turns. A turn is one answer with all its steps: requests to models and calls of tools.
// Its rows stay, so it can be explained later.
func turnsCommand(a *cli.App) *cobra.Command {
	return cli.Family("turns", "See what hob has thought and done, turn by turn",
		cli.List(a, cli.Listing[api.Turn]{
			Route: api.Turns, Short: "List turns, newest first", None: "there are no turns yet; begin one with: hob chat",
			States: []string{"ready", "running", "waiting", "done", "failed", "stopped", "dead"},
			Head:   turnHead(), Row: turnCells,
		}),
		&cobra.Command{
			Use: "show TURN", Short: "Show a turn as a timeline, with every call and its cost", Args: cli.Named(api.Turns.Name(), "TURN"), ValidArgsFunction: cli.Complete(a, api.Turns),
			RunE: func(cmd *cobra.Command, args []string) error { return showTurn(cmd.Context(), a, args[0]) },
		},
		&cobra.Command{
			Use: "why TURN", Short: "Trace a turn back to what caused it", Args: cli.Named(api.Turns.Name(), "TURN"), ValidArgsFunction: cli.Complete(a, api.Turns),
			RunE: func(cmd *cobra.Command, args []string) error { return whyTurn(a, cmd, args[0]) },
		},
		cli.Verb(a, api.StopTurn, "TURN", "Stop a turn that runs or waits", "turn %s is stopped"),
	)
}

// turnHead are the columns of the list of turns.
func turnHead() []string {
	return []string{"TURN", "STATE", "SESSION", "STARTED", "TOOK", "TOKENS", "SAID"}
}

// turnCells are the cells of a turn. A turn that said nothing shows why it ended instead.
func turnCells(t api.Turn, clock cli.Clock) []string {
	said := t.Text
	if said == "" {
		said = console.ToYou(t.Why)
	}
	return []string{cli.ID(t.ID), string(t.State), t.Session, clock(t.Started), console.Span(t.RunningMS), console.Thousands(t.Tokens), said}
}

// showTurn draws a turn's timeline.
func showTurn(ctx context.Context, a *cli.App, id string) error {
	return showPage(ctx, a, api.ShowTurn, id, func(t api.TurnDetail, p layout) string { return timeline{t}.page(p) })
}

// whyTurn traces a turn from the last message that it sent. A turn may have sent several; the last one is its
// answer.
func whyTurn(a *cli.App, cmd *cobra.Command, turn string) error {
	c, err := a.Client(cmd.Context())
	if err != nil {
		return err
	}
	if turn, err = cli.RowID(cmd.Context(), c, api.Turns.Name(), turn); err != nil {
		return err
	}
	t, err := client.Show(cmd.Context(), c, api.ShowTurn, turn)
	if err != nil {
		return err
	}
	// Only messages have a chain of causes that is stored; a silent turn has none to trace.
	if len(t.Outbox) == 0 {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("turn %s has sent nothing that could be traced", turn), Hint: "see: hob turns show " + turn}
	}
	return showWhy(cmd.Context(), a, strconv.FormatInt(t.Outbox[len(t.Outbox)-1].ID, 10))
}
