package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/scheduler"
	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// maxPreview is the most instants that cron next shows.
const maxPreview = 1000

// cronPreview holds the flags of hob cron next. The schedule has the same four flags as hob cron add.
type cronPreview struct {
	scheduler.Draft // its schedule
	tz              string
	after           string
	n               int
}

// cronNextCommand makes hob cron next. For a schedule that is typed it needs no daemon, so that it can be tried
// out before a job exists.
func cronNextCommand(a *cli.App) *cobra.Command {
	var p cronPreview
	cmd := &cobra.Command{
		Use: "next [JOB]", Short: "Show the next times of a job, or of a schedule before you use it",
		Example: "  hob cron next --cron \"0 9 * * 1-5\" --tz Europe/Berlin -n 5",
		Args:    cli.AtMost(1, "one JOB"), ValidArgsFunction: cli.Complete(a, api.Jobs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Filled(cmd); err != nil {
				return err
			}
			return previewTimes(cmd.Context(), a, p, args)
		},
	}
	cli.FieldFlags(cmd, &p.Draft, scheduleFields())
	cmd.Flags().StringVar(&p.tz, "tz", "", "time zone, as in Europe/Berlin (default: the job's, else yours)")
	cli.CompleteFlag(cmd, "tz", cli.Zones)
	cmd.Flags().StringVar(&p.after, "after", "", "start after this RFC 3339 instant (default now)")
	cmd.Flags().IntVarP(&p.n, "number", "n", 3, "how many times")
	return cmd
}

// previewTimes checks the flags, computes the times by one of two ways, and prints them.
func previewTimes(ctx context.Context, a *cli.App, p cronPreview, args []string) error {
	words, err := scheduleText(p.Draft)
	if err != nil {
		return err
	}
	// Either the name of a job or a schedule: both, or neither, is a mistake.
	if (words == "") == (len(args) != 1) {
		return cli.Usage(`for example: hob cron next --cron "0 9 * * 1-5"`, "name one JOB or give one schedule")
	}
	if p.n < 1 || p.n > maxPreview {
		return cli.Usage("", "-n %d is not a number from 1 to %d", p.n, maxPreview)
	}
	// The preview has only instants after this one.
	after := time.Now()
	if p.after != "" {
		if after, err = time.Parse(time.RFC3339, p.after); err != nil {
			return cli.Usage("for example --after 2026-03-29T00:00:00Z", "--after %q is not an RFC 3339 instant", p.after)
		}
	}
	var times []time.Time
	var zone *time.Location
	if words != "" {
		times, zone, err = scheduleTimes(a, p, words, after)
	} else {
		times, zone, err = jobTimes(ctx, a, p, args[0], after)
	}
	if err != nil {
		return err
	}
	return printTimes(a, times, zone)
}

// scheduleTimes computes the times of a schedule without the daemon, with the code that the daemon uses.
func scheduleTimes(a *cli.App, p cronPreview, words string, after time.Time) ([]time.Time, *time.Location, error) {
	zone, err := previewZone(a, p.tz)
	if err != nil {
		return nil, nil, err
	}
	// Resolve turns words such as "every weekday at 9" into a schedule, and says what it had to assume.
	r, err := phrase.Resolve(words, zone, after)
	if err != nil {
		return nil, nil, cli.Usage("", "%v", err)
	}
	if r.Assumed != "" {
		a.Note(r.Assumed)
	}
	s, err := spec.Parse(r.Spec)
	if err != nil {
		return nil, nil, fmt.Errorf("read back %q: %w", r.Spec, err)
	}
	// A schedule such as "every 45m" counts from a beginning; without a job that is the instant from which the
	// preview starts.
	return spec.Preview(s, zone, after, after, p.n), zone, nil
}

// previewZone is the zone that hob cron add would use: that of --tz, else the owner's in config.toml, else this machine's.
func previewZone(a *cli.App, tz string) (*time.Location, error) {
	if tz != "" {
		return parseZone(tz)
	}
	return a.Zone(), nil
}

// jobTimes computes the times of an existing job, even if it is paused. The next times of the job's row are
// only the first few, and none if it is paused, so they are computed anew.
func jobTimes(ctx context.Context, a *cli.App, p cronPreview, name string, after time.Time) ([]time.Time, *time.Location, error) {
	j, err := client.Show(ctx, a, api.ShowJob, name)
	if err != nil {
		return nil, nil, err
	}
	zone, err := parseZone(cmp.Or(p.tz, j.Zone))
	if err != nil {
		return nil, nil, err
	}
	s, err := spec.Parse(j.Spec)
	if err != nil {
		return nil, nil, fmt.Errorf("job %s cannot run: %w", j.Name, err)
	}
	if j.Paused {
		a.Note(j.Name + " is paused, so it does not run at these times; to let it go on: hob cron resume " + j.Name)
	}
	// The job has a beginning of its own, so "every 45m" comes due at its real times.
	return spec.Preview(s, zone, after, j.Start(), p.n), zone, nil
}

// printTimes prints instants: with --json in UTC by RFC 3339, else in the zone of the schedule.
func printTimes(a *cli.App, times []time.Time, zone *time.Location) error {
	if a.JSON {
		doc := make([]string, len(times))
		for i, t := range times {
			doc[i] = t.UTC().Format(time.RFC3339)
		}
		return a.Document(doc)
	}
	if len(times) == 0 {
		a.Say("it never comes due again")
	}
	for _, t := range times {
		a.Say("%s", t.In(zone).Format("Mon 2006-01-02 15:04:05 MST"))
	}
	return nil
}
