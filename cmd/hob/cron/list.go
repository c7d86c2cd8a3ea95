package cron

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
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
	Anchor  time.Time   `json:"anchor"`
	Broken  string      `json:"broken"`
	Gate    string      `json:"gate"`
	Next    []time.Time `json:"next"`

	Failures int       `json:"failures"`
	Held     time.Time `json:"held_until"`

	Estimate json.RawMessage `json:"estimate"`
	Notes    []string        `json:"notes"`
}

// start is what a period counts from: the job's schedule may have been changed after it was made.
func (j jobRow) start() time.Time {
	if j.Anchor.IsZero() {
		return j.Created
	}
	return j.Anchor
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
	case j.held() != "":
		return j.held()
	case len(j.Next) == 0:
		return "done"
	}
	return j.clock(j.Next[0])
}

// held says that it waits because it has failed; "" when it does not.
func (j jobRow) held() string {
	if j.Held.IsZero() {
		return ""
	}
	zone, err := scheduler.Zone(j.Zone)
	if err != nil {
		zone = time.UTC
	}
	return "held until " + j.Held.In(zone).Format("15:04") + " after " + console.Plural(int64(j.Failures), "failure")
}

// inWords is a job with its estimate, and what it waits for, as the lines that a person reads.
func (j jobRow) inWords(raw json.RawMessage) json.RawMessage {
	var in struct {
		Estimate struct {
			Text json.RawMessage `json:"text"`
		} `json:"estimate"`
		Held json.RawMessage `json:"held_until"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return raw
	}
	if in.Estimate.Text != nil {
		raw = bytes.Replace(raw, j.Estimate, in.Estimate.Text, 1)
	}
	if j.held() != "" {
		raw = bytes.Replace(raw, append([]byte(`"held_until":`), in.Held...), []byte(`"held":"`+strings.TrimPrefix(j.held(), "held ")+`"`), 1)
	}
	return raw
}

func cronListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[jobRow]{
		Resource: "jobs", Whole: true, Short: "List the jobs with their next times", None: "there are no jobs yet; make one with: hob cron add",
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
