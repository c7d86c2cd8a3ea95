package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/console"
)

type node struct {
	Kind   string          `json:"kind"`
	ID     json.RawMessage `json:"id"` // a number, or a name
	Title  string          `json:"title"`
	At     time.Time       `json:"at"`
	Detail string          `json:"detail"`
}

func whyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "why ID|last", Short: "Trace a message that hob sent back to what caused it", Args: cli.Exactly(1, "the ID of a message (see hob outbox list), or last"),
		RunE: func(cmd *cobra.Command, args []string) error { return showWhy(cmd.Context(), a, args[0]) },
	}
}

func showWhy(ctx context.Context, a *cli.App, id string) error {
	return a.Show(ctx, "why", id, func(raw json.RawMessage) error {
		var chain struct {
			Nodes []node `json:"nodes"`
		}
		if err := json.Unmarshal(raw, &chain); err != nil {
			return fmt.Errorf("the trace is not understood: %w", err)
		}
		return a.Text(tree(chain.Nodes))
	})
}

// title is the node's on one line; a job's schedule is written as people do.
func (n node) title() string {
	words := strings.Fields(console.Clean(n.Title))
	for i := range words {
		if n.Kind == "job" {
			words[i] = console.Period(words[i])
		}
	}
	return strings.Join(words, " ")
}

// tree draws each cause below its effect, further in.
func tree(nodes []node) string {
	var b strings.Builder
	for i, n := range nodes {
		indent := strings.Repeat("   ", max(i-1, 0))
		mark := ""
		if i > 0 {
			mark = "└─ "
		}
		line := strings.TrimSpace(n.Kind + " " + strings.Trim(string(n.ID), `"`))
		if !n.At.IsZero() {
			line += " · " + console.Exact(n.At)
		}
		if n.Title != "" {
			line += " · " + n.title()
		}
		fmt.Fprintln(&b, indent+mark+line)
		for _, d := range strings.Split(strings.TrimRight(n.Detail, "\n"), "\n") {
			if d != "" {
				fmt.Fprintln(&b, indent+strings.Repeat(" ", 3*min(i, 1))+"   "+console.ToYou(console.Clean(d)))
			}
		}
	}
	return b.String()
}
