package automation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/scheduler"
	"hob/tools"
)

// runs returns the newest slots of a job, or of all jobs if none is named. A removed job still has its slots, which record its name.
func (c cron) runs(ctx context.Context, in CronInput) (tools.Result, error) {
	var job scheduler.View
	var missing error
	if in.ID != 0 || in.Name != "" {
		// Only "not found" is kept for later. Any other error ends the call.
		if job, missing = c.find(ctx, in); missing != nil && tools.ErrorResult(missing).Code != tools.NotFound {
			return tools.Result{}, missing
		}
	}
	// A job that is not found may have been removed: its slots are looked up by the name or id of the call.
	of := job
	if missing != nil {
		of.ID, of.Name = in.ID, in.Name
	}
	runs, err := c.jobs.Runs(ctx, of, maxRuns)
	if err != nil {
		return tools.Result{}, err
	}
	// Without slots either, the job has never existed.
	if missing != nil && len(runs) == 0 {
		return tools.Result{}, missing
	}
	// A run may quote foreign text, which then taints the turn that reads this result.
	res := tools.Result{Content: history(of, runs), Foreign: foreign(nil, runs...)}
	out := CronOutput{Runs: runs}
	if job.ID != 0 {
		out.Jobs, res.Foreign = []scheduler.View{job}, foreign([]scheduler.View{job}, runs...)
	}
	res.Data = out
	return res, nil
}

// history lists slots, newest first: when each was due, its outcome, how late it was and what it cost.
func history(j scheduler.View, runs []Run) string {
	switch {
	case len(runs) == 0 && j.Name == "":
		return "nothing has come due yet"
	case len(runs) == 0:
		return j.Name + " has not come due yet"
	case j.ID != 0 && j.Name == "": // the job was removed, and named by its id
		j.Name = runs[0].Job
	}
	lines := []string{"newest first:"}
	if j.Name != "" {
		lines[0] = j.Name + ", newest first:"
	}
	for _, r := range runs {
		// The slot records the zone that the job had then.
		zone, err := tools.Zone(cmp.Or(r.Zone, j.Zone))
		if err != nil {
			zone = time.UTC
		}
		line := r.line(zone)
		if j.Name == "" {
			line = r.Job + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// line describes one slot.
func (r Run) line(zone *time.Location) string {
	words := []string{r.Due.In(zone).Format("Mon 2006-01-02 15:04"), r.State, r.Outcome}
	// The outcome says more than the state.
	if r.State == "done" {
		words[1] = ""
	}
	// Less than a minute is the usual delay of the queue.
	if late := time.Duration(r.LateMS) * time.Millisecond; late >= time.Minute {
		text := late.Round(time.Second).String() + " late"
		if r.Outcome == "late" {
			text = "by " + late.Round(time.Second).String()
		}
		words = append(words, text)
	}
	if !r.Started.IsZero() {
		words = append(words, r.times(zone))
	}
	if r.Reason != "" {
		words = append(words, "("+r.Reason+")")
	}
	if r.Sent != "" {
		words = append(words, "answer: "+r.Sent+";")
	}
	switch {
	// Tokens are shown only if their price is unknown.
	case r.Micros > 0:
		words = append(words, fmt.Sprintf("cost %.4f;", float64(r.Micros)/1e6))
	case r.Tokens > 0:
		words = append(words, fmt.Sprintf("%d tokens;", r.Tokens))
	}
	if r.Turn != 0 {
		words = append(words, fmt.Sprintf("turn %d", r.Turn))
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return strings.TrimSuffix(strings.Join(words, " "), ";")
}

// times formats the instants at which the slot's run began and ended.
func (r Run) times(zone *time.Location) string {
	text := r.Started.In(zone).Format("15:04:05") + " to "
	if r.Ended.IsZero() {
		return text + "now"
	}
	return text + r.Ended.In(zone).Format("15:04:05")
}
