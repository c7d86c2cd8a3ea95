package cron

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
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
	Gate    string      `json:"gate"`
	Next    []time.Time `json:"next"`

	Estimate json.RawMessage `json:"estimate"`
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

// schedule is when it comes due, and whether it runs only then.
func (j jobRow) schedule() string {
	if j.Gate != "" {
		return console.Period(j.Spec) + ", gated"
	}
	return console.Period(j.Spec)
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

// inWords is a job with its estimate as the one line that a person reads.
func (j jobRow) inWords(raw json.RawMessage) json.RawMessage {
	var e struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(j.Estimate, &e) != nil {
		return raw
	}
	text, err := json.Marshal(e.Text)
	if err != nil {
		return raw
	}
	return bytes.Replace(raw, j.Estimate, text, 1)
}

func cronListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[jobRow]{
		Resource: "jobs", Short: "List the jobs with their next times", None: "there are no jobs yet; make one with: hob cron add",
		Head: []string{"JOB", "SCHEDULE", "ZONE", "NEXT", "PROMPT"},
		Row: func(j jobRow, _ cli.Clock) []string {
			return []string{j.Name, j.schedule(), j.Zone, j.state(), j.Prompt}
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
		return a.Text(sheet.Details(j.inWords(raw)))
	})
}
