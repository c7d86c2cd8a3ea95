package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// hookRunCells are the cells of a run. If there is no answer, the reason takes its place. A delivery that
// started no turn, such as one that was refused, has only a reason.
func hookRunCells(r api.Fire, clock cli.Clock, answers map[int64]string) []string {
	state, turn := runState(r)
	answer := answers[r.Turn]
	if answer == "" {
		answer = console.ToYou(r.Reason)
	}
	return []string{clock(r.Created), state, turn, r.Key, console.OrDash(r.RunDelivery.Outcome), console.OrDash(console.OneLine(answer))}
}

// hookRunsCommand makes hob hook runs. The fires of a webhook are listed like those of a job; the answers come
// from their turns.
func hookRunsCommand(a *cli.App) *cobra.Command {
	f := client.Filter{}
	answers := map[int64]string{}
	l := cli.Listing[api.Fire]{
		Route: api.Fires, Noun: "runs", None: "nobody has posted to it yet",
		States: []string{"queued", "running", "waiting", "done", "ran", "failed", "missed", "skipped"},
		Head:   []string{"RECEIVED", "STATE", "TURN", "ID", "DELIVERY", "ANSWER"},
		Row:    func(r api.Fire, clock cli.Clock) []string { return hookRunCells(r, clock, answers) },
	}
	cmd := &cobra.Command{
		Use: "runs [HOOK]", Short: "List what a webhook was sent and what hob answered, newest first", Args: cli.AtMost(1, "one HOOK"),
		ValidArgsFunction: cli.Complete(a, api.Webhooks), Example: "  hob hook runs deploys\n  hob hook runs deploys --state failed",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.ListRows(cmd.Context(), a, named(l, "hook"), f)
			}
			name, err := hookAnswers(cmd.Context(), a, args[0], answers)
			if err != nil {
				return err
			}
			// KIND:NAME selects the fires of webhooks only, because a job may have the same name.
			f.Name = "hook:" + name
			return cli.ListRows(cmd.Context(), a, l, f)
		},
	}
	l.Flags(cmd, &f)
	return cmd
}

// hookAnswers finds the name of a webhook, even of a deleted one, and reads the answers of its newest turns. A
// fire has only the id of its turn. So the newest turns of the webhook are read once, instead of one request
// for each row.
func hookAnswers(ctx context.Context, a *cli.App, name string, answers map[int64]string) (string, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return "", err
	}
	h, missing := client.Show(ctx, c, api.ShowWebhook, name)
	if missing == nil {
		name = h.Name
		// A deleted webhook still has fires. A name without any never was one.
	} else if fires, err := client.List(ctx, c, api.Fires, client.Filter{Name: "hook:" + name, Limit: 1}); err != nil || len(fires) == 0 {
		return "", missing
	}
	turns, err := client.List(ctx, c, api.Turns, client.Filter{Name: "hook:" + name, Limit: 1000})
	if err != nil {
		return "", fmt.Errorf("read the answers: %w", err)
	}
	for _, t := range turns {
		answers[t.ID] = t.Text
	}
	return name, nil
}
