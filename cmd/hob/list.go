package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	states   []string // that --state knows; none: there is no such flag
	state    string   // its default
}

// listCommand makes "list".
func listCommand[T any](a *app, l listing[T]) *cobra.Command {
	f := client.Filter{}
	cmd := &cobra.Command{
		Use: "list", Short: l.short, Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return listRows(cmd.Context(), a, l, f) },
	}
	l.flags(cmd, &f)
	return cmd
}

// flags adds --limit, --state where rows have one, and --all where only those in one state are shown by default.
func (l listing[T]) flags(cmd *cobra.Command, f *client.Filter) {
	f.State = l.state
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most this many rows (default 50)")
	if len(l.states) == 0 {
		return
	}
	cmd.Flags().StringVar(&f.State, "state", l.state, "only rows in this state: "+strings.Join(l.states, ", "))
	if l.state == "" {
		return
	}
	all := cmd.Flags().Bool("all", false, "rows in every state")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if *all && cmd.Flags().Changed("state") {
			return usage("", "--all and --state exclude each other")
		}
		if *all {
			f.State = ""
		}
		return nil
	}
}

func (l listing[T]) check(f client.Filter) error {
	if f.Limit < 0 {
		return usage("", "--limit %d is less than nothing", f.Limit)
	}
	if f.State == "" || len(l.states) == 0 || slices.Contains(l.states, f.State) {
		return nil
	}
	hint := "the states are: " + strings.Join(l.states, ", ")
	if n := console.Nearest(f.State, l.states); n != "" {
		hint = fmt.Sprintf("did you mean %q? %s", n, hint)
	}
	return usage(hint, "there is no state %q among %s", f.State, l.resource)
}

// empty says that there is nothing.
func (l listing[T]) empty(f client.Filter) string {
	if f.State != l.state && f.State != "" {
		return "none in that state"
	}
	return l.none
}

func listRows[T any](ctx context.Context, a *app, l listing[T], f client.Filter) error {
	if err := l.check(f); err != nil {
		return err
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.List(ctx, l.resource, f, &raw); err != nil {
		return err
	}
	var rows []T
	var docs []json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &docs), json.Unmarshal(raw, &rows)); err != nil {
		return fmt.Errorf("the list of %s is not understood: %w", l.resource, err)
	}
	if f.Limit > 0 { // what there is little of comes whole
		docs, rows = docs[:min(f.Limit, len(docs))], rows[:min(f.Limit, len(rows))]
	}
	if a.json {
		return a.document(docs)
	}
	if len(rows) == 0 {
		a.say("%s", l.empty(f))
		return nil
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, l.row(r))
	}
	return a.table(l.head, cells)
}

// showCommand makes "show" with every detail of a row; draw nil draws them all.
func showCommand(a *app, resource, what, short string, draw func(json.RawMessage) error) *cobra.Command {
	return &cobra.Command{
		Use: "show " + what, Short: short, Args: named(resource, what),
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
		sheet := console.Sheet{Text: func(_, text string) string { return console.ToYou(text) }}
		draw = func(raw json.RawMessage) error { return a.text(sheet.Details(raw)) }
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
		Use: verb + " " + what, Short: short, Args: named(resource, what),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd.Context(), resource, args[0], verb, nil, fmt.Sprintf(done, args[0]))
		},
	}
}

// named takes the one name of a row. Turns, messages and grants have numbers only.
func named(resource, what string) cobra.PositionalArgs {
	one := exactly(1, "one "+what)
	kind := map[string]string{"turns": "a turn", "inbox": "an inbox row", "outbox": "a message", "grants": "a grant"}[resource]
	return func(cmd *cobra.Command, args []string) error {
		if err := one(cmd, args); err != nil || kind == "" {
			return err
		}
		if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
			return usage("see: hob "+resource+" list", "%q is not the id of %s", args[0], kind)
		}
		return nil
	}
}
