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

// jobCells are the schedule of a job and its next time, or the reason why there is none. clock is the owner's, and so is the next time. The
// schedule of a job in another zone names that zone.
func jobCells(j scheduler.View, clock cli.Clock) (schedule, next string) {
	schedule = j.Schedule()
	if j.Broken != "" {
		return schedule, "broken" // hob cron show has the reason
	}
	zone, err := scheduler.Zone(j.Zone)
	local := err == nil && len(j.Next) > 0 && text.When(j.Next[0].In(zone), time.Now(), false) == clock(j.Next[0])
	next, runs := j.State(local, time.Now())
	if runs && !local && j.Next[0].Second() == 0 {
		next = clock(j.Next[0])
		if strings.HasPrefix(j.Spec, "cron ") {
			schedule += ", " + j.Zone
		}
	}
	return schedule, next
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
			schedule, next := jobCells(j, clock)
			return []string{j.Name, schedule, next, j.Prompt}
		},
	})
}

// cronShowCommand makes hob cron show. All instants are in the zone of the job, which may differ from the
// owner's.
func cronShowCommand(a *cli.App) *cobra.Command {
	return cli.Show(a, api.ShowJob, "JOB", "Show a job with its next times, in its own zone", func(j api.Job, raw json.RawMessage, _ cli.Clock) error {
		clock := jobClock(j)
		sheet := console.Sheet{Clock: clock, Hide: []string{"words"}, Text: func(key, text string) string {
			if at, err := time.Parse("at "+time.RFC3339, text); key == "spec" && err == nil {
				return "once, " + clock(at)
			} else if key == "spec" {
				return j.SpecText()
			}
			return text
		}}
		return a.Text(sheet.Details(jobInWords(j, raw)))
	})
}
