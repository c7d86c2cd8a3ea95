// Package schedulertest is what tests of schedules share: an oracle that finds slots by walking through time
// minute by minute, a store in memory, and a year of jobs, restarts and clock jumps that any store can be put through.
// It shares no code with the scheduler's own search for slots, and is never linked into the program.
package schedulertest

import "time"

// Oracle finds the slots of a cron schedule the slow way: it looks at the wall clock at every minute.
// Offsets of the zone must be whole minutes.
type Oracle struct {
	Zone    *time.Location
	Match   func(wall time.Time) bool // wall: what the clock shows, as a time in UTC
	Elapsed bool                      // the hour field begins with "*"
}

// Slots lists the slots after `after` up to until, both included only at the end.
func (o Oracle) Slots(after, until time.Time) []time.Time {
	var list []time.Time
	start := after.Truncate(time.Minute).Add(-30 * time.Hour) // far enough back to have seen the first pass of a fold
	shown := map[time.Time]bool{}
	before := o.wall(start.Add(-time.Minute))
	for t := start; !t.After(until); t = t.Add(time.Minute) {
		wall := o.wall(t)
		if o.fires(shown, before, wall) && t.After(after) {
			list = append(list, t)
		}
		shown[wall] = true
		delete(shown, wall.Add(-48*time.Hour))
		before = wall
	}
	return list
}

func (o Oracle) fires(shown map[time.Time]bool, before, wall time.Time) bool {
	if o.Elapsed {
		return o.Match(wall)
	}
	for w := before.Add(time.Minute); !w.After(wall); w = w.Add(time.Minute) {
		if !shown[w] && o.Match(w) {
			return true
		}
	}
	return !shown[wall] && o.Match(wall)
}

func (o Oracle) wall(t time.Time) time.Time {
	l := t.In(o.Zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
}
