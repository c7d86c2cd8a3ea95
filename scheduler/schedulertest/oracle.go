// Package schedulertest contains test tools for schedules: an oracle, a store in memory, and Year, a simulation of many jobs with restarts
// and clock jumps that checks any store. The oracle finds slots by walking through time step by step and shares no code with the
// scheduler's own search.
package schedulertest

import "time"

// Oracle finds the slots of a cron schedule by looking at the local time at every step.
type Oracle struct {
	Zone    *time.Location
	Match   func(wall time.Time) bool // wall is the local time, as a time in UTC
	Elapsed bool                      // the hour field begins with "*": slots follow elapsed time
	Step    time.Duration             // default: a minute; the zone's offsets must be whole steps
	Fold    time.Duration             // how far clocks may go back in this period; default 30 h
}

// Slots returns the slots after `after` up to and including until.
func (o Oracle) Slots(after, until time.Time) []time.Time {
	if o.Step == 0 {
		o.Step = time.Minute
	}
	if o.Fold == 0 {
		o.Fold = 30 * time.Hour
	}
	var list []time.Time
	start := after.Truncate(o.Step).Add(-o.Fold) // early enough to have seen the first pass of a repeated hour
	shown := map[int64]bool{}
	before := o.wall(start.Add(-o.Step))
	for t := start; !t.After(until); t = t.Add(o.Step) {
		wall := o.wall(t)
		if t.After(after) && o.fires(shown, before, wall) {
			list = append(list, t)
		}
		shown[wall.Unix()] = true
		// Local times that cannot come again are forgotten.
		delete(shown, wall.Add(-o.Fold-24*time.Hour).Unix())
		before = wall
	}
	return list
}

// fires reports whether a slot is due: the local time matches and is shown for the first time, or the clock just skipped a matching time.
// By elapsed time every match is due.
func (o Oracle) fires(shown map[int64]bool, before, wall time.Time) bool {
	if o.Elapsed {
		return o.Match(wall)
	}
	// Matching local times that the clock has just skipped fire now.
	for w := before.Add(o.Step); w.Before(wall); w = w.Add(o.Step) {
		if !shown[w.Unix()] && o.Match(w) {
			return true
		}
	}
	return !shown[wall.Unix()] && o.Match(wall)
}

// wall returns the local time as a time in UTC.
func (o Oracle) wall(t time.Time) time.Time {
	_, offset := t.In(o.Zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC().Truncate(o.Step)
}
