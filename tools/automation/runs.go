package automation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/tools"
)

// history tells a job's slots, newest first: when each was due, what it came to, how late, and what it cost.
func history(j Job, runs []Run) string {
	if len(runs) == 0 {
		return j.Name + " has not come due yet"
	}
	loc, err := tools.Zone(j.Zone)
	if err != nil {
		loc = time.UTC
	}
	lines := []string{j.Name + ", newest first:"}
	for _, r := range runs {
		lines = append(lines, r.line(loc))
	}
	return strings.Join(lines, "\n")
}

func (r Run) line(zone *time.Location) string {
	words := []string{r.Due.In(zone).Format("Mon 2006-01-02 15:04"), r.State, r.Outcome}
	if r.State == "done" {
		words[1] = ""
	}
	if late := time.Duration(r.LateMS) * time.Millisecond; late >= time.Minute {
		text := late.Round(time.Second).String() + " late"
		if r.Outcome == "late" {
			text = "by " + late.Round(time.Second).String()
		}
		words = append(words, text)
	}
	if !r.Started.IsZero() {
		words = append(words, r.stretch(zone))
	}
	if r.Reason != "" {
		words = append(words, "("+r.Reason+")")
	}
	if r.Sent != "" {
		words = append(words, "answer: "+r.Sent+";")
	}
	switch {
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

// stretch is from when to when it ran.
func (r Run) stretch(zone *time.Location) string {
	text := r.Started.In(zone).Format("15:04:05") + " to "
	if r.Ended.IsZero() {
		return text + "now"
	}
	return text + r.Ended.In(zone).Format("15:04:05")
}
