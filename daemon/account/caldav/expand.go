package caldav

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

// stamp is a DATE or a DATE-TIME as it is written.
type stamp struct {
	time time.Time // its wall time
	day  bool      // it is a date
	utc  bool      // it is in UTC
}

// The forms of RFC 5545, sections 3.3.4 and 3.3.5.
const (
	dayForm   = "20060102"
	clockForm = "20060102T150405"
)

// wallOf parses a DATE or a DATE-TIME, also with the signs of ISO 8601 or without the seconds.
func wallOf(s string) (stamp, bool) {
	s = strings.NewReplacer("-", "", ":", "").Replace(strings.ToUpper(strings.TrimSpace(s)))
	if t, err := time.Parse(dayForm, s); err == nil {
		return stamp{time: t, day: true}, true
	}
	clock := strings.TrimSuffix(s, "Z")
	if len(clock) == len("20060102T1504") {
		clock += "00"
	}
	t, err := time.Parse(clockForm, clock)
	return stamp{time: t, utc: strings.HasSuffix(s, "Z")}, err == nil
}

// Bounds of a recurrence. They hold for every file, so that no rule costs more than a moment.
const (
	maxRule       = 500     // bytes of a rule
	maxPerDay     = 100     // instances on one day
	maxCandidates = 200_000 // instances that are looked at, from the first on
	maxInstances  = 10_000  // instances in one answer
)

var errRule = errors.New("a rule that hob does not follow")

// ruleOf makes a rule that counts in wall times. until converts an UNTIL in UTC. Rules by the hour, minute or second are refused, because such rules
// with a filter can run for hours without an instance.
func ruleOf(text string, start time.Time, until func(stamp) time.Time) (*rrule.RRule, error) {
	if len(text) > maxRule {
		return nil, errRule
	}
	var rest []string
	var end stamp
	for part := range strings.SplitSeq(strings.ToUpper(text), ";") {
		if part = strings.TrimSpace(part); part == "" || strings.HasPrefix(part, "X-") {
			continue
		}
		if s, ok := strings.CutPrefix(part, "UNTIL="); ok {
			if end, ok = wallOf(s); !ok {
				return nil, errRule
			}
			continue
		}
		rest = append(rest, part)
	}
	o, err := rrule.StrToROption(strings.Join(rest, ";"))
	if err != nil || o.Freq > rrule.DAILY {
		return nil, errRule
	}
	if max(1, len(o.Byhour))*max(1, len(o.Byminute))*max(1, len(o.Bysecond)) > maxPerDay {
		return nil, errRule
	}
	o.Dtstart = start
	switch {
	case end.utc:
		o.Until = until(end)
	case end.day && !end.time.IsZero():
		o.Until = end.time.Add(24*time.Hour - time.Second) // all of its last day
	case !end.time.IsZero():
		o.Until = end.time
	default:
		o.Until = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) // the library's own end is 292 years after the start; the zones of Outlook begin in 1601
	}
	return rrule.NewRRule(*o)
}

// series is an event with its repetitions. All times are wall times.
type series struct {
	start  stamp
	zone   zone
	rules  []*rrule.RRule
	dates  []time.Time     // RDATE
	except map[string]bool // EXDATE, by key
}

// key names an instance, as RECURRENCE-ID does: by date, or by instant.
func (s series) key(wall time.Time) string {
	return s.keyOf(stamp{time: wall, day: s.start.day}, s.zone)
}

func (s series) keyOf(t stamp, z zone) string {
	switch {
	case s.start.day:
		return t.time.Format(dayForm)
	case t.utc:
		return t.time.Format(clockForm) + "Z"
	}
	return z.at(t.time).UTC().Format(clockForm) + "Z"
}

// seriesOf reads the recurrence of an event.
func (o object) seriesOf(c *ical.Component) (s series, err error) {
	s = series{except: map[string]bool{}}
	if s.start, s.zone, err = o.stampOf(c, ical.PropDateTimeStart); err != nil {
		return s, err
	}
	for _, p := range c.Props[ical.PropRecurrenceRule] {
		until := func(t stamp) time.Time { return s.zone.wall(t.time) }
		if s.start.day {
			until = lastDay
		}
		rule, err := ruleOf(p.Value, s.start.time, until)
		if err != nil {
			return s, errRule
		}
		s.rules = append(s.rules, rule)
	}
	for _, name := range []string{ical.PropRecurrenceDates, ical.PropExceptionDates} {
		for _, p := range c.Props[name] {
			id, values := zoned(p)
			z := o.zone(id)
			for one := range strings.SplitSeq(values, ",") {
				one, _, _ = strings.Cut(one, "/") // of a period only the begin is read
				t, ok := wallOf(one)
				switch {
				case !ok:
				case name == ical.PropExceptionDates:
					s.except[s.keyOf(t, z)] = true
				case t.utc:
					s.dates = append(s.dates, s.zone.wall(t.time))
				default:
					s.dates = append(s.dates, s.zone.wall(z.at(t.time)))
				}
			}
		}
	}
	return s, nil
}

// lastDay is the last day of an all-day series whose UNTIL is an instant. Outlook writes the midnight at which the day begins in the zone of the
// one who made the series, other programs the second before it ends. That zone is mostly unknown, so the nearest midnight counts.
func lastDay(t stamp) time.Time {
	near := func(at time.Time) time.Time { return at.Add(12 * time.Hour).Truncate(24 * time.Hour) }
	if t.time.Second() == 59 {
		return near(t.time.Add(time.Second)).AddDate(0, 0, -1)
	}
	return near(t.time)
}

// repeats is true if the event has more than one instance.
func (s series) repeats() bool { return len(s.rules) > 0 || len(s.dates) > 0 }

// walls returns the begins from a wall time until before another, without exceptions. more says that there are more than hob looks at.
func (s series) walls(from, to time.Time) (list []time.Time, more bool, err error) {
	// The library indexes beyond its tables for some rules, such as the 53rd Monday of December.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errRule, p)
		}
	}()
	all := slices.Clone(s.dates)
	if len(s.rules) == 0 {
		all = append(all, s.start.time)
	}
	for _, r := range s.rules {
		next := r.Iterator()
		for n := 0; ; n++ {
			t, ok := next()
			if !ok || !t.Before(to) {
				break
			}
			if n >= maxCandidates || len(all) >= maxInstances {
				more = true
				break
			}
			if !t.Before(from) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	for _, t := range slices.CompactFunc(all, time.Time.Equal) {
		if !t.Before(from) && t.Before(to) && !s.except[s.key(t)] {
			list = append(list, t)
		}
	}
	return list, more, nil
}
