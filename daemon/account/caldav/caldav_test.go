package caldav_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/account/caldav"
	"hob/daemon/account/caldavtest"
	"hob/tools"
	"hob/tools/calendar"
)

func titles(list []calendar.Event) (out []string) {
	for _, e := range list {
		out = append(out, e.Start.Format("02 15:04 ")+e.Title)
	}
	slices.Sort(out)
	return out
}

// A question to a real server: events of several programs in the owner's zone, on the day of the change.
func TestRadicaleEvents(t *testing.T) {
	t.Parallel()
	url := withCalendar(t, "standup.ics", "outlook.ics", "newyork.ics", "days.ics", "trip.ics", "apple.ics")
	a, berlin := connect(t, url), zone(t, "Europe/Berlin")
	found, err := a.Events(t.Context(), calendar.Span{From: day(t, "2026-03-29", berlin), To: day(t, "2026-04-02", berlin)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"01 09:00 Stand-up", "01 16:00 Call with New York", "28 00:00 Trip", "29 00:00 Grandma's birthday", "29 09:00 Stand-up", "29 16:00 Swimming", "30 08:15 Swimming before work", "30 15:00 Stand-up, moved", "31 14:00 Budget", "31 16:00 Swimming"}
	if got := titles(found.Events); !slices.Equal(got, want) || len(found.Notes) > 0 {
		t.Errorf("got %q\nwant %q, notes %q", got, want, found.Notes)
	}
	for _, e := range found.Events {
		one, err := a.Event(t.Context(), e.ID, berlin)
		if err != nil || !one.Start.Equal(e.Start) || one.Title != e.Title || one.Calendar != "Home" {
			t.Errorf("%s: %+v, %v", e.ID, one, err)
		}
	}
	if _, err := a.Events(t.Context(), calendar.Span{From: day(t, "2026-03-29", berlin), To: day(t, "2026-04-02", berlin), Calendar: "work"}); !refused(err, tools.NotFound, "no calendar") {
		t.Error(err)
	}
}

// refused reports whether an error has a code and a text, and a hint.
func refused(err error, code tools.Code, part string) bool {
	c, text, hint, ok := tools.Refusal(err)
	return ok && c == code && strings.Contains(text, part) && hint != ""
}

func draft(key string) calendar.Draft {
	return calendar.Draft{Key: key, Title: "Dentist, at last; \\o/", Start: time.Date(2026, 3, 30, 7, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 30, 8, 0, 0, 0, time.UTC), Description: "a\nb", Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

// A draft makes one event, however often it is sent, and it reads back as it was written.
func TestRadicaleCreate(t *testing.T) {
	t.Parallel()
	a := connect(t, withCalendar(t))
	d := draft("k1")
	for range 3 {
		e, err := a.Create(t.Context(), d)
		if err != nil || e.Title != d.Title || !e.Start.Equal(d.Start) || !e.End.Equal(d.End) || e.Description != d.Description {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	days := calendar.Draft{Key: "k2", Title: "Off", AllDay: true, Start: day(t, "2026-03-29", zone(t, "Europe/Berlin")), End: day(t, "2026-03-31", zone(t, "Europe/Berlin")), Now: d.Now}
	if e, err := a.Create(t.Context(), days); err != nil || !e.AllDay || !e.Start.Equal(days.Start) || !e.End.Equal(days.End) {
		t.Errorf("%+v, %v", e, err)
	}
	found, err := a.Events(t.Context(), calendar.Span{From: d.Start.AddDate(0, 0, -1), To: d.Start.AddDate(0, 0, 1)})
	if err != nil || len(found.Events) != 2 {
		t.Errorf("%d events, %v", len(found.Events), err)
	}
	if _, err := a.Create(t.Context(), calendar.Draft{Key: "k3", Calendar: "work"}); !refused(err, tools.NotFound, "no calendar") {
		t.Error(err)
	}
}

// Signing in finds the calendars from the address of the server, and says what is wrong.
func TestRadicaleConnect(t *testing.T) {
	t.Parallel()
	url := withCalendar(t)
	for _, from := range []string{url, url + "/", url + "/anna/", url + "/anna/home/", url + "/.well-known/caldav"} {
		s, err := caldav.Connect(t.Context(), plainWeb, from, caldavtest.User, caldavtest.Password)
		if err != nil || len(s.Calendars) != 1 || s.Calendars[0].Name != "Home" || !s.Calendars[0].Write || s.Calendars[0].URL != url+"/anna/home/" {
			t.Errorf("%s: %+v, %v", from, s.Calendars, err)
		}
	}
	if _, err := caldav.Connect(t.Context(), plainWeb, url, "anna", "coffee"); !refused(err, tools.Denied, "does not accept the user name or the password") {
		t.Error(err)
	}
}

// fake is a server that answers with a status, for what a real one does not do.
func fake(t *testing.T, answer http.HandlerFunc) (*caldav.Account, string) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	a, err := caldav.Open("caldav", plainWeb, caldav.Settings{URL: s.URL, User: "anna", Password: "tea", Mail: "anna@example.org", Calendars: []caldav.Calendar{{URL: s.URL + "/anna/home/", Name: "Home", Write: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return a, s.URL
}

// Each answer without success has its sentence, with a hint.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		code tools.Code
		part string
		hint string
	}{
		401: {tools.Denied, "does not accept the user name", "app password"}, 403: {tools.Denied, "does not allow", "permissions"}, 404: {tools.NotFound, "(404)", "hob account test"},
		410: {tools.NotFound, "gone for good", "hob account test"}, 412: {tools.Conflict, "changed it", "again"}, 429: {tools.RateLimited, "refuses more requests", "try again after 17"},
		500: {tools.IO, "could not", "later"}, 503: {tools.IO, "could not", "try again after 17"}, 507: {tools.IO, "no more room", "room"}, 200: {tools.IO, "no CalDAV server", "help pages"}, 405: {tools.IO, "no CalDAV server", "help pages"}, 501: {tools.IO, "no CalDAV server", "help pages"},
	} {
		a, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>sign in</html>")
		})
		_, err := a.Events(t.Context(), calendar.Span{From: time.Unix(0, 0), To: time.Unix(86400, 0)})
		if _, _, hint, _ := tools.Refusal(err); !refused(err, want.code, want.part) || !strings.Contains(hint, want.hint) {
			t.Errorf("%d: %v", status, err)
		}
	}
	a, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Digest realm="x"`)
		w.WriteHeader(401)
	})
	if _, err := a.Events(t.Context(), calendar.Span{}); !refused(err, tools.Denied, "another kind than Basic") {
		t.Error(err)
	}
}

// What keeps a server from answering has its sentence too.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // no client trusts it
	trusting := func(string) (http.RoundTripper, error) { return secure.Client().Transport, nil }
	noHost := func(string) (http.RoundTripper, error) {
		return roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &net.DNSError{Name: "dav.example.org", IsNotFound: true}
		}), nil
	}
	for name, tc := range map[string]struct {
		url, part string
		web       caldav.Web
	}{
		"a certificate of nobody": {secure.URL, "SSL_CERT_FILE", plainWeb}, "a certificate of another name": {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), "use the name that it is for", trusting},
		"not TLS":      {strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS", plainWeb},
		"nobody there": {gone.URL, "cannot be reached", plainWeb}, "no such host": {"https://dav.example.org", "there is no host", noHost},
		"in the clear": {"http://dav.example.org", "unencrypted", plainWeb}, "not an address": {"https://", "url", plainWeb}, "another scheme": {"ftp://dav.example.org", "url", plainWeb},
	} {
		if _, err := caldav.Connect(t.Context(), tc.web, tc.url, "anna", "tea"); err == nil || !strings.Contains(err.Error(), tc.part) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := caldav.Connect(ctx, plainWeb, plain.URL, "anna", "tea"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The address to begin with comes from the owner, or from DNS if that names a server of the same domain.
func TestStart(t *testing.T) {
	t.Parallel()
	srv := func(target string, err error) func(context.Context, string, string, string) (string, []*net.SRV, error) {
		return func(context.Context, string, string, string) (string, []*net.SRV, error) {
			return "", []*net.SRV{{Target: target, Port: 8443}}, err
		}
	}
	for name, tc := range map[string]struct {
		given, target string
		err           error
		want          string
	}{
		"an address":               {"https://dav.example.org/x", "", nil, "https://dav.example.org/x"},
		"a mail address":           {"anna@example.org", "dav.example.org.", nil, "https://dav.example.org:8443/.well-known/caldav"},
		"a domain without records": {"example.org", "", errors.New("none"), "https://example.org/.well-known/caldav"},
		"a host with a path":       {"example.org/dav", "", nil, "https://example.org/dav"},
		"a server of others":       {"example.org", "evil.example.com.", nil, ""},
		"a name that only ends so": {"example.org", "evilexample.org.", nil, ""},
		"in the clear":             {"http://example.org/", "", nil, ""},
		"at home":                  {"http://192.168.1.5/dav", "", nil, "http://192.168.1.5/dav"},
	} {
		if got, err := caldav.Start(t.Context(), tc.given, srv(tc.target, tc.err)); got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The password goes to no address without encryption and to no other host of http, whatever a server says.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	for name, to := range map[string]string{"another host": other.URL, "itself": "/again", "rubbish": "http://[::1", "a file": "file:///etc/passwd"} {
		a, _ := fake(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		if _, err := a.Events(t.Context(), calendar.Span{}); err == nil || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = fmt.Fprintf(w, `<multistatus xmlns="DAV:"><response><href>%s/x.ics</href><propstat><prop><calendar-data xmlns="urn:ietf:params:xml:ns:caldav">%s</calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`, other.URL, event("DTSTART:19700101T100000Z"))
	})
	found, err := a.Events(t.Context(), calendar.Span{From: time.Unix(0, 0).UTC(), To: time.Unix(86400, 0).UTC()})
	if err != nil || len(found.Events) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	_, _ = a.Event(t.Context(), found.Events[0].ID, time.UTC) // whatever it finds, not there
	if asked.Load() > 0 {
		t.Error("another host was asked")
	}
}

// An id of the model leads only to events of the account's calendars.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	a, url := fake(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, id := range []string{"", "caldav:", "caldav:/", "caldav:/anna/", "caldav:/anna/home/", "caldav:/anna/home/../x.ics", "caldav:/bob/home/x.ics", "caldav:" + url + "/anna/home/x.ics", "caldav://evil/anna/home/x.ics", "google:/anna/home/x.ics", "caldav:/anna/home/x/y.ics", "caldav:/anna/home/%2e%2e%2fx.ics", "caldav:/anna/home/x.ics?export", "caldav:%"} {
		if _, err := a.Event(t.Context(), id, time.UTC); !refused(err, tools.NotFound, "no calendar has the event") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if asked.Load() > 0 {
		t.Errorf("%d requests went out", asked.Load())
	}
}

// An event that cannot be read is left out with a note; the others are there. A calendar that fails is a note as well.
func TestPartlyBroken(t *testing.T) {
	t.Parallel()
	a, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = io.WriteString(w, `<multistatus xmlns="DAV:">`)
		for n, data := range []string{event("DTSTART:19700101T100000Z"), "BEGIN:VCALENDAR", "<![CDATA[<b>]]>", event("DTSTART:x")} {
			_, _ = fmt.Fprintf(w, `<response><href>/anna/home/%d.ics</href><propstat><prop><calendar-data xmlns="urn:ietf:params:xml:ns:caldav">%s</calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response>`, n, data)
		}
		_, _ = io.WriteString(w, `<response><href>/anna/home/gone.ics</href><status>HTTP/1.1 404 Not Found</status></response></multistatus>`)
	})
	found, err := a.Events(t.Context(), calendar.Span{From: time.Unix(0, 0).UTC(), To: time.Unix(86400, 0).UTC()})
	if err != nil || len(found.Events) != 1 || !strings.Contains(strings.Join(found.Notes, "\n"), "2 events of Home cannot be read") || len(found.Notes) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// After an answer that is lost, the calendar itself says whether the event was made. If it does not have it, or cannot be asked, the outcome is unknown.
// Only a request that never went out, or a server that says no twice, is certain.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stored bool // by the PUT
		fails  bool // the PUT has an answer, 500
		down   bool // afterwards
		code   tools.Code
	}{
		"it was made": {stored: true}, "it is not there": {code: tools.OutcomeUnknown}, "nobody can say": {stored: true, down: true, code: tools.OutcomeUnknown},
		"an error, and it was made": {stored: true, fails: true}, "an error, and it is not there": {fails: true, code: tools.IO}, "only errors": {fails: true, down: true, code: tools.OutcomeUnknown},
	} {
		var doc atomic.Pointer[string]
		a, _ := fake(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut:
				if r.Header.Get("If-None-Match") != "*" {
					t.Errorf("If-None-Match: %q", r.Header.Get("If-None-Match"))
				}
				body, _ := io.ReadAll(r.Body)
				if text := string(body); tc.stored {
					doc.Store(&text)
				}
				if tc.fails {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				panic(http.ErrAbortHandler)
			case tc.down:
				w.WriteHeader(http.StatusBadGateway)
			case doc.Load() == nil:
				w.WriteHeader(http.StatusNotFound)
			default:
				_, _ = io.WriteString(w, *doc.Load())
			}
		})
		e, err := a.Create(t.Context(), draft("k"))
		code, _, _, _ := tools.Refusal(err)
		if code != tc.code || (err == nil) != (tc.code == "") || err == nil && e.Title != draft("k").Title {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	a, err := caldav.Open("caldav", plainWeb, caldav.Settings{URL: gone.URL, Calendars: []caldav.Calendar{{URL: gone.URL + "/", Write: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Create(t.Context(), draft("k")); !refused(err, tools.IO, "cannot be reached") {
		t.Errorf("nobody there: %v", err)
	}
}

// The file of an invitation names the organizer and everybody who is invited, and no text of a title can add a line to it.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := draft("k")
	d.Title, d.Attendees = "x\r\nATTENDEE:mailto:evil@example.org", []string{"bob@example.org"}
	doc, err := caldav.Document("anna@example.org", d)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ORGANIZER:mailto:anna@example.org\r\n", "mailto:bob@example.org\r\n", "UID:hob-k\r\n", "DTSTART:20260330T070000Z\r\n"} {
		if !strings.Contains(strings.ReplaceAll(doc, "\r\n ", ""), line) {
			t.Errorf("no %q in %s", line, doc)
		}
	}
	if strings.Contains(doc, "\nATTENDEE:mailto:evil") {
		t.Error(doc)
	}
}
