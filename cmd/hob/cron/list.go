package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/control/client"
	"hob/daemon/control/console"
	"hob/scheduler"
)

type jobRow struct {
	ID      int64       `json:"id"`
	Name    string      `json:"name"`
	Spec    string      `json:"spec"`
	Words   string      `json:"words"`
	Zone    string      `json:"zone"`
	Prompt  string      `json:"prompt"`
	Paused  bool        `json:"paused"`
	Created time.Time   `json:"created"`
	Broken  string      `json:"broken"`
	Next    []time.Time `json:"next"`
}

// clock shows an instant in the job's own zone, with seconds when its schedule has some.
func (j jobRow) clock(t time.Time) string {
	zone, err := scheduler.Zone(j.Zone)
	if err != nil {
		zone = time.UTC // the job says that it is broken
	}
	fine := slices.ContainsFunc(j.Next, func(t time.Time) bool { return t.Second() != 0 })
	return console.InZone(t, zone, fine)
}

// state is the next time, or why there is none.
func (j jobRow) state() string {
	switch {
	case j.Broken != "":
		return "broken"
	case j.Paused:
		return "paused"
	case len(j.Next) == 0:
		return "done"
	}
	return j.clock(j.Next[0])
}

func cronListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[jobRow]{
		Resource: "jobs", Short: "List the jobs with their next times", None: "there are no jobs yet; make one with: hob cron add",
		Head: []string{"JOB", "SCHEDULE", "ZONE", "NEXT", "PROMPT"},
		Row: func(j jobRow, _ cli.Clock) []string {
			return []string{j.Name, console.Period(j.Spec), j.Zone, j.state(), j.Prompt}
		},
	})
}

func cronShowCommand(a *cli.App) *cobra.Command {
	return cli.Show(a, "jobs", "JOB", "Show a job with its next times, in its own zone", func(raw json.RawMessage, _ cli.Clock) error {
		var j jobRow
		if err := json.Unmarshal(raw, &j); err != nil {
			return fmt.Errorf("the job is not understood: %w", err)
		}
		sheet := console.Sheet{Clock: j.clock, Text: func(key, text string) string {
			if key == "spec" || key == "max_late" {
				return console.Period(text)
			}
			return text
		}}
		return a.Text(sheet.Details(raw))
	})
}

type fireRow struct {
	Due     time.Time `json:"due"`
	State   string    `json:"state"`
	Outcome string    `json:"outcome"`
	LateMS  int64     `json:"late_ms"`
	Reason  string    `json:"reason"`
	Turn    int64     `json:"turn"`
}

// cells of a slot: what it came to stands in the place of its state.
func (r fireRow) cells(clock cli.Clock) []string {
	state, late, turn := r.State, "-", "-"
	if r.Outcome != "" {
		state = r.Outcome
	}
	if r.LateMS >= 1000 {
		late = console.Span(r.LateMS)
	}
	if r.Turn != 0 {
		turn = cli.ID(r.Turn)
	}
	return []string{clock(r.Due), state, late, turn, console.ToYou(r.Reason)}
}

func cronRunsCommand(a *cli.App) *cobra.Command {
	f := client.Filter{}
	l := cli.Listing[fireRow]{
		Resource: "fires", None: "it has not come due yet",
		States: []string{"due", "queued", "running", "waiting", "done", "ran", "failed", "missed", "coalesced", "skipped"},
		Head:   []string{"DUE", "STATE", "LATE", "TURN", "REASON"}, Row: fireRow.cells,
		Empty: func(ctx context.Context, c *client.Client, f client.Filter) error { // a job that is gone has a record; one that never was has none
			return c.Show(ctx, "jobs", f.Name, new(json.RawMessage))
		},
	}
	cmd := &cobra.Command{
		Use: "runs JOB", Short: "List what a job ran, missed and skipped, newest first", Args: cli.Exactly(1, "one JOB"), ValidArgsFunction: cli.Complete(a, "jobs"),
		Example: "  hob cron runs tea\n  hob cron runs tea --state missed",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Name = args[0]
			return cli.ListRows(cmd.Context(), a, l, f)
		},
	}
	l.Flags(cmd, &f)
	return cmd
}
