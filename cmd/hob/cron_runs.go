package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// cronRunsHead are the columns for the runs of one job. The list for all jobs has the name before them.
func cronRunsHead() []string {
	return []string{"DUE", "STATE", "LATE", "BEGAN", "ENDED", "ANSWER", "COST", "TURN", "REASON"}
}

// cronRunCells are the cells of a run, with times in a zone.
func cronRunCells(r api.Fire, zone *time.Location) []string {
	state, turn := runState(r)
	// Every run starts a little after its slot. Less than a second is not worth a number.
	late := "-"
	if r.LateMS >= 1000 {
		late = console.Period(time.Duration(r.LateMS * int64(time.Millisecond)).Truncate(time.Second).String()) // as the reason has it
	}
	// Reason is about the slot, Why about the delivery of the answer.
	reason := console.ToYou(r.Reason)
	if r.Why != "" {
		reason += " (answer: " + r.Why + ")"
	}
	due := text.When(r.Due.In(zone), time.Now(), r.Due.Second() != 0)
	return []string{due, state, late, runTime(r, r.Started, zone), runTime(r, r.Ended, zone), console.OrDash(r.RunDelivery.Outcome), runCost(r), turn, reason}
}

// runTime formats an instant of a run, without the date if it is on the day of the slot.
func runTime(r api.Fire, t time.Time, zone *time.Location) string {
	switch {
	case t.IsZero():
		return "-"
	case t.In(zone).Format(time.DateOnly) == r.Due.In(zone).Format(time.DateOnly):
		return t.In(zone).Format(time.TimeOnly)
	}
	return t.In(zone).Format("01-02 15:04")
}

// runCost is the money that a run cost. Below 0 the price of the model is not known.
func runCost(r api.Fire) string {
	switch {
	case r.CostMicros < 0 && r.Tokens > 0:
		return "unknown, " + console.Thousands(r.Tokens) + " tok"
	case r.CostMicros > 0:
		return fmt.Sprintf("%.4f", float64(r.CostMicros)/1e6)
	}
	return "-"
}

// named is a list of the runs of all triggers of a kind, "" for all kinds, with their names.
func named(l cli.Listing[api.Fire], kind string) cli.Listing[api.Fire] {
	if kind != "" {
		l.Keep = func(r api.Fire) bool { return r.Kind == kind }
	}
	row := l.Row
	l.Head = append([]string{"NAME"}, l.Head...)
	l.Row = func(r api.Fire, clock cli.Clock) []string { return append([]string{r.Job}, row(r, clock)...) }
	return l
}

// cronRunsCommand makes hob cron runs. The rows are fires: one for each slot, also for slots that were missed
// or skipped, with the reason.
func cronRunsCommand(a *cli.App) *cobra.Command {
	f := client.Filter{}
	l := cli.Listing[api.Fire]{
		Route: api.Fires, Noun: "runs", None: "nothing has come due yet; hob cron list shows what will",
		States: []string{"due", "queued", "running", "waiting", "done", "ran", "late", "failed", "missed", "coalesced", "skipped"},
		Head:   cronRunsHead(),
	}
	cmd := &cobra.Command{
		Use: "runs [JOB]", Short: "List what came due and what became of it, newest first", Args: cli.AtMost(1, "one JOB"), ValidArgsFunction: cli.Complete(a, api.Jobs),
		Example: "  hob cron runs\n  hob cron runs tea --state missed",
		RunE: func(cmd *cobra.Command, args []string) error {
			zone := sync.OnceValue(func() *time.Location {
				c, err := a.Client(cmd.Context())
				if err != nil {
					return a.Zone()
				}
				return cli.OwnersZone(cmd.Context(), c)
			})
			l.Row = func(r api.Fire, _ cli.Clock) []string { return cronRunCells(r, zone()) }
			if len(args) == 0 {
				return cli.ListRows(cmd.Context(), a, named(l, ""), f)
			}
			f.Name = args[0]
			l.None = "it has not come due yet"
			l.Empty = func(ctx context.Context, c *client.Client, f client.Filter) error { // a job that is gone has a record; one that never was has none
				_, err := client.Show(ctx, c, api.ShowJob, f.Name)
				return err
			}
			return cli.ListRows(cmd.Context(), a, l, f)
		},
	}
	l.Flags(cmd, &f)
	return cmd
}
