package caldav

import (
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/tools/calendar"
)

// document writes a new event. Its times are in UTC, which every program reads in the same way without a VTIMEZONE.
func (a *Account) document(d calendar.Draft) (string, error) {
	cal := ical.NewCalendar()
	cal.Props.SetText(ical.PropVersion, "2.0")
	cal.Props.SetText(ical.PropProductID, "-//hob//hob//EN")
	e := ical.NewEvent()
	e.Props.SetText(ical.PropUID, "hob-"+d.Key)
	e.Props.SetDateTime(ical.PropDateTimeStamp, d.Now.UTC().Truncate(time.Second))
	if d.AllDay {
		e.Props.SetDate(ical.PropDateTimeStart, d.Start)
		e.Props.SetDate(ical.PropDateTimeEnd, d.End)
	} else {
		e.Props.SetDateTime(ical.PropDateTimeStart, d.Start.UTC())
		e.Props.SetDateTime(ical.PropDateTimeEnd, d.End.UTC())
	}
	for name, text := range map[string]string{ical.PropSummary: d.Title, ical.PropLocation: d.Location, ical.PropDescription: d.Description} {
		if text != "" {
			e.Props.SetText(name, strings.ReplaceAll(text, "\r", ""))
		}
	}
	for n, who := range d.Attendees {
		if n == 0 {
			organizer := ical.NewProp(ical.PropOrganizer)
			organizer.Value = "mailto:" + a.s.Mail
			e.Props.Set(organizer)
		}
		p := ical.NewProp(ical.PropAttendee)
		p.Value = "mailto:" + who
		p.Params.Set("RSVP", "TRUE")
		p.Params.Set(ical.ParamParticipationStatus, "NEEDS-ACTION")
		e.Props.Add(p)
	}
	cal.Children = append(cal.Children, e.Component)
	var b strings.Builder
	err := ical.NewEncoder(&b).Encode(cal)
	return b.String(), err
}
