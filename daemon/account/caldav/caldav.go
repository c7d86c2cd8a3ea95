// Package caldav connects to calendars by CalDAV (RFC 4791): it finds the calendars of an account, reads events with their repetitions, and
// creates events.
//
// The flow of a question: a REPORT per calendar, the objects of the answer, their instances in the span. Everything in an answer may be
// hostile: sizes, rules and zones are bounded (expand.go), and an event that cannot be read is left out with a note instead of failing the
// question. The package changes and deletes nothing that exists.
package caldav

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/tools"
	"hob/tools/calendar"
)

// Settings are what hob stores about an account.
type Settings struct {
	URL       string     `json:"url"`
	User      string     `json:"user"`
	Password  string     `json:"password"`
	Calendars []Calendar `json:"calendars"`
	Mail      string     `json:"mail,omitempty"`    // the owner's address at the service
	Invites   bool       `json:"invites,omitempty"` // the server sends invitations (RFC 6638)
}

// Web returns the way to the servers of an account. named is the host that the owner has named, which may be in a private network.
type Web func(named string) (http.RoundTripper, error)

// Connect signs in, and finds what the account has.
func Connect(ctx context.Context, web Web, given, user, password string) (Settings, error) {
	from, err := start(ctx, given, net.DefaultResolver.LookupSRV)
	if err != nil {
		return Settings{}, err
	}
	c, err := clientFor(web, from, user, password)
	if err != nil {
		return Settings{}, err
	}
	s, err := c.discover(ctx, from)
	if err != nil {
		return s, err
	}
	s.URL, s.User, s.Password = from, user, password
	if s.Mail == "" && strings.Contains(user, "@") {
		s.Mail = user
	}
	return s, nil
}

func clientFor(web Web, link, user, password string) (client, error) {
	u, err := url.Parse(link)
	if err != nil {
		return client{}, err
	}
	trip, err := web(u.Hostname())
	return client{trip, user, password}, err
}

// Account answers questions about the calendars of an account.
type Account struct {
	name string
	s    Settings
	c    client
}

// Open makes an account of what is stored. It asks no server.
func Open(name string, web Web, s Settings) (*Account, error) {
	c, err := clientFor(web, s.URL, s.User, s.Password)
	return &Account{name, s, c}, err
}

// budget bounds the time that is spent on the rules of one answer.
const budget = 5 * time.Second

// Events returns what happens in a span. A calendar that cannot be read becomes a note if another can.
func (a *Account) Events(ctx context.Context, span calendar.Span) (calendar.Found, error) {
	list := slices.DeleteFunc(slices.Clone(a.s.Calendars), func(c Calendar) bool { return !named(c, span.Calendar) })
	if len(list) == 0 {
		return calendar.Found{}, a.unknown(span.Calendar)
	}
	begun := time.Now()
	return calendar.Gather(ctx, "calendar", list, func(c Calendar) string { return c.Name }, func(c Calendar, found *calendar.Found) error {
		objects, err := a.objects(ctx, c, span)
		if err == nil {
			a.collect(found, c, objects, span, begun)
		}
		return err
	})
}

func named(c Calendar, part string) bool {
	return strings.Contains(strings.ToLower(c.Name), strings.ToLower(part))
}

// unknown is the error for a calendar that is not there.
func (a *Account) unknown(part string) error {
	var names []string
	for _, c := range a.s.Calendars {
		names = append(names, c.Name)
	}
	return tools.Refuse(tools.NotFound, text.ThereAre(names, len(names))+" (hob account test caldav reads the list again)", "there is no calendar %q", text.Shorten(part, 60))
}

// collect adds the instances of objects.
func (a *Account) collect(found *calendar.Found, cal Calendar, list []response, span calendar.Span, begun time.Time) {
	bad, late := 0, 0
	for _, r := range list {
		p, ok := r.found()
		if !ok || p.Data == "" {
			continue
		}
		if time.Since(begun) > budget || len(found.Events) >= maxInstances {
			late++
			continue
		}
		o, err := parse(p.Data, span.From.Location())
		if err != nil {
			bad++
			continue
		}
		instances, notes := o.expand(span.From, span.To)
		found.Notes = append(found.Notes, notes...)
		for _, i := range instances {
			e := i.event
			e.Account, e.Calendar = a.name, cal.Name
			e.ID = a.id(cal, r.Href, i.key)
			found.Events = append(found.Events, e)
		}
	}
	if bad > 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("%d events of %s cannot be read", bad, cal.Name))
	}
	if late > 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("%d events of %s are left out, because there are too many; ask for a shorter span", late, cal.Name))
	}
}

// id names an event: the account, the path at the server, and the key of an instance.
func (a *Account) id(cal Calendar, href, key string) string {
	link, err := resolve(cal.URL, href)
	if err != nil {
		link = cal.URL
	}
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	id := a.name + ":" + u.EscapedPath()
	if key != "" {
		id += "#" + key
	}
	return id
}

// objects asks a calendar for the events that may touch a span.
func (a *Account) objects(ctx context.Context, cal Calendar, span calendar.Span) ([]response, error) {
	// Servers judge all-day events in zones of their own, so a day more is asked for at both ends.
	from, to := span.From.Add(-24*time.Hour).UTC().Format(clockForm)+"Z", span.To.Add(24*time.Hour).UTC().Format(clockForm)+"Z"
	body := `<C:calendar-query` + namespaces + `><D:prop><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">` +
		`<C:time-range start="` + from + `" end="` + to + `"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`
	_, list, err := a.c.query(ctx, "REPORT", cal.URL, "1", body)
	return list, err
}

// Event reads one event.
func (a *Account) Event(ctx context.Context, id string, loc *time.Location) (calendar.Event, error) {
	rest, ok := strings.CutPrefix(id, a.name+":")
	at, key, _ := strings.Cut(rest, "#")
	cal, link := a.home(at)
	if !ok || link == "" {
		return calendar.Event{}, tools.Refuse(tools.NotFound, "take an id from calendar_list_events", "no calendar has the event %s", text.Shorten(id, 100))
	}
	got, err := a.c.send(ctx, http.MethodGet, link, http.Header{"Accept": {"text/calendar"}}, "")
	if err != nil {
		return calendar.Event{}, err
	}
	if got.status != http.StatusOK {
		return calendar.Event{}, got.wrong("read this event")
	}
	o, err := parse(string(got.body), loc)
	if err != nil {
		return calendar.Event{}, tools.Refuse(tools.IO, "look at it in another program", "the event cannot be read: %v", err)
	}
	e, ok := o.find(key)
	if !ok {
		return e, tools.Refuse(tools.NotFound, "list the events of that day again", "the event has no instance %s any more", text.Shorten(key, 40))
	}
	e.ID, e.Account, e.Calendar = id, a.name, cal.Name
	return e, nil
}

// home finds the calendar that an event's path is in. A path outside the account's calendars has none: the id comes from the model.
func (a *Account) home(at string) (Calendar, string) {
	for _, cal := range a.s.Calendars {
		u, err := url.Parse(cal.URL)
		if err != nil {
			continue
		}
		ref, err := url.Parse(at)
		if err != nil || ref.Host != "" || ref.Scheme != "" || ref.RawQuery != "" || path.Clean(ref.Path) != ref.Path {
			return cal, ""
		}
		if name, ok := strings.CutPrefix(ref.Path, u.Path); ok && name != "" && !strings.Contains(name, "/") {
			u.Path, u.RawPath = ref.Path, ref.RawPath
			return cal, u.String()
		}
	}
	return Calendar{}, ""
}

// target is the calendar that gets a new event.
func (a *Account) target(part string) (Calendar, error) {
	for _, cal := range a.s.Calendars {
		if !named(cal, part) {
			continue
		}
		if !cal.Write && part != "" {
			return cal, tools.Refuse(tools.Denied, "choose another calendar", "the account may only read the calendar %s", cal.Name)
		}
		if cal.Write {
			return cal, nil
		}
	}
	if part == "" {
		return Calendar{}, tools.Refuse(tools.Denied, "make a calendar of your own with the service", "the account may only read its calendars")
	}
	return Calendar{}, a.unknown(part)
}

// Plan says what would become of a draft.
func (a *Account) Plan(_ context.Context, d calendar.Draft) (calendar.Plan, error) {
	cal, err := a.target(d.Calendar)
	if err != nil {
		return calendar.Plan{}, err
	}
	if len(d.Attendees) > 0 && a.s.Mail == "" {
		return calendar.Plan{}, tools.Refuse(tools.ConfigError, "leave the attendees out, or set the account up with a mail address as its user", "nobody can be invited, because the server does not tell your mail address")
	}
	return calendar.Plan{Account: a.name, Calendar: cal.Name, Host: host(cal.URL), Invites: a.s.Invites && len(d.Attendees) > 0}, nil
}

// Create makes an event under a name of its own. The server refuses a second one (If-None-Match), so a repeated call finds the first.
func (a *Account) Create(ctx context.Context, d calendar.Draft) (calendar.Event, error) {
	cal, err := a.target(d.Calendar)
	if err != nil {
		return calendar.Event{}, err
	}
	doc, err := a.document(d)
	if err != nil {
		return calendar.Event{}, fmt.Errorf("write the event: %w", err)
	}
	link := cal.URL + "hob-" + d.Key + ".ics"
	u, err := url.Parse(link)
	if err != nil {
		return calendar.Event{}, err
	}
	id := a.name + ":" + u.EscapedPath()
	got, err := a.c.send(ctx, http.MethodPut, link, http.Header{"Content-Type": {"text/calendar; charset=utf-8"}, "If-None-Match": {"*"}}, doc)
	switch {
	case err == nil && (got.status/100 == 2 || got.status == http.StatusPreconditionFailed):
	case err == nil && got.status < 500:
		return calendar.Event{}, got.wrong("create an event in " + cal.Name)
	case err != nil && !got.sent:
		return calendar.Event{}, err
	default: // the answer is lost, or worthless: only the calendar knows
		return a.doubtful(ctx, id, d, got, err)
	}
	e, err := a.Event(ctx, id, d.Start.Location())
	if err != nil && got.status/100 == 2 {
		// It was made; some servers store it under another name, where it cannot be read again by this one.
		return calendar.Event{ID: id, Account: a.name, Calendar: cal.Name, Title: d.Title, Start: d.Start, End: d.End, AllDay: d.AllDay, Location: d.Location, Description: d.Description, Attendees: d.Attendees}, nil
	}
	return e, err
}

// lookAgain is how long hob looks for an event whose answer was lost, also when it is stopped meanwhile.
const lookAgain = 5 * time.Second

// doubtful looks whether an event was made after all. Without an answer, an event that is not there may still come: the server may be at work.
func (a *Account) doubtful(ctx context.Context, id string, d calendar.Draft, got answer, cause error) (calendar.Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	e, err := a.Event(ctx, id, d.Start.Location())
	if err == nil {
		return e, nil
	}
	if cause == nil {
		cause = got.wrong("create the event")
		if code, _, _, _ := tools.Refusal(err); code == tools.NotFound {
			return e, cause // it answered twice that there is no event
		}
	}
	return e, tools.Refuse(tools.OutcomeUnknown, "look into the calendar before you try again", "it is not known whether the event was created: %s", tools.Sentence(cause))
}
