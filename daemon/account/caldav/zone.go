package caldav

import (
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"

	"hob/daemon/text"
)

// zone turns the wall times of an event into instants. A wall time is a time.Time in UTC whose clock shows what is written.
type zone struct {
	name   string
	loc    *time.Location
	first  time.Duration // offset from UTC before the first onset
	onsets []onset       // of a zone that only the file knows, in order; nil: loc counts
	note   string        // what is uncertain
}

// onset is when a zone of a file changes its offset (RFC 5545, section 3.6.5).
type onset struct {
	wall     time.Time
	from, to time.Duration // offsets before and after it
}

// begins is the wall time from which on the new offset counts. One in the hour that is skipped belongs to the time before.
func (o onset) begins() time.Time { return o.wall.Add(max(0, o.to-o.from)) }

// zoneOf finds the zone with an id: by its IANA name, by the name that the file gives, by the rules that the file has, or by the names of Windows. floating is
// for what has none.
func zoneOf(id string, cal *ical.Calendar, floating *time.Location) zone {
	if id == "" || id == "Local" { // LoadLocation would take the machine's
		return zone{loc: floating}
	}
	if loc := iana(id); loc != nil {
		return zone{name: loc.String(), loc: loc}
	}
	for _, c := range cal.Children {
		if c.Name != ical.CompTimezone || !sameZone(propText(c, ical.PropTimezoneID), id) {
			continue
		}
		if loc := iana(propText(c, "X-LIC-LOCATION")); loc != nil {
			return zone{name: loc.String(), loc: loc}
		}
		if list := onsets(c); len(list) > 0 {
			return zone{name: text.Shorten(id, 60), loc: floating, first: list[0].from, onsets: list}
		}
	}
	if loc := otherName(id); loc != nil {
		return zone{name: loc.String(), loc: loc}
	}
	return zone{loc: floating, note: "its time zone " + text.Shorten(strings.Join(strings.Fields(id), " "), 60) + " is not known; the time is shown as if it were yours"}
}

// iana loads a zone by its name, also one with a prefix, as some programs write it: /example.org/20260101_1/Europe/Berlin.
func iana(id string) *time.Location {
	parts := strings.Split(id, "/")
	for i := max(0, len(parts)-3); i < len(parts); i++ {
		name := strings.ReplaceAll(strings.Join(parts[i:], "/"), " ", "_")
		if name == "" || name == "Local" || len(name) > 60 || i > 0 && !strings.Contains(name, "/") {
			continue
		}
		if loc, err := time.LoadLocation(name); err == nil {
			return loc
		}
	}
	return nil
}

// Bounds of a zone of a file. The rules of Outlook begin in 1601.
const (
	maxObservances = 100
	maxOnsets      = 3_000
	lastOnset      = 2200 // the year
)

// onsets reads a VTIMEZONE.
func onsets(c *ical.Component) (list []onset) {
	for _, part := range c.Children[:min(len(c.Children), maxObservances)] {
		start, ok := wallOf(propText(part, ical.PropDateTimeStart))
		from, okFrom := offset(propText(part, ical.PropTimezoneOffsetFrom))
		to, okTo := offset(propText(part, ical.PropTimezoneOffsetTo))
		if !ok || !okFrom || !okTo {
			continue
		}
		walls := []time.Time{start.time}
		if text := propText(part, ical.PropRecurrenceRule); text != "" {
			rule, err := ruleOf(text, start.time, func(t stamp) time.Time { return t.time.Add(from) })
			if err != nil || rule.OrigOptions.Freq != rrule.YEARLY {
				continue
			}
			walls = append(walls, yearly(rule.OrigOptions)...)
		}
		for _, p := range part.Props[ical.PropRecurrenceDates] {
			for one := range strings.SplitSeq(p.Value, ",") {
				if t, ok := wallOf(one); ok {
					walls = append(walls, t.time)
				}
			}
		}
		for _, t := range walls[:min(len(walls), maxOnsets-len(list))] {
			list = append(list, onset{t, from, to})
		}
	}
	slices.SortStableFunc(list, func(a, b onset) int { return a.begins().Compare(b.begins()) })
	return list
}

// yearly returns the times of a rule in the form that zones have: one day of a month, every year. The library that expands events would be asked so often
// that a hostile zone could keep it busy for hours.
func yearly(o rrule.ROption) (list []time.Time) {
	month := o.Dtstart.Month()
	if len(o.Bymonth) > 0 {
		month = time.Month(o.Bymonth[0])
	}
	for year := o.Dtstart.Year(); year <= lastOnset; year += max(1, o.Interval) {
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		for day := 1; day <= last; day++ {
			t := time.Date(year, month, day, o.Dtstart.Hour(), o.Dtstart.Minute(), o.Dtstart.Second(), 0, time.UTC)
			switch {
			case len(o.Bymonthday) > 0 && !slices.Contains(o.Bymonthday, day) && !slices.Contains(o.Bymonthday, day-last-1):
			case len(o.Byweekday) > 0 && !nth(o.Byweekday[0], t, last):
			case len(o.Bymonthday)+len(o.Byweekday) == 0 && day != o.Dtstart.Day():
			case t.After(o.Until):
				return list
			default:
				if list = append(list, t); len(list) == o.Count {
					return list
				}
				day = last // the first one that fits
			}
		}
	}
	return list
}

// nth reports whether a day is the weekday of a rule, such as the second or the last Sunday of a month.
func nth(w rrule.Weekday, t time.Time, last int) bool {
	if w.Day() != (int(t.Weekday())+6)%7 {
		return false
	}
	return w.N() == 0 || w.N() == (t.Day()-1)/7+1 || w.N() == -((last-t.Day())/7+1)
}

// offset parses +0130 or -023000.
func offset(s string) (time.Duration, bool) {
	t, err := time.Parse("-0700", s)
	if err != nil {
		if t, err = time.Parse("-070000", s); err != nil {
			return 0, false
		}
	}
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second, true
}

// at returns the instant of a wall time. One that the clocks skip has the offset from before; of one that occurs twice, the first counts (RFC 5545,
// section 3.3.5).
func (z zone) at(wall time.Time) time.Time {
	if z.onsets != nil {
		return wall.Add(-z.offset(wall)).In(z.loc)
	}
	off := func(t time.Time) time.Duration {
		_, seconds := t.In(z.loc).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := off(wall.Add(-24*time.Hour)), off(wall.Add(24*time.Hour))
	for _, o := range []time.Duration{max(before, after), min(before, after)} {
		if t := wall.Add(-o); off(t) == o {
			return t.In(z.loc)
		}
	}
	return wall.Add(-before).In(z.loc)
}

// offset is that of the file's own zone at a wall time.
func (z zone) offset(wall time.Time) time.Duration {
	n, _ := slices.BinarySearchFunc(z.onsets, wall, func(o onset, t time.Time) int {
		if o.begins().After(t) {
			return 1
		}
		return -1
	})
	if n == 0 {
		return z.first
	}
	return z.onsets[n-1].to
}

// wall is the wall time of an instant.
func (z zone) wall(t time.Time) time.Time {
	if z.onsets != nil {
		guess := t.UTC().Add(z.offset(t.UTC()))
		return t.UTC().Add(z.offset(guess))
	}
	_, seconds := t.In(z.loc).Zone()
	return t.UTC().Add(time.Duration(seconds) * time.Second)
}
