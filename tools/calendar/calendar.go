// Package calendar holds the tools for the owner's calendars: calendar_list_events, calendar_get_event and calendar_create_event. Package
// daemon/account connects to the services that have the calendars.
//
// Times are shown in the owner's zone. Everything that a calendar returns is text of others, because anyone can send an invitation. No tool
// here changes or deletes an event that exists.
package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// Group is the group of these tools.
const Group = "calendar"

// Calendars are the owner's calendars at all services.
type Calendars interface {
	// Accounts returns the names of the accounts with calendars. It makes no request.
	Accounts() []string
	Calendar
}

// Calendar is the calendars of an account, or of several. Errors for the model are those of tools.Refuse. It is safe for concurrent use.
type Calendar interface {
	// Events returns what happens in a span, recurring events expanded.
	Events(ctx context.Context, span Span) (Found, error)
	// Event returns an event that Events has named.
	Event(ctx context.Context, id string, zone *time.Location) (Event, error)
	// Plan says where a new event would go, and what the service would do with it. It makes no request.
	Plan(ctx context.Context, d Draft) (Plan, error)
	// Create makes an event. With the same key, a draft makes only one event, even after a crash.
	Create(ctx context.Context, d Draft) (Event, error)
}

// Span is a question about the time from From until before To. Both are in the owner's zone, which all-day events follow.
type Span struct {
	From, To time.Time
	Calendar string // part of the name of a calendar; "": all
	Account  string // name of an account; "": all
}

// Found is the result of Events.
type Found struct {
	Events []Event  // by start
	Notes  []string // what is missing or uncertain, one sentence each
}

// Gather reads the events of several sources: of accounts, or of the calendars of one. A source that cannot be read becomes a note if another can;
// otherwise the error is that of the first. what and name say in the note which source it is.
func Gather[S any](ctx context.Context, what string, sources []S, name func(S) string, read func(S, *Found) error) (found Found, first error) {
	answered := false
	for _, s := range sources {
		err := read(s, &found)
		switch {
		case err == nil:
			answered = true
		case ctx.Err() != nil:
			return found, ctx.Err()
		default:
			first = cmp.Or(first, err)
			found.Notes = append(found.Notes, fmt.Sprintf("the %s %s could not be read: %s", what, name(s), tools.Sentence(err)))
		}
	}
	if answered {
		return found, nil
	}
	return found, first
}

// Event is an event, or one instance of a recurring event. Its texts are those of others.
type Event struct {
	ID, Account, Calendar string
	Title                 string
	Start, End            time.Time // in the owner's zone; all-day events begin and end at midnight
	AllDay                bool
	Zone                  string // the zone of the event; "": none, or the owner's
	Location, Description string
	Status                string // "", "tentative" or "cancelled"
	Recurs                bool
	Organizer             string
	Attendees             []string // "Anna <anna@example.org> (accepted)"
	Notes                 []string // what hob could not interpret with certainty
}

// Draft is an event to create.
type Draft struct {
	Key         string // the same for each try
	Calendar    string // part of the name of a calendar; "": the first
	Account     string // name of an account; "": the first that takes it
	Title       string
	Start, End  time.Time
	AllDay      bool
	Location    string
	Description string
	Attendees   []string // mail addresses
	Now         time.Time
}

// Plan is the effect that a draft would have.
type Plan struct {
	Account  string
	Calendar string // its name
	Host     string // the server that gets the event
	Invites  bool   // the service sends invitations to the attendees
}

// withAccount returns a tool that exists only with an account.
func withAccount(t tools.Tool, c Calendars) tools.Tool {
	return tools.Needing(t, "there is no calendar; add one with: hob account add caldav, or google", func() bool { return len(accounts(c)) > 0 })
}

func accounts(c Calendars) []string {
	if c == nil {
		return nil
	}
	return c.Accounts()
}

// reading is the intent of a call that reads.
func reading(c Calendars, summary string, canonical []byte) tools.Intent {
	names := accounts(c)
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.AccountRead}, Accounts: names, Foreign: "calendar: " + strings.Join(names, ", "), Summary: summary, Canonical: canonical,
	}
}

// The formats of times.
const (
	dayForm  = "2006-01-02"
	longDay  = "Monday, 2 January 2006"
	hourForm = "15:04"
)

// Limits of what is shown, in characters, and of attendees in a list.
const (
	maxTitle       = 200
	maxDescription = 8_000
	maxAttendees   = 50
)

// when formats the time of an event with its weekday and zone. A date is shown only once.
func (e Event) when() string {
	if e.AllDay {
		last := e.End.AddDate(0, 0, -1)
		if !last.After(e.Start) {
			return e.Start.Format(longDay) + ", all day"
		}
		return e.Start.Format(longDay) + " to " + last.Format(longDay) + ", all day"
	}
	end := e.End.Format(hourForm)
	if e.End.Format(dayForm) != e.Start.Format(dayForm) {
		end = e.End.Format(longDay + ", " + hourForm)
	}
	out := e.Start.Format(longDay+", "+hourForm) + " to " + end + " " + e.Start.Format("MST")
	if _, a := e.Start.Zone(); true {
		if _, b := e.End.Zone(); a != b {
			out += " (ends in " + e.End.Format("MST") + ")"
		}
	}
	return out
}

// place parses the zone of a call.
func place(zone string) *time.Location {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC // the daemon has checked the owner's zone
	}
	return loc
}

// moment parses a date ("2026-03-29") or a date with a time ("2026-03-29T14:00", with or without an offset) in the owner's zone.
func moment(field, s string, loc *time.Location) (t time.Time, day bool, err error) {
	s = strings.TrimSpace(s)
	if t, err := time.ParseInLocation(dayForm, s, loc); err == nil {
		return t, true, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.In(loc), false, nil
	}
	plain := strings.Replace(s, " ", "T", 1)
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		t, err := time.ParseInLocation(form, plain, loc)
		if err != nil {
			continue
		}
		if t.Format(form) != plain {
			return t, false, tools.Refuse(tools.Validation, "the clocks are put forward then; choose another time", "%s: there is no %s in %s", field, text.Shorten(s, 40), loc)
		}
		return t, false, nil
	}
	return t, false, tools.Refuse(tools.Validation, "want 2026-03-29 or 2026-03-29T14:00", "%s: %q is not a date or a time", field, text.Shorten(s, 40))
}

// Item is an event in a result.
type Item struct {
	ID          string   `json:"id" jsonschema:"for calendar_get_event"`
	Title       string   `json:"title" jsonschema:"title"`
	Start       string   `json:"start" jsonschema:"RFC 3339 in the owner's zone, or a date"`
	End         string   `json:"end" jsonschema:"the same; of all-day events the day after the last"`
	AllDay      bool     `json:"all_day,omitempty" jsonschema:"it has no times"`
	When        string   `json:"when" jsonschema:"for people"`
	Zone        string   `json:"zone,omitempty" jsonschema:"its own zone, if that is not the owner's"`
	Calendar    string   `json:"calendar" jsonschema:"name of the calendar"`
	Account     string   `json:"account" jsonschema:"name of the account"`
	Location    string   `json:"location,omitempty" jsonschema:"where"`
	Status      string   `json:"status,omitempty" jsonschema:"tentative or cancelled"`
	Recurs      bool     `json:"recurs,omitempty" jsonschema:"one instance of a recurring event"`
	Organizer   string   `json:"organizer,omitempty" jsonschema:"who invites"`
	Attendees   []string `json:"attendees,omitempty" jsonschema:"who is invited, with the answers"`
	Description string   `json:"description,omitempty" jsonschema:"text of the event"`
	Notes       []string `json:"notes,omitempty" jsonschema:"what could not be read as it was meant"`
}

// item converts an event for a result. The long fields are left out of lists.
func (e Event) item(whole bool) Item {
	form := time.RFC3339
	if e.AllDay {
		form = dayForm
	}
	i := Item{
		ID: e.ID, Title: cmp.Or(netguard.OneLine(e.Title, maxTitle), "(no title)"), Start: e.Start.Format(form), End: e.End.Format(form), AllDay: e.AllDay, When: e.when(), Zone: netguard.OneLine(e.Zone, 60),
		Calendar: netguard.OneLine(e.Calendar, 80), Account: e.Account, Location: netguard.OneLine(e.Location, maxTitle), Status: e.Status, Recurs: e.Recurs, Notes: e.Notes,
	}
	if whole {
		i.Organizer = netguard.OneLine(e.Organizer, maxTitle)
		for _, a := range e.Attendees[:min(len(e.Attendees), maxAttendees)] {
			i.Attendees = append(i.Attendees, netguard.OneLine(a, maxTitle))
		}
		if more := len(e.Attendees) - maxAttendees; more > 0 {
			i.Attendees = append(i.Attendees, fmt.Sprintf("and %d more", more))
		}
		i.Description, _ = netguard.Lines(e.Description, maxDescription)
	}
	return i
}

// lines shows an event.
func (i Item) lines() string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	add("title", i.Title)
	add("when", i.When)
	add("its own zone", i.Zone)
	add("status", i.Status)
	add("where", i.Location)
	add("calendar", i.Calendar)
	if i.Recurs {
		add("recurs", "yes; this is one instance")
	}
	add("organizer", i.Organizer)
	add("attendees", strings.Join(i.Attendees, "; "))
	for _, n := range i.Notes {
		add("note", n)
	}
	add("id", i.ID)
	add("description", i.Description)
	return strings.TrimRight(b.String(), "\n")
}

// byStart orders events.
func byStart(list []Event) {
	slices.SortStableFunc(list, func(a, b Event) int {
		return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID))
	})
}
