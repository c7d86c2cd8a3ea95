package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/daemon/text"
)

// Instant parses a point in time as people and models write it: RFC 3339, "2006-01-02 15:04",
// "15:04" (the next one) in the given IANA zone, or a duration from now such as "90m". The result
// may be in the past.
func Instant(s string, now time.Time, zone string) (time.Time, error) {
	s = strings.TrimSpace(s)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := Duration(s); err == nil {
		return now.Add(d), nil
	}
	loc, err := Zone(zone)
	if err != nil {
		return time.Time{}, err
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return firstOfFold(t), nil
		}
	}
	clock, err := time.Parse("15:04", s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time: want RFC 3339 (2026-12-24T17:00:00+01:00), HH:MM, or a duration such as 90m", s)
	}
	return nextClock(clock, now.In(loc)), nil
}

// Shown formats an instant for people and models, in the owner's zone.
func (c Call) Shown(t time.Time) string {
	zone, err := Zone(c.Zone)
	if err != nil {
		zone = time.UTC // the daemon has checked the owner's zone
	}
	return text.InZone(t, zone, false)
}

// Duration parses "90s" or "1h30m", and also days and weeks: "2d", "1w 12h". A day has 24 hours.
func Duration(s string) (time.Duration, error) {
	rest, sum := strings.ReplaceAll(strings.TrimSpace(s), " ", ""), time.Duration(0)
	for _, unit := range []struct {
		letter string
		hours  int
	}{{"w", 168}, {"d", 24}} {
		number, after, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 10_000 {
			return 0, fmt.Errorf("%q is no duration: want one such as 90m, 1h30m or 2d", s)
		}
		sum += time.Duration(n*unit.hours) * time.Hour
		rest = after
	}
	if rest == "" && sum > 0 {
		return sum, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: want one such as 90m, 1h30m or 2d", s)
	}
	return sum + d, nil
}

// nextClock returns the next instant at which a wall clock shows this hour and minute. If a change
// to summer time skips that time, it returns the first instant after the gap.
func nextClock(clock, now time.Time) time.Time {
	for day := 0; ; day++ {
		y, m, d := now.Date()
		t := time.Date(y, m, d+day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if t.Hour() != clock.Hour() || t.Minute() != clock.Minute() {
			t = afterGap(t)
		}
		if first := firstOfFold(t); first.After(now) {
			return first
		}
		if t.After(now) {
			return t
		}
	}
}

// firstOfFold returns the earlier of the two instants with the same local time after clocks are set
// back.
func firstOfFold(t time.Time) time.Time {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, was := start.Add(-time.Second).Zone()
	_, is := t.Zone()
	first := t.Add(time.Duration(is-was) * time.Second)
	if first.Before(start) && first.Format(time.DateTime) == t.Format(time.DateTime) {
		return first
	}
	return t
}

// afterGap moves a time that time.Date shifted out of a gap to the end of that gap, which is the
// nearest change of offset.
func afterGap(t time.Time) time.Time {
	start, end := t.ZoneBounds()
	if !end.IsZero() && end.Sub(t) < t.Sub(start) {
		return end
	}
	return start
}

// Zone loads an IANA zone by name; "" is UTC. It refuses "Local", which depends on the machine.
func Zone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("zone %q: want an IANA name such as Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w", name, err)
	}
	return loc, nil
}
