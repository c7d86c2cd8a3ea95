package caldav

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools/calendar"
)

// Bounds of one object, which is an event with its exceptions.
const (
	maxObject     = 2 << 20
	maxComponents = 3_000
)

// object is a resource of a calendar.
type object struct {
	cal      *ical.Calendar
	floating *time.Location // the owner's zone
	zones    map[string]zone
}

var errObject = errors.New("an event that hob cannot read")

// parse reads an object.
func parse(data string, floating *time.Location) (o object, err error) {
	// The library reads beyond the end of some lines that are cut off.
	defer func() {
		if p := recover(); p != nil {
			err = errObject
		}
	}()
	// Parts inside parts cost stack, so their number is bounded before the library sees them.
	if len(data) > maxObject || strings.Count(strings.ToUpper(data), "BEGIN:") > maxComponents {
		return object{}, errObject
	}
	cal, err := ical.NewDecoder(strings.NewReader(contentLines(strings.TrimPrefix(data, "\ufeff")))).Decode()
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", errObject, err)
	}
	return object{cal, floating, map[string]zone{}}, nil
}

// contentLine is the beginning of a line with a name, parameters and a value (RFC 5545, section 3.1).
var contentLine = sys.Regexp(`^[\w-]+(?:;[\w-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*:`)

// contentLines returns a file without the lines that are none, for which the library would refuse all of it. No line is folded.
func contentLines(data string) string {
	var out strings.Builder
	unfold := strings.NewReplacer("\r\n ", "", "\r\n\t", "", "\n ", "", "\n\t", "")
	for line := range strings.Lines(unfold.Replace(data)) {
		if contentLine().MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// propText returns a property as text; "" if there is none. Text that is not escaped as it should be is returned as it is.
func propText(c *ical.Component, name string) string {
	p := c.Props.Get(name)
	if p == nil {
		return ""
	}
	switch name {
	case ical.PropSummary, ical.PropLocation, ical.PropDescription:
		parts, err := p.TextList() // a comma that is not escaped does not end the text
		if err == nil {
			return strings.Join(parts, ",")
		}
	}
	return p.Value
}

// zone finds a zone once.
func (o object) zone(id string) zone {
	z, ok := o.zones[id]
	if !ok {
		z = zoneOf(id, o.cal, o.floating)
		o.zones[id] = z
	}
	return z
}

// stampOf reads a time and its zone.
func (o object) stampOf(c *ical.Component, name string) (stamp, zone, error) {
	p := c.Props.Get(name)
	if p == nil {
		return stamp{}, zone{}, fmt.Errorf("%w: it has no %s", errObject, name)
	}
	id, value := zoned(*p)
	t, ok := wallOf(value)
	switch {
	case !ok || t.time.Year() < 1 || t.time.Year() > 9999:
		return t, zone{}, fmt.Errorf("%w: its %s is not a time", errObject, name)
	case t.utc:
		return t, zone{loc: time.UTC}, nil
	case t.day:
		return t, zone{loc: o.floating}, nil
	}
	return t, o.zone(id), nil
}

// make makes the event that begins at a wall time.
func (o object) make(c *ical.Component, wall time.Time, start stamp, z zone) calendar.Event {
	e := calendar.Event{
		Title: propText(c, ical.PropSummary), Location: propText(c, ical.PropLocation), Description: propText(c, ical.PropDescription), AllDay: start.day,
		Organizer: person(c.Props.Get(ical.PropOrganizer)), Recurs: len(c.Props[ical.PropRecurrenceRule])+len(c.Props[ical.PropRecurrenceDates])+len(c.Props[ical.PropRecurrenceID]) > 0,
	}
	if status := strings.ToLower(propText(c, ical.PropStatus)); status == "tentative" || status == "cancelled" {
		e.Status = status
	}
	for _, p := range c.Props[ical.PropAttendee] {
		e.Attendees = append(e.Attendees, person(&p))
	}
	if z.note != "" {
		e.Notes = append(e.Notes, z.note)
	}
	length := o.length(c, start, z)
	if start.day {
		z = zone{loc: o.floating}
	}
	if !start.day && z.name != "" && z.name != o.floating.String() {
		e.Zone = z.name
	}
	e.Start = z.at(wall).In(o.floating)
	e.End = z.at(wall.AddDate(0, 0, length.days)).Add(length.exact).In(o.floating)
	return e
}

// person shows an attendee or an organizer.
func person(p *ical.Prop) string {
	if p == nil {
		return ""
	}
	address := p.Value
	if len(address) > 7 && strings.EqualFold(address[:7], "mailto:") {
		address = address[7:]
	}
	if name := p.Params.Get(ical.ParamCommonName); name != "" && name != address {
		address = name + " <" + address + ">"
	}
	answers := map[string]string{"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "maybe", "NEEDS-ACTION": "no answer yet"}
	if answer := answers[strings.ToUpper(p.Params.Get(ical.ParamParticipationStatus))]; answer != "" {
		address += " (" + answer + ")"
	}
	return address
}

// instance is one event with the key of its repetition; "" for an event that does not recur.
type instance struct {
	key   string
	event calendar.Event
}

// overlaps reports whether an event touches a span.
func overlaps(e calendar.Event, from, to time.Time) bool {
	return e.Start.Before(to) && (e.End.After(from) || !e.Start.Before(from))
}

// parts splits the events of an object into masters and changed instances, by UID.
func (o object) parts() (masters, changed []*ical.Component) {
	for _, c := range o.cal.Children {
		switch {
		case c.Name != ical.CompEvent:
		case c.Props.Get(ical.PropRecurrenceID) != nil:
			changed = append(changed, c)
		default:
			masters = append(masters, c)
		}
	}
	return masters, changed
}

// expand returns the instances that touch a span, with notes about what it could not follow.
func (o object) expand(from, to time.Time) (list []instance, notes []string) {
	masters, changed := o.parts()
	for _, m := range masters {
		s, err := o.seriesOf(m)
		if errors.Is(err, errRule) {
			notes = append(notes, o.unfollowed(m))
			s = series{start: s.start, zone: s.zone, except: map[string]bool{}} // the first instance is certain
		} else if err != nil {
			notes = append(notes, "an event cannot be read: "+text.Shorten(propText(m, ical.PropSummary), 80))
			continue
		}
		for _, c := range changed {
			if propText(c, ical.PropUID) == propText(m, ical.PropUID) {
				s.except[o.keyFor(s, c)] = true
			}
		}
		// Instances may begin before the span and reach into it. A day more covers the difference between wall times and instants.
		length := o.length(m, s.start, s.zone)
		walls, more, err := s.walls(s.zone.wall(from).Add(-length.most()-24*time.Hour), s.zone.wall(to).Add(24*time.Hour))
		if err != nil {
			notes = append(notes, o.unfollowed(m))
			walls = []time.Time{s.start.time}
		}
		if more {
			notes = append(notes, "an event repeats more often than hob follows: "+text.Shorten(propText(m, ical.PropSummary), 80))
		}
		for _, w := range walls {
			i := instance{event: o.make(m, w, s.start, s.zone)}
			if s.repeats() {
				i.key = s.key(w)
			}
			if overlaps(i.event, from, to) {
				list = append(list, i)
			}
		}
	}
	for _, c := range changed {
		i, err := o.changedInstance(masters, c)
		if err != nil {
			notes = append(notes, "a changed event cannot be read: "+text.Shorten(propText(c, ical.PropSummary), 80))
			continue
		}
		if overlaps(i.event, from, to) {
			list = append(list, i)
		}
	}
	return list, notes
}

// unfollowed is the note about a rule that hob does not follow.
func (o object) unfollowed(m *ical.Component) string {
	return "only the first time of an event is known, because hob cannot follow its rule: " + text.Shorten(cmp.Or(propText(m, ical.PropSummary), "(no title)"), 80)
}

// keyFor is the key of the instance that a component changes.
func (o object) keyFor(s series, c *ical.Component) string {
	t, z, err := o.stampOf(c, ical.PropRecurrenceID)
	if err != nil {
		return ""
	}
	return s.keyOf(t, z)
}

// changedInstance makes an instance that was changed or moved.
func (o object) changedInstance(masters []*ical.Component, c *ical.Component) (instance, error) {
	start, z, err := o.stampOf(c, ical.PropDateTimeStart)
	if err != nil {
		return instance{}, err
	}
	s := series{start: start}
	if n := slices.IndexFunc(masters, func(m *ical.Component) bool { return propText(m, ical.PropUID) == propText(c, ical.PropUID) }); n >= 0 {
		if t, _, err := o.stampOf(masters[n], ical.PropDateTimeStart); err == nil {
			s.start = t
		}
	}
	i := instance{key: o.keyFor(s, c), event: o.make(c, start.time, start, z)}
	if p := c.Props.Get(ical.PropRecurrenceID); p.Params.Get("RANGE") != "" {
		i.event.Notes = append(i.event.Notes, "this change is meant for the later instances too, which are shown unchanged")
	}
	return i, nil
}

// find returns the instance with a key; "": the first event.
func (o object) find(key string) (calendar.Event, bool) {
	masters, changed := o.parts()
	for _, c := range changed {
		if i, err := o.changedInstance(masters, c); err == nil && key != "" && i.key == key {
			return i.event, true
		}
	}
	t, ok := wallOf(key)
	if !ok {
		for _, m := range masters {
			if start, z, err := o.stampOf(m, ical.PropDateTimeStart); err == nil {
				return o.make(m, start.time, start, z), true
			}
		}
		return calendar.Event{}, false
	}
	list, _ := o.expand(t.time.Add(-48*time.Hour), t.time.Add(48*time.Hour))
	for _, i := range list {
		if i.key == key {
			return i.event, true
		}
	}
	return calendar.Event{}, false
}
