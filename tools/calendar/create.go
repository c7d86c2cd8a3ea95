package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// CreateInput is the input of calendar_create_event.
type CreateInput struct {
	Title       string   `json:"title" jsonschema:"title" min:"1" max:"500"`
	Start       string   `json:"start" jsonschema:"2026-03-29T14:00 in the owner's zone, or a date for an all-day event"`
	End         string   `json:"end,omitempty" jsonschema:"the same; of all-day events the last day; default one hour, or one day"`
	Zone        string   `json:"zone,omitempty" jsonschema:"IANA zone of start and end; default the owner's"`
	Calendar    string   `json:"calendar,omitempty" jsonschema:"part of the name of a calendar; default the first"`
	Account     string   `json:"account,omitempty" jsonschema:"name of an account; default the first"`
	Location    string   `json:"location,omitempty" jsonschema:"where" max:"500"`
	Description string   `json:"description,omitempty" jsonschema:"text" max:"8000"`
	Attendees   []string `json:"attendees,omitempty" jsonschema:"mail addresses to invite; the owner is asked first" max:"50"`
}

// CreateOutput is the output of calendar_create_event.
type CreateOutput struct {
	Event   Item     `json:"event" jsonschema:"what was created"`
	Zone    string   `json:"zone" jsonschema:"the owner's zone"`
	Invited []string `json:"invited,omitempty" jsonschema:"who gets an invitation"`
}

// NewCreate builds the tool calendar_create_event. Its calls may be repeated: the key of the call becomes the event's UID, and a server
// accepts only one event per UID.
func NewCreate(c Calendars) tools.Tool {
	m := maker{c}
	return withAccount(tools.New[CreateInput, CreateOutput](tools.Spec{
		Name: "calendar_create_event", Group: Group, Example: "--title 'Dentist' --start 2026-03-30T09:00",
		Description: "Create an event in the owner's calendar. Tell the owner the weekday, date, time and zone of the result.",
	}, m.intent, m.run), c)
}

// maker implements calendar_create_event.
type maker struct{ calendars Calendars }

// planned holds what an approval covers.
type planned struct {
	Tool string `json:"tool"`
	Plan
	When        string   `json:"when"`
	Title       string   `json:"title"`
	Location    string   `json:"location,omitempty"`
	Description string   `json:"description,omitempty"`
	Attendees   []string `json:"attendees,omitempty"`
}

// intent shows the time as it will be in the calendar. For an event with attendees the owner is always asked, because other people get
// mail.
func (m maker) intent(ctx context.Context, call tools.Call, in CreateInput) (tools.Intent, error) {
	d, err := in.draft(call)
	if err != nil {
		return tools.Intent{}, err
	}
	if len(accounts(m.calendars)) == 0 {
		return tools.Intent{}, tools.Refuse(tools.ConfigError, "hob account add caldav", "there is no calendar")
	}
	plan, err := m.calendars.Plan(ctx, d)
	if err != nil {
		return tools.Intent{}, err
	}
	when := Event{Start: d.Start, End: d.End, AllDay: d.AllDay}.when()
	raw, err := tools.Canonical(planned{"calendar_create_event", plan, when + " (" + d.Start.Location().String() + ")", d.Title, d.Location, d.Description, d.Attendees})
	i := tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.AccountWrite}, Accounts: []string{plan.Account}, Canonical: raw, Keep: d,
		Summary: fmt.Sprintf("create the event %q, %s, in the calendar %s", text.Shorten(d.Title, 100), when, plan.Calendar),
	}
	if len(d.Attendees) > 0 {
		people := strings.Join(d.Attendees, ", ")
		i.Summary += "; with " + text.Shorten(people, 200)
		i.Confirm = "it names other people: " + people
		if plan.Invites {
			i.Confirm = plan.Host + " sends invitations to " + people
		}
	}
	return i, err
}

// draft checks the input.
func (in CreateInput) draft(call tools.Call) (Draft, error) {
	owner := place(call.Zone)
	loc := owner
	if in.Zone != "" && in.Zone != "Local" {
		var err error
		if loc, err = time.LoadLocation(in.Zone); err != nil {
			return Draft{}, tools.Refuse(tools.Validation, "want a name like Europe/Berlin", "zone: there is no time zone %q", text.Shorten(in.Zone, 60))
		}
	}
	d := Draft{Calendar: in.Calendar, Account: in.Account, Title: netguard.OneLine(in.Title, 500), Location: netguard.OneLine(in.Location, 500), Description: strings.TrimSpace(in.Description), Now: call.Now}
	var err error
	if d.Start, d.AllDay, err = moment("start", in.Start, loc); err != nil {
		return d, err
	}
	if d.End, err = in.end(d, loc); err != nil {
		return d, err
	}
	if !d.AllDay { // a day is the same day everywhere
		d.Start, d.End = d.Start.In(owner), d.End.In(owner)
	}
	for _, a := range in.Attendees {
		one, err := mail.ParseAddress(a)
		if err != nil || strings.ContainsAny(one.Address, " \t\r\n\":;,<>") {
			return d, tools.Refuse(tools.Validation, "want anna@example.org", "attendees: %q is not a mail address", text.Shorten(a, 80))
		}
		if !slices.Contains(d.Attendees, one.Address) {
			d.Attendees = append(d.Attendees, one.Address)
		}
	}
	// The call's id is the same for each try. The arguments are part of the key, because a restored database may give an id again.
	sum := sha256.Sum256([]byte(call.ID + "\n" + call.Key + "\n" + string(call.Args)))
	d.Key = hex.EncodeToString(sum[:16])
	return d, nil
}

// end returns when the event ends.
func (in CreateInput) end(d Draft, loc *time.Location) (time.Time, error) {
	length := time.Hour
	if in.End == "" && d.AllDay {
		return d.Start.AddDate(0, 0, 1), nil
	}
	if in.End == "" {
		return d.Start.Add(length), nil
	}
	end, day, err := moment("end", in.End, loc)
	switch {
	case err != nil:
		return end, err
	case day != d.AllDay:
		return end, tools.Refuse(tools.Validation, "give both as dates, or both as times", "end: start and end are of two kinds")
	case day:
		end = end.AddDate(0, 0, 1) // it is the last day
	}
	if !end.After(d.Start) {
		return end, tools.Refuse(tools.Validation, "", "end: the event ends before it begins")
	}
	return end, nil
}

func (m maker) run(ctx context.Context, call tools.Call, in CreateInput, intent tools.Intent) (tools.Result, error) {
	d, err := in.draft(call)
	if err != nil {
		return tools.Result{}, err
	}
	plan, err := m.calendars.Plan(ctx, d)
	if err != nil {
		return tools.Result{}, err
	}
	e, err := m.calendars.Create(ctx, d)
	if err != nil {
		return tools.Result{}, err
	}
	out := CreateOutput{Event: e.item(true), Zone: cmp.Or(call.Zone, "UTC")}
	said := fmt.Sprintf("created in the calendar %s: %s, %s (%s)", out.Event.Calendar, out.Event.Title, out.Event.When, out.Zone)
	switch {
	case len(d.Attendees) == 0:
		said += "\nnobody is invited"
	case plan.Invites:
		out.Invited = d.Attendees
		said += "\n" + plan.Host + " sends invitations to " + strings.Join(d.Attendees, ", ")
	default:
		said += "\nnobody gets an invitation, because this server sends none; the event names " + strings.Join(d.Attendees, ", ")
	}
	return tools.Result{Content: said + "\nid: " + e.ID, Data: out}, nil
}
