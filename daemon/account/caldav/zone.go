package caldav

import (
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"

	"hob/daemon/text"
)

// zone turns the wall times of an event into instants. A wall time is a time.Time in UTC whose clock shows what is written.
type zone struct {
	name  string
	loc   *time.Location
	rules []observance // of a zone that only the file knows; nil: loc counts
	note  string       // what is uncertain
}

// observance is a STANDARD or DAYLIGHT part of a VTIMEZONE (RFC 5545, section 3.6.5).
type observance struct {
	start    time.Time // wall time of its first onset
	rule     *rrule.RRule
	more     []time.Time
	from, to time.Duration // offsets from UTC before and after an onset
}

// zoneOf finds the zone with an id: by its IANA name, by the name that the file gives, or by the rules that the file has. floating is for what has none.
func zoneOf(id string, cal *ical.Calendar, floating *time.Location) zone {
	if id == "" || id == "Local" { // LoadLocation would take the machine's
		return zone{loc: floating}
	}
	if loc := iana(id); loc != nil {
		return zone{name: loc.String(), loc: loc}
	}
	for _, c := range cal.Children {
		if c.Name != ical.CompTimezone || propText(c, ical.PropTimezoneID) != id {
			continue
		}
		if loc := iana(propText(c, "X-LIC-LOCATION")); loc != nil {
			return zone{name: loc.String(), loc: loc}
		}
		if rules := observances(c); len(rules) > 0 {
			return zone{name: text.Shorten(id, 60), loc: floating, rules: rules}
		}
	}
	return zone{loc: floating, note: "its time zone " + text.Shorten(strings.Join(strings.Fields(id), " "), 60) + " is not known; the time is shown as if it were yours"}
}

// iana loads a zone by its name, also one with a prefix, as some programs write it: /example.org/20260101_1/Europe/Berlin.
func iana(id string) *time.Location {
	parts := strings.Split(id, "/")
	for i := max(0, len(parts)-3); i < len(parts); i++ {
		name := strings.Join(parts[i:], "/")
		if name == "" || name == "Local" || len(name) > 60 || i > 0 && !strings.Contains(name, "/") {
			continue
		}
		if loc, err := time.LoadLocation(name); err == nil {
			return loc
		}
	}
	return nil
}

// maxObservances bounds the parts of a zone that are read.
const maxObservances = 100

// observances reads the rules of a VTIMEZONE. Only yearly rules are read: others are nonsense, and could be without end.
func observances(c *ical.Component) (list []observance) {
	for _, part := range c.Children[:min(len(c.Children), maxObservances)] {
		start, ok := wallOf(propText(part, ical.PropDateTimeStart))
		from, okFrom := offset(propText(part, ical.PropTimezoneOffsetFrom))
		to, okTo := offset(propText(part, ical.PropTimezoneOffsetTo))
		if !ok || !okFrom || !okTo {
			continue
		}
		o := observance{start: start.time, from: from, to: to}
		if text := propText(part, ical.PropRecurrenceRule); text != "" {
			rule, err := ruleOf(text, start.time, func(t stamp) time.Time { return t.time.Add(from) })
			if err != nil || rule.Options.Freq != rrule.YEARLY {
				continue
			}
			o.rule = rule
		}
		for _, p := range part.Props[ical.PropRecurrenceDates] {
			for one := range strings.SplitSeq(p.Value, ",") {
				if t, ok := wallOf(one); ok && len(o.more) < maxObservances {
					o.more = append(o.more, t.time)
				}
			}
		}
		list = append(list, o)
	}
	return list
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

// last returns the last onset at or before a wall time.
func (o observance) last(wall time.Time) (at time.Time) {
	for _, t := range append([]time.Time{o.start}, o.more...) {
		if !t.After(wall) && t.After(at) {
			at = t
		}
	}
	if o.rule != nil {
		if t := o.rule.Before(wall, true); t.After(at) {
			at = t
		}
	}
	return at
}

// at returns the instant of a wall time. One that the clocks skip has the offset from before; of one that occurs twice, the first counts (RFC 5545,
// section 3.3.5).
func (z zone) at(wall time.Time) time.Time {
	if z.rules != nil {
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

// offset is that of the file's own rules at a wall time.
func (z zone) offset(wall time.Time) time.Duration {
	var newest time.Time
	first := z.rules[0]
	use := first.from
	for _, o := range z.rules {
		if o.start.Before(first.start) {
			first, use = o, o.from
		}
	}
	for _, o := range z.rules {
		// A wall time in the hour that is skipped belongs to the time before.
		at := o.last(wall.Add(-max(0, o.to-o.from)))
		if !at.IsZero() && at.After(newest) {
			newest, use = at, o.to
		}
	}
	return use
}

// wall is the wall time of an instant.
func (z zone) wall(t time.Time) time.Time {
	if z.rules != nil {
		guess := t.UTC().Add(z.offset(t.UTC()))
		return t.UTC().Add(z.offset(guess))
	}
	_, seconds := t.In(z.loc).Zone()
	return t.UTC().Add(time.Duration(seconds) * time.Second)
}
