package schedulertest

import (
	"fmt"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// planned is a job of the simulation, with a function that finds its slots without the scheduler.
type planned struct {
	draft  scheduler.Draft
	slots  func(created, until time.Time) []time.Time
	single bool
	job    scheduler.Job
}

// yearBegins returns the start of each simulation, three days before the first clock change.
func yearBegins() time.Time { return time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC) }

// kind is a schedule and the local times that it means.
type kind struct {
	name, when string
	match      func(w time.Time) bool
	elapsed    bool
	period     time.Duration // of "every"; then the other fields have no meaning
	maxLate    string
	single     bool
}

// kinds returns jobs of all kinds. "every other" counts in zone.
func kinds(zone *time.Location) []kind {
	// The conditions restate each schedule without the scheduler's code.
	at := func(hour, minute int) func(time.Time) bool {
		return func(w time.Time) bool { return w.Hour() == hour && w.Minute() == minute }
	}
	and := func(a func(time.Time) bool, b func(time.Time) bool) func(time.Time) bool {
		return func(w time.Time) bool { return a(w) && b(w) }
	}
	first := func(hour int, fits func(time.Time) bool) time.Time { // the first such day, in local time
		wall := yearBegins().In(zone)
		day := time.Date(wall.Year(), wall.Month(), wall.Day(), hour, 0, 0, 0, time.UTC)
		// The first day must fit, and its hour must still be ahead at the start.
		for wall.Day() == day.Day() && wall.Hour() >= hour || !fits(day) {
			day = day.AddDate(0, 0, 1)
		}
		return day
	}
	each := func(days int, hour int, fits func(time.Time) bool) func(time.Time) bool {
		from := first(hour, fits)
		return func(w time.Time) bool {
			return !w.Before(from) && w.Sub(from)%(time.Duration(days)*24*time.Hour) == 0
		}
	}
	on := func(days ...time.Weekday) func(time.Time) bool {
		return func(w time.Time) bool {
			for _, d := range days {
				if w.Weekday() == d {
					return true
				}
			}
			return false
		}
	}
	return []kind{
		{name: "night", when: "15,45 0-3,23 * * *", maxLate: "20m", match: func(w time.Time) bool { return (w.Hour()+1)%24 <= 4 && w.Minute()%30 == 15 }},
		{name: "daily", when: "30 2 * * *", match: at(2, 30)},
		{name: "midnight", when: "every day at midnight", maxLate: "5h", match: at(0, 0)},
		{name: "hourly", when: "@hourly", elapsed: true, match: func(w time.Time) bool { return w.Minute() == 0 }},
		{name: "quarters", when: "0 */6 * * *", elapsed: true, match: func(w time.Time) bool { return w.Minute() == 0 && w.Hour()%6 == 0 }},
		{name: "weekdays", when: "every weekday at 1:30", match: and(at(1, 30), on(1, 2, 3, 4, 5))},
		{name: "monthend", when: "the last day of the month at noon", match: and(at(12, 0), func(w time.Time) bool { return w.AddDate(0, 0, 1).Day() == 1 })},
		{name: "monday", when: "first monday of the month at 10", match: and(at(10, 0), func(w time.Time) bool { return w.Weekday() == time.Monday && w.Day() <= 7 })},
		{name: "friday", when: "0 7 13 * 5", match: and(at(7, 0), func(w time.Time) bool { return w.Day() == 13 || w.Weekday() == time.Friday })},
		{name: "other", when: "every other tuesday at 9", match: each(14, 9, on(time.Tuesday))},
		{name: "second", when: "every 2nd day at 7", match: each(2, 7, func(time.Time) bool { return true })},
		{name: "thrice", when: "three times a day", match: func(w time.Time) bool { return w.Minute() == 0 && w.Hour()%6 == 3 && w.Hour() > 3 }},
		{name: "once", when: "at 2026-03-07 18:00", single: true, match: and(at(18, 0), func(w time.Time) bool { return w.Format(time.DateOnly) == "2026-03-07" })},
		{name: "often", when: "every 20m", period: 20 * time.Minute},
		{name: "seldom", when: "every 7h", period: 7 * time.Hour},
	}
}

// plan returns every kind of job in every zone. The policies alternate.
func plan(t *testing.T) []*planned {
	var list []*planned
	// Clocks change by an hour or, on Lord Howe, by half an hour; in Cairo they change at midnight, in Apia and in UTC never.
	for z, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "UTC"} {
		zone, err := scheduler.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range kinds(zone) {
			p := &planned{single: k.single, slots: Oracle{Zone: zone, Elapsed: k.elapsed, Match: k.match}.Slots}
			if k.period > 0 {
				p.slots = periods(k.period)
			}
			// Over the zones, every kind of job gets each policy.
			p.draft = scheduler.Draft{
				Name: fmt.Sprintf("%s-%d", k.name, z), When: k.when, Zone: name, MaxLate: k.maxLate, Prompt: "say: " + k.name, Trust: event.Owner,
				Missed: []string{"once", "skip", "all", "ask"}[(z+i)%4], Overlap: []string{"fold", "queue"}[(z+i/4)%2],
			}
			list = append(list, p)
		}
	}
	return list
}

// periods returns the slots of "every d", which count from the creation of the job.
func periods(d time.Duration) func(a, b time.Time) []time.Time {
	return func(created, until time.Time) []time.Time {
		var list []time.Time
		for t := created.Add(d); !t.After(until); t = t.Add(d) {
			list = append(list, t)
		}
		return list
	}
}
