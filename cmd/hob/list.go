package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"hob/daemon/control/client"
	"hob/daemon/control/console"
)

// listing describes a command that lists the rows of a resource.
type listing[T any] struct {
	resource string
	short    string
	none     string // what is said when there is nothing
	head     []string
	row      func(T) []string
	state    string // the default of --state
}

// listCommand makes "list" with --limit and --state.
func listCommand[T any](a *app, l listing[T]) *cobra.Command {
	f := client.Filter{State: l.state}
	cmd := &cobra.Command{
		Use: "list", Short: l.short, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return listRows(cmd.Context(), a, l, f) },
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most this many rows (default 50)")
	cmd.Flags().StringVar(&f.State, "state", l.state, "only rows in this state")
	return cmd
}

func listRows[T any](ctx context.Context, a *app, l listing[T], f client.Filter) error {
	if f.Limit < 0 {
		return usage("", "--limit %d is less than nothing", f.Limit)
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.List(ctx, l.resource, f, &raw); err != nil {
		return err
	}
	if a.json {
		return a.document(raw)
	}
	var rows []T
	if err := json.Unmarshal(raw, &rows); err != nil {
		return fmt.Errorf("the list of %s is not understood: %w", l.resource, err)
	}
	if len(rows) == 0 {
		a.say("%s", l.none)
		return nil
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, l.row(r))
	}
	return a.table(l.head, cells)
}

// showCommand makes "show" with every detail of a row; draw nil draws them all.
func showCommand(a *app, resource, what string, draw func(json.RawMessage) error) *cobra.Command {
	return &cobra.Command{
		Use: "show " + what, Short: "Show one with everything that belongs to it", Args: exactly(1, "one "+what),
		RunE: func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), resource, args[0], draw) },
	}
}

func (a *app) show(ctx context.Context, resource, id string, draw func(json.RawMessage) error) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Show(ctx, resource, id, &raw); err != nil {
		return err
	}
	if a.json {
		return a.document(raw)
	}
	if draw == nil {
		draw = func(raw json.RawMessage) error { return a.text(console.Details(raw)) }
	}
	return draw(raw)
}

// act carries out a verb and says what was done.
func (a *app) act(ctx context.Context, resource, id, verb string, args map[string]string, done string) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Act(ctx, resource, id, verb, args, &raw); err != nil {
		return err
	}
	return a.done(raw, done)
}

// done confirms a change.
func (a *app) done(raw json.RawMessage, sentence string) error {
	if a.json {
		return a.document(raw)
	}
	if !a.quiet {
		a.say("%s", sentence)
	}
	return nil
}

// verbCommand makes a command that does one thing to one row. done says so, with %s for the id.
func verbCommand(a *app, resource, verb, what, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " " + what, Short: short, Args: exactly(1, "one "+what),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd.Context(), resource, args[0], verb, nil, fmt.Sprintf(done, args[0]))
		},
	}
}
