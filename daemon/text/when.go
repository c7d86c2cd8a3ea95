package text

import (
	"fmt"
	"time"
)

// InZone formats an instant for people, in a time zone and with the name of its time: "2026-11-21 09:00 CET"; "-" for none.
func InZone(t time.Time, zone *time.Location, seconds bool) string {
	switch {
	case t.IsZero():
		return "-"
	case seconds:
		return t.In(zone).Format("2006-01-02 15:04:05 MST")
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// Soon returns a coming instant for a list: "in 40 s", "in 3 min", else as When.
func Soon(t, now time.Time, seconds bool) string {
	switch left := t.Sub(now); {
	case left > 0 && left < time.Minute:
		return fmt.Sprintf("in %d s", max(left.Round(time.Second)/time.Second, 1))
	case left > 0 && left < time.Hour:
		return fmt.Sprintf("in %d min", left.Round(time.Minute)/time.Minute)
	}
	return When(t, now, seconds)
}

// When returns an instant for a list that a person reads, in the zone of t: "today 14:05", "tomorrow 09:00", "Fri 27 Nov 09:00" and, in
// another year, "Sat 2 Jan 2027 09:00". With seconds, the time of day has them.
func When(t, now time.Time, seconds bool) string {
	now = now.In(t.Location())
	clock := t.Format("15:04")
	if seconds {
		clock = t.Format(time.TimeOnly)
	}
	// Days are compared by date, because a day may have 23 or 25 hours.
	day := func(n int) bool { return now.AddDate(0, 0, n).Format(time.DateOnly) == t.Format(time.DateOnly) }
	switch {
	case day(0):
		return "today " + clock
	case day(1):
		return "tomorrow " + clock
	case day(-1):
		return "yesterday " + clock
	case t.Year() == now.Year():
		return t.Format("Mon 2 Jan ") + clock
	}
	return t.Format("Mon 2 Jan 2006 ") + clock
}
