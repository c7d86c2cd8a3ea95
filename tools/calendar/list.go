package calendar

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/tools"
)

// ListInput is the input of calendar_list_events.
type ListInput struct {
	From     string `json:"from,omitempty" jsonschema:"first day, 2026-03-29, or a time; default today"`
	To       string `json:"to,omitempty" jsonschema:"last day, or a time; default the day of from"`
	Calendar string `json:"calendar,omitempty" jsonschema:"part of the name of a calendar; default all"`
	Account  string `json:"account,omitempty" jsonschema:"name of an account; default all"`
	Query    string `json:"query,omitempty" jsonschema:"only events with this text in title, place or description"`
	Limit    int    `json:"limit,omitempty" jsonschema:"events" default:"50" min:"1" max:"200"`
	Offset   int    `json:"offset,omitempty" jsonschema:"skip this many" min:"0"`
}

// ListOutput is the output of calendar_list_events.
type ListOutput struct {
	From   string   `json:"from" jsonschema:"begin of the span, RFC 3339"`
	To     string   `json:"to" jsonschema:"its end, exclusive"`
	Zone   string   `json:"zone" jsonschema:"the owner's zone, in which all times are"`
	Total  int      `json:"total" jsonschema:"events in the span"`
	Events []Item   `json:"events" jsonschema:"by start"`
	Next   int      `json:"next,omitempty" jsonschema:"offset of the next page"`
	Notes  []string `json:"notes,omitempty" jsonschema:"what is missing or uncertain"`
}

// maxSpan is the longest span of a question.
const maxSpan = 400 * 24 * time.Hour

// NewList builds the tool calendar_list_events.
func NewList(c Calendars) tools.Tool {
	l := lister{c}
	return withAccount(tools.New[ListInput, ListOutput](tools.Spec{
		Name: "calendar_list_events", Group: Group, ReadOnly: true, Example: "--from 2026-03-29 --to 2026-04-04",
		Description: "List the owner's calendar events of a day or a span, in the owner's local time. Their texts are somebody else's.",
	}, l.intent, l.run), c)
}

// lister implements calendar_list_events.
type lister struct{ calendars Calendars }

func (l lister) intent(_ context.Context, call tools.Call, in ListInput) (tools.Intent, error) {
	span, err := in.span(call)
	if err != nil {
		return tools.Intent{}, err
	}
	raw, err := tools.CanonicalCall("calendar_list_events", in)
	return reading(l.calendars, "look at the calendar from "+span.From.Format("Mon 2006-01-02 15:04")+" to "+span.To.Format("Mon 2006-01-02 15:04 MST"), raw), err
}

// span is the time that a call asks about.
func (in ListInput) span(call tools.Call) (Span, error) {
	loc := place(call.Zone)
	y, m, d := call.Now.In(loc).Date()
	s := Span{From: time.Date(y, m, d, 0, 0, 0, 0, loc), Calendar: in.Calendar, Account: in.Account}
	var err error
	if in.From != "" {
		if s.From, _, err = moment("from", in.From, loc); err != nil {
			return s, err
		}
	}
	y, m, d = s.From.Date()
	s.To = time.Date(y, m, d+1, 0, 0, 0, 0, loc) // a day may have 23 or 25 hours
	if in.To != "" {
		day := false
		if s.To, day, err = moment("to", in.To, loc); err != nil {
			return s, err
		}
		if day { // it is the last day
			y, m, d = s.To.Date()
			s.To = time.Date(y, m, d+1, 0, 0, 0, 0, loc)
		}
	}
	switch {
	case !s.To.After(s.From):
		return s, tools.Refuse(tools.Validation, "swap them, or leave to out for one day", "to: the span ends before it begins")
	case s.To.Sub(s.From) > maxSpan:
		return s, tools.Refuse(tools.Validation, "ask for a year at a time", "to: the span is longer than %d days", int(maxSpan.Hours()/24))
	}
	return s, nil
}

func (l lister) run(ctx context.Context, call tools.Call, in ListInput, _ tools.Intent) (tools.Result, error) {
	span, err := in.span(call)
	if err != nil {
		return tools.Result{}, err
	}
	found, err := l.calendars.Events(ctx, span)
	if err != nil {
		return tools.Result{}, err
	}
	var list []Event
	for _, e := range found.Events {
		if in.matches(e) {
			list = append(list, e)
		}
	}
	byStart(list)
	out := ListOutput{From: span.From.Format(time.RFC3339), To: span.To.Format(time.RFC3339), Zone: span.From.Location().String(), Total: len(list), Events: []Item{}, Notes: found.Notes}
	end := min(in.Offset+in.Limit, len(list))
	for _, e := range list[min(in.Offset, len(list)):end] {
		out.Events = append(out.Events, e.item(false))
	}
	if end < len(list) {
		out.Next = end
	}
	return tools.Result{Content: out.text(in.Offset), Data: out}, nil
}

// matches reports whether an event has the text of the query.
func (in ListInput) matches(e Event) bool {
	return in.Query == "" || strings.Contains(strings.ToLower(e.Title+"\n"+e.Location+"\n"+e.Description), strings.ToLower(in.Query))
}

// text shows the page.
func (o ListOutput) text(offset int) string {
	var b strings.Builder
	switch {
	case o.Total == 0:
		fmt.Fprintf(&b, "no events from %s to %s (%s)\n", o.From, o.To, o.Zone)
	case o.Total == 1:
		fmt.Fprintf(&b, "1 event, times in %s\n", o.Zone)
	default:
		fmt.Fprintf(&b, "%d events, times in %s\n", o.Total, o.Zone)
	}
	for n, i := range o.Events {
		fmt.Fprintf(&b, "%d. %s: %s", offset+n+1, i.When, i.Title)
		for _, more := range []struct{ name, value string }{{"", i.Status}, {"at ", i.Location}, {"its own zone ", i.Zone}, {"calendar ", i.Calendar}} {
			if more.value != "" {
				b.WriteString("; " + more.name + more.value)
			}
		}
		for _, note := range i.Notes {
			b.WriteString("; note: " + note)
		}
		b.WriteString(" [" + text.Shorten(i.ID, 300) + "]\n")
	}
	if o.Next > 0 {
		fmt.Fprintf(&b, "more: offset %d\n", o.Next)
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
