// Package schedulertest is what tests of schedules share: an oracle that finds slots by walking through time
// minute by minute, a store in memory, and a year of jobs, restarts and clock jumps that any store can be put through.
// It shares no code with the scheduler's own search for slots, and is never linked into the program.
package schedulertest

import "time"

// Oracle finds the slots of a cron schedule the slow way: it looks at the wall clock at every step of time.
type Oracle struct {
	Zone    *time.Location
	Match   func(wall time.Time) bool // wall: what the clock shows, as a time in UTC
	Elapsed bool                      // the hour field begins with "*"
	Step    time.Duration             // default: a minute; the zone's offsets must be whole steps
	Fold    time.Duration             // how far back clocks may go in this stretch of time; default 30 h
}

// Slots lists the slots after `after` up to until, both included only at the end.
func (o Oracle) Slots(after, until time.Time) []time.Time {
	if o.Step == 0 {
		o.Step = time.Minute
	}
	if o.Fold == 0 {
		o.Fold = 30 * time.Hour
	}
	var list []time.Time
	start := after.Truncate(o.Step).Add(-o.Fold) // far enough back to have seen the first pass of a fold
	shown := map[int64]bool{}
	before := o.wall(start.Add(-o.Step))
	for t := start; !t.After(until); t = t.Add(o.Step) {
		wall := o.wall(t)
		if t.After(after) && o.fires(shown, before, wall) {
			list = append(list, t)
		}
		shown[wall.Unix()] = true
		delete(shown, wall.Add(-o.Fold-24*time.Hour).Unix())
		before = wall
	}
	return list
}

// fires: a match that the wall shows for the first time, or one that it has just left out. By elapsed time: any match that it shows.
func (o Oracle) fires(shown map[int64]bool, before, wall time.Time) bool {
	if o.Elapsed {
		return o.Match(wall)
	}
	for w := before.Add(o.Step); w.Before(wall); w = w.Add(o.Step) {
		if !shown[w.Unix()] && o.Match(w) {
			return true
		}
	}
	return !shown[wall.Unix()] && o.Match(wall)
}

func (o Oracle) wall(t time.Time) time.Time {
	_, offset := t.In(o.Zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC().Truncate(o.Step)
}
