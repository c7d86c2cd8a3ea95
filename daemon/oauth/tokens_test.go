package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"
)

// Tokens are renewed before they end by hob's own clock, whatever the server says about their life.
func TestLifetime(t *testing.T) {
	for name, c := range map[string]struct {
		expires any
		after   time.Duration
		renewed bool
	}{
		"an hour, at once":        {expires: 3600, after: 58 * time.Minute},
		"an hour, near its end":   {expires: 3600, after: 59*time.Minute + time.Second, renewed: true},
		"ten seconds":             {expires: 10, after: 8 * time.Second},
		"ten seconds, at the end": {expires: 10, after: 10 * time.Second, renewed: true},
		"quoted":                  {expires: "3600", after: time.Hour, renewed: true},
		"not said":                {expires: nil, after: 1000 * time.Hour},
		"zero":                    {expires: 0, after: 1000 * time.Hour},
		"negative":                {expires: -5, after: time.Hour},
		"huge":                    {expires: 1 << 31, after: 100 * 24 * time.Hour},
		"more than a number":      {expires: int64(1) << 62, after: 100 * 24 * time.Hour},
		"over already, quoted":    {expires: "-3600", after: time.Hour},
		"the clock goes back":     {expires: 3600, after: -48 * time.Hour},
		"the clock jumps ahead":   {expires: 3600, after: 48 * time.Hour, renewed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.token = map[string]any{"expires_in": c.expires}
			w.signIn()
			w.pass(c.after)
			want := "access-1"
			if c.renewed {
				want = "access-2"
			}
			for range 3 { // one renewal is enough
				if got := w.access(); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if c.renewed && (w.form().Get("grant_type") != "refresh_token" || w.form().Get("refresh_token") != "refresh-1" || w.form().Get("resource") != w.server.URL+"/mcp") {
				t.Errorf("renewed with %v", w.form())
			}
		})
	}
}

// Callers at the same time renew a token once, and a refresh token that was replaced is never sent again, also after a restart.
func TestOneRenewal(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	w.pass(2 * time.Hour)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := w.account.Token(t.Context()); err != nil || got != "access-2" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	for range 20 {
		all.Go(func() {
			if retry, err := w.account.Rejected(t.Context(), "access-2"); err != nil || !retry {
				t.Errorf("%v, %v", retry, err)
			}
		})
	}
	all.Wait()
	if n := w.asked("/token"); n != 3 {
		t.Errorf("%d requests, want the sign-in and two renewals", n)
	}
	w.restart()
	w.pass(2 * time.Hour)
	if w.access() != "access-4" || w.form().Get("refresh_token") != "refresh-3" {
		t.Errorf("after a restart: %q by %v", w.access(), w.form())
	}
}

// A token that the server refuses by its own clock is renewed; if the next one is refused too, somebody has to sign in.
func TestRejected(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	for i, want := range []bool{true, false, false} {
		retry, err := w.account.Rejected(t.Context(), fmt.Sprintf("access-%d", i+1))
		if err != nil || retry != want {
			t.Errorf("%d: %v, %v", i, retry, err)
		}
	}
	if w.access() != "" {
		t.Error("a refused token is still used")
	}
}

// A refresh token that was revoked is dropped, and the owner is asked once; a server that cannot answer changes nothing.
func TestRevoked(t *testing.T) {
	type answer struct {
		answer http.HandlerFunc
		kept   bool
	}
	list := map[string]answer{
		"no JSON": {answer: says(200, "application/json", "{")}, "too many": {answer: refuses(429, "slow_down"), kept: true},
		"busy": {answer: says(503, "text/plain", ""), kept: true}, "redirect": {answer: func(out http.ResponseWriter, in *http.Request) {
			http.Redirect(out, in, "https://evil.example", http.StatusTemporaryRedirect)
		}, kept: true},
	}
	for _, code := range []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"} { // RFC 6749, section 5.2
		list[code], list[code+" as 401"] = answer{answer: refuses(400, code)}, answer{answer: refuses(401, code)}
	}
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.signIn()
			w.at("/token", c.answer)
			retry, err := w.account.Rejected(t.Context(), "access-1")
			if retry || (kind(t, err) == event.Unavailable) != c.kept {
				t.Errorf("%v, %v", retry, err)
			}
			w.restart()
			if got := w.access(); (got != "") != c.kept {
				t.Errorf("kept %q", got)
			}
			if c.kept {
				return
			}
			if n := w.asked("/token"); n != 2 {
				t.Errorf("%d requests for tokens, want the sign-in and one renewal", n)
			}
			if one, two := w.begin(), w.begin(); one.Get("state") != two.Get("state") {
				t.Error("the owner is asked twice")
			}
			if again := len(w.register) > 1; again != strings.Contains(name, "_client") {
				t.Errorf("registered again: %v", again)
			}
		})
	}
}

// A server that does not replace the refresh token means that it stays good.
func TestKeptRefreshToken(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	w.mu.Lock()
	w.token = map[string]any{"refresh_token": nil}
	w.mu.Unlock()
	for range 2 {
		w.pass(2 * time.Hour)
		w.access()
		if got := w.form().Get("refresh_token"); got != "refresh-1" {
			t.Errorf("renewed with %q", got)
		}
	}
	if got := w.access(); got != "access-3" {
		t.Errorf("the token is %q", got)
	}
}

// Tokens and a sign-in that has begun are for the address of the service at that time. A section that names another one has none of them, whether its
// host is another one or the same, and although the service's metadata covers the whole host.
func TestOtherAddress(t *testing.T) {
	evil := newWorld(t)
	for name, address := range map[string]func(w *world) string{
		"another host":           func(*world) string { return evil.server.URL + "/mcp" },
		"the same host":          func(w *world) string { return w.server.URL + "/mcp/others" },
		"a parameter more":       func(w *world) string { return w.server.URL + "/mcp?x=1" },
		"the host above":         func(w *world) string { return w.server.URL },
		"nearly the same host":   func(w *world) string { return w.server.URL + "0/mcp" },
		"as a server beside it":  func(w *world) string { return w.server.URL + "/mcp2" },
		"with another last byte": func(w *world) string { return w.server.URL + "/mcp/" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.resource = map[string]any{"resource": w.server.URL}
			w.signIn()
			fresh, err := w.account.Begin(t.Context(), oauth.Challenge{}, true)
			if err != nil {
				t.Fatal(err)
			}
			open := query(t, fresh.Link)
			w.address = address(w)
			w.restart()
			if got := w.access(); got != "" {
				t.Errorf("the token %q is for %s", got, w.server.URL+"/mcp")
			}
			if retry, err := w.account.Rejected(t.Context(), "access-1"); retry || err != nil {
				t.Errorf("renewed: %v, %v", retry, err)
			}
			if got := w.account.Link(t.Context()); got != "" {
				t.Errorf("the link %s is still open", got)
			}
			if states, err := w.account.Finish(t.Context(), back(open)); kind(t, err) != event.Clash || states != nil {
				t.Errorf("its answer: %v, %v", states, err)
			}
			if n := w.asked("/token"); n != 1 {
				t.Errorf("%d requests for tokens", n)
			}
			if owns, err := w.account.Owns(t.Context(), open.Get("state")); err != nil || !owns {
				t.Errorf("the question about it is forgotten: %v, %v", owns, err)
			}
		})
	}
	w := newWorld(t)
	w.signIn()
	w.restart()
	if w.access() != "access-1" {
		t.Error("the same address has lost its token")
	}
}
