package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/text"
	"hob/scheduler/spec"
)

// Lines lists jobs for a person, one in a line, those that run next first: number, name, schedule, state and prompt. zone is the reader's, ""
// if it is not known; a time in another zone names that zone. With now, times near it are said as people say them: "in 3 min".
func Lines(list []View, zone string, now time.Time) []string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b View) int {
		if len(a.Next) == 0 || len(b.Next) == 0 {
			return cmp.Or(cmp.Compare(len(b.Next), len(a.Next)), cmp.Compare(a.Name, b.Name))
		}
		return a.Next[0].Compare(b.Next[0])
	})
	lines := make([]string, len(list))
	for i, v := range list {
		state, runs := v.State(zone == "" || v.Zone == zone, now)
		if runs {
			state = "next " + state
		}
		if v.Failures > 0 && v.Held() == "" {
			state += fmt.Sprintf(", failed %d in a row", v.Failures)
		}
		lines[i] = fmt.Sprintf("#%d %s | %s | %s | %s", v.ID, v.Name, v.Schedule(), state, text.Line(v.Prompt, 80))
	}
	return lines
}

// Schedule returns the schedule for a list, as SpecText has it. A gate and a plain prompt are mentioned.
func (v View) Schedule() string {
	words := v.SpecText()
	if v.Gate != "" {
		words += ", gated"
	}
	return words + event.PlainMark(v.Plain)
}

// SpecText returns the schedule for people: the words of the request, a period, or "once".
func (v View) SpecText() string {
	switch {
	case strings.HasPrefix(v.Spec, "at "):
		return "once"
	case strings.HasPrefix(v.Spec, "every "):
		return plainSpec(v.Spec)
	}
	return cmp.Or(v.Words, v.Spec)
}

// State returns the next time of the job in its zone, or why there is none. runs is true for a time. With local, the zone is the reader's and
// is not shown; with now, such a time is said as people say it. The order matters: a broken or paused job may still have times in its row.
func (v View) State(local bool, now time.Time) (state string, runs bool) {
	switch {
	case v.Broken != "":
		return "cannot run: " + v.Broken, false
	case v.Paused:
		return "paused", false
	case v.Held() != "":
		return v.Held(), false
	case len(v.Next) == 0:
		return "done", false
	}
	// The times of "every 5s" would look the same without seconds. A program that reads the list counts with them.
	fine := slices.ContainsFunc(v.Next, func(t time.Time) bool { return t.Second() != 0 }) && (now.IsZero() || strings.HasPrefix(v.Spec, "every "))
	at := v.Next[0].In(v.location())
	state = text.When(at, time.Time{}, fine)
	switch {
	case !local:
		state += at.Format(" MST")
	case !now.IsZero():
		state = text.Soon(at, now, fine)
	}
	return state, true
}

// Held says until when the job backs off after failures, "" if it does not.
func (v View) Held() string {
	if v.BackoffUntil.IsZero() {
		return ""
	}
	return fmt.Sprintf("held until %s after %d %s", v.BackoffUntil.In(v.location()).Format("15:04"), v.Failures, pick(int64(v.Failures), "failure", "failures"))
}

// location is the job's zone. A row with an unknown one is broken, and its times are in UTC.
func (v View) location() *time.Location {
	zone, err := Zone(v.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Often warns of a schedule whose runs follow each other within a minute, "" for any other.
func (j Job) Often() string {
	v := j.View(j.Start())
	s, err := spec.Parse(j.Spec)
	if err != nil || len(v.Next) == 0 {
		return ""
	}
	const day, minute = 24 * time.Hour, 60 // at most one slot in a second
	gap, first := day, v.Next[0]
	slots := spec.Preview(s, v.location(), first, j.Start(), minute)
	for i, before := range append([]time.Time{first}, slots...)[:len(slots)] {
		gap = min(gap, slots[i].Sub(before))
	}
	if gap >= time.Minute {
		return ""
	}
	// A cron expression with seconds may run in some minutes only, so the runs of a day are counted.
	list, older := s.Overdue(first, first.Add(day-time.Second), v.location(), j.Start(), 1)
	runs := "this runs every %s, %s times a day"
	n := int64(len(list)) + older
	if regular := int64(day / gap); n == regular || n == regular+1 {
		n = regular
	} else {
		runs = "this runs as often as every %s, %s times in 24 hours"
	}
	return fmt.Sprintf(runs+"; for a longer period write, for example, every 10 minutes", spoken(gap), text.Thousands(n))
}

// NoJob is the error for a name that no job has. near are similar names.
func NoJob(name string, near []string) error {
	hint := "hob cron list shows them"
	if len(near) > 0 {
		hint = text.DidYouMean(near)
	}
	return event.NewFault(event.Missing, hint, "there is no job %s", name)
}
