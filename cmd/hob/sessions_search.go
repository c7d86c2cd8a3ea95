package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// sessionsSearchCommand makes hob sessions search.
func sessionsSearchCommand(a *cli.App) *cobra.Command {
	var session string
	limit := 0
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Search what was said in all conversations", Args: cli.AtLeast(1, "a QUERY"), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Search the messages and answers of all conversations, by words. Your own come first, then at most three of each other sender. Turns that have not ended are not searched.",
		Example: "  hob sessions search \"wifi password of the cabin\"\n  hob sessions search --session garden tomatoes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 || limit > 100 {
				return cli.Usage("", "--limit %d is not a number from 1 to 100", limit)
			}
			return searchSessions(cmd.Context(), a, api.HistoryQuery{Query: cli.Joined(args), Session: session, Limit: strconv.Itoa(limit)})
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "only in this conversation, by key or id")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many results (default 20)")
	cli.CompleteFlag(cmd, "session", cli.Complete(a, api.Sessions))
	return cmd
}

// searchSessions asks the daemon and prints what it found: a line about each message, and the message below it. Every text may be a stranger's, so it is made safe for the
// terminal, and indented, so that none of its lines looks like the line about another message.
func searchSessions(ctx context.Context, a *cli.App, q api.HistoryQuery) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	found, err := client.Do(ctx, c, api.SearchHistory, "", q)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(found)
	}
	for _, n := range found.Notes {
		a.Note(n)
	}
	if len(found.Results) == 0 {
		a.Say("nothing found")
		return nil
	}
	clock := cli.ListClock(ctx, c)
	var b strings.Builder
	for i, h := range found.Results {
		if i > 0 {
			b.WriteString("\n")
		}
		who := h.Sender
		if h.Foreign != "" {
			who += ", foreign text"
		}
		fmt.Fprintf(&b, "%s · session %d · item %d · %s · %s\n", console.OneLine(h.Key), h.Session, h.Item, clock(h.At), console.OneLine(who))
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(console.Clean(h.Text), "\n", "\n    "))
	}
	return a.Text(b.String())
}
