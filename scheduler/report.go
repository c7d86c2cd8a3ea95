package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// mostNamed limits the jobs that one report names.
const mostNamed = 20

// Overdue sums up the slots of one job that were not served in time.
type Overdue struct {
	Job       string
	Zone      string    // of the job, as an IANA name
	First     time.Time // the earliest of these slots, and the latest
	Last      time.Time
	Until     time.Time     // when the last of them was served
	Gone      int64         // missed, and not replaced by a run
	Coalesced int64         // missed, and represented by another run
	Runs      int64         // slots that run late
	Late      time.Duration // of the latest run

	StoreFailed bool // they could not be committed when they came due
	Running     bool // by the clock, hob was running when they came due
}

// MissedReport returns the message about slots that were not served in time, while hob was not running, the machine slept, or hob could not store. It lists by job what was
// missed and what ran late. Each part names at most 20 jobs and the number of the others. It returns "" if there is nothing to report.
// Times are in the zone that most jobs use; a job in another zone also shows its own time.
func MissedReport(list []Overdue) string {
	var stopped, passed, unstored []Overdue
	for _, o := range list {
		switch {
		case o.Gone+o.Coalesced+o.Runs == 0:
		case o.StoreFailed:
			unstored = append(unstored, o)
		case o.Running && o.Until.Sub(o.First) > NormalDelay:
			passed = append(passed, o)
		default:
			stopped = append(stopped, o)
		}
	}
	zones := map[string]*time.Location{} // loading a zone is the most expensive step
	zone := zoneOr(zones, usualZone(list))
	var lines []string
	if when, jobs, _ := stretch(unstored, zone, zones); jobs != "" {
		if strings.Contains(when, " to ") {
			when = "from " + when
		} else {
			when = "at " + when
		}
		lines = append(lines, fmt.Sprintf("hob could not write to its disk %s: %s", when, jobs))
	}
	if when, jobs, _ := stretch(passed, zone, zones); jobs != "" {
		lines = append(lines, fmt.Sprintf("While the machine slept or its clock went ahead (%s): %s", when, jobs))
	}
	if when, jobs, length := stretch(stopped, zone, zones); jobs != "" {
		why := "not running"
		if length <= NormalDelay { // it may have been running all the time
			why += " or could not keep up"
		}
		lines = append(lines, fmt.Sprintf("While hob was %s (%s): %s", why, when, jobs))
	}
	return strings.Join(lines, "\n")
}

// stretch returns the period of overdue slots, their text by job, and its length; zero values for none.
func stretch(list []Overdue, zone *time.Location, zones map[string]*time.Location) (when, jobs string, length time.Duration) {
	var named []string
	var from, until time.Time
	mixed := false
	for _, o := range list {
		if from.IsZero() || o.First.Before(from) {
			from = o.First
		}
		if o.Until.After(until) {
			until = o.Until
		}
		text := o.text()
		if own := zoneOr(zones, o.Zone); own.String() != zone.String() {
			mixed = true
			text += " (" + stretchText(o.First, o.Last, own, true) + ")"
		}
		named = append(named, text)
	}
	if more := len(named) - mostNamed; more > 0 {
		named = append(named[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return stretchText(from, until, zone, mixed), strings.Join(named, " · "), until.Sub(from)
}

// LateBy returns "2 min" for a run that began so long after its slot, and "" if the delay is normal.
func LateBy(by time.Duration) string {
	if by <= NormalDelay {
		return ""
	}
	return spoken(by)
}

// text describes one job's slots.
func (o Overdue) text() string {
	missed := o.Gone + o.Coalesced
	ran := "ran " + spoken(o.Late) + " late"
	if o.Runs > 1 {
		ran = "ran up to " + spoken(o.Late) + " late"
	}
	switch {
	case missed == 0 && o.Runs == 1:
		return o.Job + " " + ran
	case missed == 0:
		return fmt.Sprintf("%s: %d runs %s", o.Job, o.Runs, strings.TrimPrefix(ran, "ran "))
	case o.Gone == 0 && o.Runs == 1:
		return fmt.Sprintf("%s: %d missed, one run replaces %s", o.Job, missed, pick(missed, "it", "them"))
	case o.Gone == 0 && o.Runs == 0:
		return fmt.Sprintf("%s: %d folded into a run that is not done", o.Job, missed)
	case o.Coalesced > 0 && o.Runs == 0:
		return fmt.Sprintf("%s: %d missed, %d folded into a run that is not done", o.Job, o.Gone, o.Coalesced)
	case o.Coalesced > 0 && o.Runs == 1:
		return fmt.Sprintf("%s: %d missed, one run replaces %d more", o.Job, o.Gone, o.Coalesced)
	case o.Runs == 0 || o.Late <= NormalDelay:
		return fmt.Sprintf("%s: %d %s missed", o.Job, missed, pick(missed, "run", "runs"))
	}
	return fmt.Sprintf("%s: %d missed, %d %s", o.Job, missed, o.Runs, ran)
}

// pick chooses the singular or the plural.
func pick(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// usualZone returns the zone that most jobs use; of two, the first.
func usualZone(list []Overdue) string {
	count := map[string]int{}
	best := ""
	for _, o := range list {
		count[o.Zone]++
	}
	for _, o := range list {
		if best == "" || count[o.Zone] > count[best] {
			best = o.Zone
		}
	}
	return best
}

// zoneOr loads a zone once. An unknown one becomes UTC.
func zoneOr(loaded map[string]*time.Location, name string) *time.Location {
	zone, ok := loaded[name]
	if !ok {
		var err error
		if zone, err = Zone(name); err != nil {
			zone = time.UTC
		}
		loaded[name] = zone
	}
	return zone
}

// stretchText formats a period: "Sat 21:10 to Sun 08:02", with dates if weekdays are ambiguous.
func stretchText(from, until time.Time, zone *time.Location, named bool) string {
	from, until = from.In(zone), until.In(zone)
	day := "Mon "
	if until.Sub(from) > 6*24*time.Hour {
		day = "2 Jan "
	}
	end := until.Format(day + "15:04")
	if from.Format(time.DateOnly) == until.Format(time.DateOnly) {
		end = until.Format("15:04")
	}
	text := from.Format(day+"15:04") + " to " + end
	if from.Truncate(time.Minute).Equal(until.Truncate(time.Minute)) {
		text = from.Format(day + "15:04")
	}
	if named {
		text += until.Format(" MST")
	}
	return text
}
