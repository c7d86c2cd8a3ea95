package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
	"hob/scheduler/filewatch"
)

// watchState says whether the watch sees changes and runs for them at once, and if not, why.
func watchState(w filewatch.View, clock cli.Clock) string {
	switch {
	case w.Broken != "":
		return "broken"
	case w.Paused:
		return "paused"
	// A path that does not exist yet, or is gone, is no fault: the watch begins when it is there.
	case w.Waits != "":
		return "waits for its path"
	case !w.Held.IsZero():
		return "held until " + clock(w.Held)
	case w.Trouble != "":
		// It cannot see some changes, or sees them late; hob watch show says why.
		return "limited"
	case !w.Ready:
		return "looking"
	}
	if w.Failures > 0 {
		return fmt.Sprintf("watching, failed %d in a row", w.Failures)
	}
	return "watching"
}

// watchListCommand makes hob watch list.
func watchListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[filewatch.View]{
		Route: api.Watches, Whole: true, Short: "List the watches", None: "there are no watches yet; make one with: hob watch add",
		Head: []string{"WATCH", "PATHS", "STATE", "PROMPT"},
		Row: func(w filewatch.View, clock cli.Clock) []string {
			return []string{w.Name, strings.Join(w.Paths, ", "), watchState(w, clock) + event.PlainMark(w.Plain), w.Prompt}
		},
	})
}

// watchRunCells are the cells of a run.
func watchRunCells(f api.Fire, clock cli.Clock) []string {
	state, turn := runState(f)
	return []string{clock(f.Created), state, turn, console.ToYou(f.Reason)}
}

// watchRunsCommand makes hob watch runs. The rows are fires: one for each time that changed files were
// reported.
func watchRunsCommand(a *cli.App) *cobra.Command {
	f := client.Filter{}
	l := cli.Listing[api.Fire]{
		Route: api.Fires, Noun: "runs", None: "nothing has changed yet", States: []string{"queued", "running", "waiting", "done", "ran", "failed", "coalesced", "skipped"},
		Head: []string{"SEEN", "STATE", "TURN", "REASON"}, Row: watchRunCells,
		Empty: func(ctx context.Context, c *client.Client, f client.Filter) error { // a watch that is gone has a record; one that never was has none
			_, err := client.Show(ctx, c, api.ShowWatch, f.Name)
			return err
		},
	}
	cmd := &cobra.Command{
		Use: "runs [WATCH]", Short: "List what a watch saw and ran, newest first", Args: cli.AtMost(1, "one WATCH"), ValidArgsFunction: cli.Complete(a, api.Watches),
		Example: "  hob watch runs papers\n  hob watch runs papers --state failed",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				l.Empty = nil
				return cli.ListRows(cmd.Context(), a, named(l, "watch"), f)
			}
			// The route of fires takes a name or an id.
			f.Name = watchID(cmd.Context(), a, args[0])
			return cli.ListRows(cmd.Context(), a, l, f)
		},
	}
	l.Flags(cmd, &f)
	return cmd
}

// watchID returns the id of a watch, because a job may have the same name. The runs of a deleted watch are found by its former name.
func watchID(ctx context.Context, a *cli.App, name string) string {
	w, err := client.Show(ctx, a, api.ShowWatch, name)
	if err != nil {
		return name // the list says what is wrong
	}
	return cli.ID(w.ID)
}
