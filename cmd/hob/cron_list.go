package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
	"hob/daemon/text"
	"hob/scheduler"
)

// jobClock formats instants in the zone of the job, with seconds if its schedule has seconds.
func jobClock(j scheduler.View) func(time.Time) string {
	zone, err := scheduler.Zone(j.Zone)
	if err != nil {
		zone = time.UTC // the row reports the job as broken
	}
	fine := slices.ContainsFunc(j.Next, func(t time.Time) bool { return t.Second() != 0 })
	return func(t time.Time) string { return console.InZone(t, zone, fine) }
}

// jobState is the next time, or the reason why there is none. clock is the owner's: only a job in another zone names its zone.
func jobState(j scheduler.View, clock cli.Clock) string {
	if j.Broken != "" {
		return "broken" // hob cron show has the reason
	}
	zone, err := scheduler.Zone(j.Zone)
	local := err == nil && len(j.Next) > 0 && text.When(j.Next[0].In(zone), time.Now(), false) == clock(j.Next[0])
	state, _ := j.State(local, time.Now())
	return state
}

// jobInWords replaces the estimate and the backoff of a job by sentences. The other bytes stay, so that the
// details keep their order. The details printer would show the estimate as an object and the backoff as a bare
// instant.
func jobInWords(j scheduler.View, raw json.RawMessage) json.RawMessage {
	// The values as they are in the document, to be found and replaced there.
	var in struct {
		Estimate json.RawMessage `json:"estimate"`
		Held     json.RawMessage `json:"held_until"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return raw
	}
	if j.Estimate != nil {
		text, err := json.Marshal(j.Estimate.Text)
		if err != nil {
			return raw
		}
		raw = bytes.Replace(raw, in.Estimate, text, 1)
	}
	if j.Held() != "" {
		raw = bytes.Replace(raw, append([]byte(`"held_until":`), in.Held...), []byte(`"held":"`+strings.TrimPrefix(j.Held(), "held ")+`"`), 1)
	}
	return raw
}

// cronListCommand makes hob cron list.
func cronListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[scheduler.View]{
		Route: api.Jobs, Short: "List the jobs with their next times, those that run next first", None: "there are no jobs yet; make one with: hob cron add",
		Head: []string{"JOB", "SCHEDULE", "NEXT", "PROMPT"},
		Row: func(j scheduler.View, clock cli.Clock) []string {
			return []string{j.Name, j.Schedule(), jobState(j, clock), j.Prompt}
		},
	})
}

// cronShowCommand makes hob cron show. All instants are in the zone of the job, which may differ from the
// owner's.
func cronShowCommand(a *cli.App) *cobra.Command {
	return cli.Show(a, api.ShowJob, "JOB", "Show a job with its next times, in its own zone", func(j api.Job, raw json.RawMessage, _ cli.Clock) error {
		sheet := console.Sheet{Clock: jobClock(j), Text: func(key, text string) string {
			if key == "spec" || key == "max_late" {
				return console.Period(text)
			}
			return text
		}}
		return a.Text(sheet.Details(jobInWords(j, raw)))
	})
}
