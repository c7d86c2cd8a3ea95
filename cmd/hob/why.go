package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// whyCommand makes hob why. The chain is made in the store: from the message to the turn that sent it, to the
// inbox rows that the turn served, to the job or the sender behind them.
func whyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "why ID|last", Short: "Trace a message that hob sent back to what caused it", Args: cli.Exactly(1, "the ID of a message (see hob outbox list), or last"), ValidArgsFunction: cli.Complete(a, api.Outbox),
		Example: "  hob why last\n  hob why 12",
		RunE:    func(cmd *cobra.Command, args []string) error { return showWhy(cmd.Context(), a, args[0]) },
	}
}

// showWhy asks the daemon for the causes of a message, from the outbox back to what came in. The daemon understands "last" itself.
func showWhy(ctx context.Context, a *cli.App, id string) error {
	return showPage(ctx, a, api.ShowWhy, id, func(w api.Why, p layout) string { return whyTree(w.Nodes, p) })
}

// nodeTitle is the node's on one line; a job's schedule is written as people do.
func nodeTitle(n api.Node) string {
	// A title may be the beginning of a message with several lines.
	words := strings.Fields(console.Clean(n.Title))
	for i := range words {
		if n.Kind == "job" || n.Kind == "heartbeat" {
			words[i] = console.Period(words[i])
		}
	}
	return strings.Join(words, " ")
}

// nodeLine is what a node is, when, and its title. A title that says what it is stands for itself; the message that all begins with
// names the zone of the times.
func nodeLine(n api.Node, p layout) string {
	name, title := strings.TrimSpace(n.Kind+" "+cli.ID(n.ID)), nodeTitle(n)
	if rest, ok := strings.CutPrefix(title, name); ok {
		title = strings.TrimSpace(rest)
	}
	parts := []string{name}
	if !n.At.IsZero() {
		at := n.At.In(p.zone).Format(time.DateTime)
		if n.Kind == "outbox" {
			at = p.at(n.At)
		}
		parts = append(parts, at)
	}
	if title != "" {
		parts = append(parts, title)
	}
	return strings.Join(parts, " · ")
}

// nodeParents returns the parent of each node, -1 for the first. The causes of a turn are children of the turn; any other node, and what follows a
// fire, is a child of the node before it.
func nodeParents(nodes []api.Node) []int {
	list := make([]int, len(nodes))
	turn := -1
	for i, n := range nodes {
		list[i] = i - 1
		// A node after a fire is the cause of that fire, not of the turn.
		if turn >= 0 && n.Kind != "turn" && nodes[i-1].Kind != "fire" {
			list[i] = turn
		}
		if n.Kind == "turn" {
			turn = i
		}
	}
	return list
}

// whyTree draws each cause below its effect. The API returns the nodes as a list, each after its effect;
// nodeParents makes the tree.
func whyTree(nodes []api.Node, p layout) string {
	below := map[int][]int{}
	for i, parent := range nodeParents(nodes) {
		below[parent] = append(below[parent], i)
	}
	var b strings.Builder
	// first is written before the node's own line, rest before all lines below it.
	var draw func(i int, first, rest string)
	draw = func(i int, first, rest string) {
		fmt.Fprintln(&b, p.line(first+nodeLine(nodes[i], p)))
		bar := "  "
		if len(below[i]) > 0 {
			// Details stand between a node and its first cause, so the line must go through them.
			bar = "│ "
		}
		for _, d := range strings.Split(strings.TrimRight(nodes[i].Detail, "\n"), "\n") {
			if d != "" {
				fmt.Fprintln(&b, p.line(rest+bar+console.ToYou(console.Clean(d))))
			}
		}
		for n, child := range below[i] {
			if n == len(below[i])-1 {
				draw(child, rest+"└─ ", rest+"   ")
			} else {
				draw(child, rest+"├─ ", rest+"│  ")
			}
		}
	}
	for _, top := range below[-1] {
		draw(top, "", "")
	}
	return b.String()
}
