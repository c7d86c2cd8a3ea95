package google

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/tools"
	"hob/tools/calendar"
)

// Limits of a question.
const (
	maxPages     = 40
	maxEvents    = 5_000
	maxCalendars = 100
)

// when is the time of an event as the interface has it: a date, or a time with an offset.
type when struct {
	Date     string `json:"date,omitempty"`
	DateTime string `json:"dateTime,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`
}

// person is an organizer or an attendee.
type person struct {
	Email          string `json:"email"`
	DisplayName    string `json:"displayName,omitempty"`
	ResponseStatus string `json:"responseStatus,omitempty"`
}

// entry is an event as the interface has it.
type entry struct {
	ID               string   `json:"id,omitempty"`
	Status           string   `json:"status,omitempty"`
	Summary          string   `json:"summary,omitempty"`
	Location         string   `json:"location,omitempty"`
	Description      string   `json:"description,omitempty"`
	Start            when     `json:"start"`
	End              when     `json:"end"`
	RecurringEventID string   `json:"recurringEventId,omitempty"`
	Organizer        *person  `json:"organizer,omitempty"`
	Attendees        []person `json:"attendees,omitempty"`
}

// Agenda is the calendars of an account.
type Agenda struct {
	s Settings
	c *rest
}

// calendars reads the list of the owner's calendars; the owner's own comes first.
func (a Agenda) calendars(ctx context.Context) (list []Calendar, err error) {
	first := 0
	err = a.pages(ctx, "/users/me/calendarList", url.Values{"maxResults": {"250"}, "minAccessRole": {"reader"}}, scopeCalendars, func(get func(any) error) (string, bool, error) {
		var page struct {
			Items []struct {
				ID, Summary, SummaryOverride, AccessRole string
				Primary                                  bool
			}
			NextPageToken string
		}
		if err := get(&page); err != nil {
			return "", false, err
		}
		for _, c := range page.Items {
			if c.Primary {
				first = len(list)
			}
			list = append(list, Calendar{c.ID, text.Line(cmp.Or(c.SummaryOverride, c.Summary, c.ID), 80), c.AccessRole == "owner" || c.AccessRole == "writer"})
		}
		return page.NextPageToken, len(list) < maxCalendars, nil
	})
	if first < len(list) {
		list[0], list[first] = list[first], list[0]
	}
	return list[:min(len(list), maxCalendars)], err
}

// pages calls one for each page of a list, until there are no more or it has enough. A list that Google has forgotten half-way (410) is read once more
// from its beginning; one must then not add what it has already.
func (a Agenda) pages(ctx context.Context, path string, q url.Values, scope string, one func(get func(any) error) (next string, more bool, err error)) error {
	again := false
	for range maxPages {
		next, more, err := one(func(out any) error { return a.c.get(ctx, calendarAPI(), path, q, scope, out) })
		switch {
		case status(err) == http.StatusGone && !again && q.Has("pageToken"):
			again = true
			q.Del("pageToken")
			continue
		case err != nil:
			return err
		case next == "" || !more:
			return nil
		}
		q.Set("pageToken", next)
	}
	return nil
}

// Events returns what happens in a span. A calendar that cannot be read becomes a note if another can.
func (a Agenda) Events(ctx context.Context, span calendar.Span) (calendar.Found, error) {
	list := slices.DeleteFunc(slices.Clone(a.s.Calendars), func(c Calendar) bool { return !named(c, span.Calendar) })
	if len(list) == 0 {
		return calendar.Found{}, a.unknown(span.Calendar)
	}
	return calendar.Gather(ctx, "calendar", list, func(c Calendar) string { return c.Name }, func(c Calendar, found *calendar.Found) error {
		return a.events(ctx, c, span, found)
	})
}

func named(c Calendar, part string) bool {
	return strings.Contains(strings.ToLower(c.Name), strings.ToLower(part))
}

// unknown is the error for a calendar that is not there.
func (a Agenda) unknown(part string) error {
	if len(a.s.Calendars) == 0 { // a sign-in reads them
		return incomplete()
	}
	var names []string
	for _, c := range a.s.Calendars {
		names = append(names, c.Name)
	}
	return tools.Refuse(tools.NotFound, text.ThereAre(names, len(names))+" (hob account test google reads the list again)", "there is no calendar %q", text.Shorten(part, 60))
}

// events reads one calendar, recurring events expanded by Google.
func (a Agenda) events(ctx context.Context, c Calendar, span calendar.Span, found *calendar.Found) error {
	// Google judges all-day events in the calendar's own zone, so a day more is asked for at both ends.
	q := url.Values{
		"singleEvents": {"true"}, "orderBy": {"startTime"}, "maxResults": {"250"},
		"timeMin": {span.From.AddDate(0, 0, -1).Format(time.RFC3339)}, "timeMax": {span.To.AddDate(0, 0, 1).Format(time.RFC3339)},
	}
	seen := map[string]bool{}
	bad, left := 0, false
	err := a.pages(ctx, "/calendars/"+url.PathEscape(c.ID)+"/events", q, scopeEvents, func(get func(any) error) (string, bool, error) {
		var page struct {
			Items         []entry
			NextPageToken string
		}
		if err := get(&page); err != nil {
			return "", false, err
		}
		for _, e := range page.Items {
			if seen[e.ID] || e.Status == "cancelled" {
				continue
			}
			seen[e.ID] = true
			ev, err := a.event(e, c, span.From.Location())
			switch {
			case err != nil:
				bad++
			case ev.Start.Before(span.To) && (ev.End.After(span.From) || !ev.Start.Before(span.From)):
				found.Events = append(found.Events, ev)
			}
		}
		left = page.NextPageToken != "" && len(seen) >= maxEvents
		return page.NextPageToken, !left, nil
	})
	if bad > 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("%d events of %s cannot be read", bad, c.Name))
	}
	if left {
		found.Notes = append(found.Notes, c.Name+" has more events than hob reads at once; ask for a shorter span")
	}
	return err
}

// event converts an event.
func (a Agenda) event(e entry, c Calendar, loc *time.Location) (ev calendar.Event, err error) {
	ev = calendar.Event{
		ID: Name + ":" + url.PathEscape(c.ID) + "/" + url.PathEscape(e.ID), Account: Name, Calendar: c.Name, Title: e.Summary, Location: e.Location, Description: e.Description,
		Recurs: e.RecurringEventID != "", AllDay: e.Start.Date != "",
	}
	if ev.Start, err = e.Start.time(loc); err != nil {
		return ev, err
	}
	if ev.End, err = e.End.time(loc); err != nil {
		ev.End = ev.Start
	}
	if ev.AllDay && !ev.End.After(ev.Start) {
		ev.End = ev.Start.AddDate(0, 0, 1)
	}
	if e.Status == "tentative" {
		ev.Status = e.Status
	}
	if z := e.Start.TimeZone; !ev.AllDay && z != "" && z != loc.String() {
		ev.Zone = z
	}
	if e.Organizer != nil {
		ev.Organizer = e.Organizer.line()
	}
	for _, p := range e.Attendees {
		ev.Attendees = append(ev.Attendees, p.line())
	}
	return ev, nil
}

// time returns a time in the owner's zone. An all-day event is the same day everywhere.
func (w when) time(loc *time.Location) (time.Time, error) {
	if w.Date != "" {
		return time.ParseInLocation(time.DateOnly, w.Date, loc)
	}
	t, err := time.Parse(time.RFC3339, w.DateTime)
	return t.In(loc), err
}

func (p person) line() string {
	out := p.Email
	if p.DisplayName != "" {
		out = p.DisplayName + " <" + p.Email + ">"
	}
	if p.ResponseStatus != "" && p.ResponseStatus != "needsAction" {
		out += " (" + p.ResponseStatus + ")"
	}
	return out
}

// Event reads one event. The calendar must be one of the account: the id comes from the model.
func (a Agenda) Event(ctx context.Context, id string, loc *time.Location) (calendar.Event, error) {
	rest, ok := strings.CutPrefix(id, Name+":")
	cal, key, both := strings.Cut(rest, "/")
	calID, err1 := url.PathUnescape(cal)
	eventID, err2 := url.PathUnescape(key)
	at := slices.IndexFunc(a.s.Calendars, func(c Calendar) bool { return c.ID == calID })
	if !ok || !both || err1 != nil || err2 != nil || at < 0 || eventID == "" {
		return calendar.Event{}, tools.Refuse(tools.NotFound, "take an id from calendar_list_events", "no calendar has the event %s", text.Shorten(id, 100))
	}
	var e entry
	if err := a.c.get(ctx, calendarAPI(), eventPath(calID, eventID), nil, scopeEvents, &e); err != nil {
		return calendar.Event{}, err
	}
	if e.Status == "cancelled" { // Google keeps deleted events
		return calendar.Event{}, tools.Refuse(tools.NotFound, "list the events of that day again", "the event is deleted")
	}
	ev, err := a.event(e, a.s.Calendars[at], loc)
	if err != nil {
		return ev, tools.Refuse(tools.IO, "look at it at Google", "the event has no time that can be read")
	}
	return ev, nil
}

func eventPath(cal, id string) string {
	return "/calendars/" + url.PathEscape(cal) + "/events/" + url.PathEscape(id)
}

// target is the calendar that gets a new event.
func (a Agenda) target(part string) (Calendar, error) {
	if a.s.Calendar != Write {
		return Calendar{}, withoutAccess("--calendar write", "only read its calendars")
	}
	for _, c := range a.s.Calendars {
		switch {
		case !named(c, part):
		case c.Write:
			return c, nil
		case part != "":
			return c, tools.Refuse(tools.Denied, "choose another calendar", "the account may only read the calendar %s", c.Name)
		}
	}
	return Calendar{}, a.unknown(part)
}

// Plan says what would become of a draft.
func (a Agenda) Plan(_ context.Context, d calendar.Draft) (calendar.Plan, error) {
	c, err := a.target(d.Calendar)
	return calendar.Plan{Account: Name, Calendar: c.Name, Host: "Google", Invites: len(d.Attendees) > 0}, err
}

// Create makes an event under an id of its own, which Google takes once (409), so a repeated call finds the first.
func (a Agenda) Create(ctx context.Context, d calendar.Draft) (calendar.Event, error) {
	c, err := a.target(d.Calendar)
	if err != nil {
		return calendar.Event{}, err
	}
	e := entry{ID: "hob" + d.Key, Summary: d.Title, Location: d.Location, Description: d.Description} // letters of base32hex, as the interface wants
	e.Start, e.End = whenOf(d.Start, d.AllDay), whenOf(d.End, d.AllDay)
	for _, to := range d.Attendees {
		e.Attendees = append(e.Attendees, person{Email: to})
	}
	q := url.Values{"sendUpdates": {"none"}}
	if len(d.Attendees) > 0 {
		q.Set("sendUpdates", "all") // the owner has said yes to the question about them
	}
	id := Name + ":" + url.PathEscape(c.ID) + "/" + e.ID
	var made entry
	err = a.c.call(ctx, http.MethodPost, calendarAPI(), "/calendars/"+url.PathEscape(c.ID)+"/events", q, e, scopeWrite, &made)
	switch s := status(err); {
	case err == nil:
		return a.event(made, c, d.Start.Location())
	case s == http.StatusConflict:
		return a.Event(ctx, id, d.Start.Location())
	case s >= 400 && s < 500:
		return calendar.Event{}, err
	}
	// The answer is lost, or worthless: only the calendar knows, also if hob is being stopped.
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	ev, lost := a.Event(look, id, d.Start.Location())
	if lost == nil {
		return ev, nil
	}
	return ev, tools.Refuse(tools.OutcomeUnknown, "look into the calendar before you try again", "it is not known whether the event was created: %s", tools.Sentence(err))
}

// lookAgain is how long hob looks for an effect whose answer was lost.
const lookAgain = 10 * time.Second

// whenOf writes a time. A time has its zone beside it, so that Google shows it in that.
func whenOf(t time.Time, day bool) when {
	if day {
		return when{Date: t.Format(time.DateOnly)}
	}
	w := when{DateTime: t.Format(time.RFC3339)}
	if name := t.Location().String(); name != "Local" {
		w.TimeZone = name
	}
	return w
}
