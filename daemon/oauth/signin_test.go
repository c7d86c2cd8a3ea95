package oauth_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"
)

// A sign-in goes by the specifications, and a restart between the link and the answer changes nothing.
func TestSignIn(t *testing.T) {
	w := newWorld(t)
	w.meta = map[string]any{"authorization_response_iss_parameter_supported": true, "scopes_supported": []string{"offline_access"}}
	link := w.begin()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "redirect_uri": "http://127.0.0.1:14551/oauth/callback", "scope": "notes:read offline_access",
		"resource": w.server.URL + "/mcp", "code_challenge_method": "S256",
	} {
		if got := link.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := w.register[0]; got["token_endpoint_auth_method"] != "none" || got["application_type"] != "native" {
		t.Errorf("registered as %v", got)
	}
	w.restart()
	if again := w.begin(); again.Get("state") != link.Get("state") {
		t.Error("the link is another one after a restart")
	}
	states, err := w.account.Finish(t.Context(), back(link, "iss", w.server.URL))
	if err != nil || !slices.Equal(states, []string{link.Get("state")}) {
		t.Fatalf("%v: %v", states, err)
	}
	form := w.form()
	for name, want := range map[string]string{"grant_type": "authorization_code", "code": "code-1", "redirect_uri": link.Get("redirect_uri"), "resource": w.server.URL + "/mcp", "client_id": "client-1"} {
		if got := form.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if challengeOf(form.Get("code_verifier")) != link.Get("code_challenge") {
		t.Error("the verifier does not belong to the challenge")
	}
	w.restart()
	if got := w.access(); got != "access-1" {
		t.Errorf("the token is %q", got)
	}
	for _, s := range []string{"access-1", "refresh-1"} {
		if strings.Contains(w.redact.Text("x "+s), s) {
			t.Errorf("%s is not redacted", s)
		}
	}
}

// An address that is not the answer to the open sign-in sends no code, and leaves it open unless the authorization server has spoken.
func TestWrongAddress(t *testing.T) {
	for name, c := range map[string]struct {
		values func(w *world, link url.Values) url.Values
		want   event.FaultKind
		over   bool
		meta   map[string]any
		wait   time.Duration
	}{
		"another state":       {values: func(_ *world, l url.Values) url.Values { return back(l, "state", "x") }, want: event.Invalid},
		"no state":            {values: func(_ *world, l url.Values) url.Values { return back(l, "state", "") }, want: event.Invalid},
		"two states":          {values: func(_ *world, l url.Values) url.Values { v := back(l); v.Add("state", "y"); return v }, want: event.Invalid},
		"no code":             {values: func(_ *world, l url.Values) url.Values { return back(l, "code", "") }, want: event.Invalid},
		"two codes":           {values: func(_ *world, l url.Values) url.Values { v := back(l); v.Add("code", "y"); return v }, want: event.Invalid},
		"another issuer":      {values: func(_ *world, l url.Values) url.Values { return back(l, "iss", "https://evil.example") }, want: event.Refused, over: true},
		"nearly the issuer":   {values: func(w *world, l url.Values) url.Values { return back(l, "iss", w.server.URL+"/") }, want: event.Refused, over: true},
		"no issuer":           {values: func(_ *world, l url.Values) url.Values { return back(l) }, want: event.Refused, over: true, meta: map[string]any{"authorization_response_iss_parameter_supported": true}},
		"late":                {values: func(_ *world, l url.Values) url.Values { return back(l) }, want: event.Clash, over: true, wait: 8 * 24 * time.Hour},
		"another state, late": {values: func(_ *world, l url.Values) url.Values { return back(l, "state", "x") }, want: event.Invalid, wait: 8 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta = c.meta
			link := w.begin()
			w.pass(c.wait)
			states, err := w.account.Finish(t.Context(), c.values(w, link))
			if got := kind(t, err); got != c.want || (len(states) > 0) != c.over {
				t.Errorf("%s, over: %v (%v)", got, states, err)
			}
			if w.asked("/token") > 0 || w.access() != "" {
				t.Error("a code was sent")
			}
			if c.over || c.wait > 0 {
				return
			}
			if _, err := w.account.Finish(t.Context(), back(link)); err != nil {
				t.Errorf("the right address afterwards: %v", err)
			}
		})
	}
}

// A state counts once, and only that of the newest sign-in.
func TestReplayedState(t *testing.T) {
	w := newWorld(t)
	first := w.begin()
	fresh, err := w.account.Begin(t.Context(), oauth.Challenge{}, true)
	if err != nil {
		t.Fatal(err)
	}
	second := query(t, fresh.Link)
	if _, err := w.account.Finish(t.Context(), back(first)); kind(t, err) != event.Clash {
		t.Errorf("a replaced sign-in: %v", err)
	}
	states, err := w.account.Finish(t.Context(), back(second))
	if err != nil || !slices.Equal(states, []string{first.Get("state"), second.Get("state")}) {
		t.Errorf("both questions are answered: %v, %v", states, err)
	}
	w.restart()
	if _, err := w.account.Finish(t.Context(), back(second)); kind(t, err) != event.Clash {
		t.Errorf("a second time: %v", err)
	}
	for link, want := range map[string]bool{second.Get("state"): true, "": false, "x": false} {
		if owns, err := w.account.Owns(t.Context(), link); err != nil || owns != want {
			t.Errorf("%q is its own: %v, %v", link, owns, err)
		}
	}
	if n := w.asked("/token"); n != 1 {
		t.Errorf("%d codes were sent", n)
	}
}

// Two answers with the same address at the same time send the code once.
func TestSameAddressTwice(t *testing.T) {
	w := newWorld(t)
	link := w.begin()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	w.at("/token", func(out http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-goOn
		send(out, http.StatusOK, map[string]any{"access_token": "access-1", "token_type": "bearer"}, nil)
	})
	over := make(chan error)
	go func() {
		_, err := w.account.Finish(t.Context(), back(link))
		over <- err
	}()
	<-arrived
	if _, err := w.account.Finish(t.Context(), back(link)); kind(t, err) != event.Clash {
		t.Errorf("the second one: %v", err)
	}
	close(goOn)
	if err := <-over; err != nil || w.access() != "access-1" || w.asked("/token") != 1 {
		t.Errorf("the first one: %v, %q", err, w.access())
	}
}

// Each error of the authorization endpoint (RFC 6749, section 4.1.2.1) ends the sign-in.
func TestAuthorizationErrors(t *testing.T) {
	for _, code := range []string{"invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope", "server_error", "temporarily_unavailable", "x\ny"} {
		w := newWorld(t)
		link := w.begin()
		states, err := w.account.Finish(t.Context(), back(link, "code", "", "error", code, "error_description", "go\u200b away"))
		if kind(t, err) != event.Refused || len(states) != 1 || w.asked("/token") > 0 {
			t.Errorf("%s: %v, %v", code, states, err)
		}
		if w.begin().Get("state") == link.Get("state") {
			t.Errorf("%s: the next sign-in has the same state", code)
		}
	}
}

// Whatever the token endpoint answers (RFC 6749, section 5.2), a code is sent again only if the server may not have seen it.
func TestTokenEndpointErrors(t *testing.T) {
	open := map[string]http.HandlerFunc{
		"busy":             refuses(503, "temporarily_unavailable"),
		"too many":         refuses(429, "slow_down"),
		"500 without JSON": says(500, "text/html", "<h1>oops"),
		"a redirect": func(out http.ResponseWriter, in *http.Request) {
			http.Redirect(out, in, "http://10.0.0.1/token", http.StatusTemporaryRedirect)
		},
		"cut off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	over := map[string]http.HandlerFunc{
		"no JSON": says(200, "application/json", "{"), "no token": says(200, "application/json", "{}"), "an array": says(200, "application/json", "[]"),
		"a form":     says(200, "application/x-www-form-urlencoded", "token_type=mac&access_token=a"),
		"mac tokens": says(200, "application/json", `{"access_token": "a", "token_type": "mac"}`), "a header": says(200, "application/json", `{"access_token": "a\r\nX: y", "token_type": "bearer"}`),
		"huge": says(200, "application/json", `{"access_token": "`+strings.Repeat("a", 3<<20)+`"}`), "a long token": says(200, "application/json", `{"token_type": "bearer", "access_token": "`+strings.Repeat("a", 20<<10)+`"}`),
		"a part of a second": says(200, "application/json", `{"access_token": "a", "token_type": "bearer", "expires_in": [1]}`),
		"a date":             says(200, "application/json", `{"access_token": "a", "token_type": "bearer", "expires_in": "2020-01-01T00:00:00Z"}`),
		"no number":          says(200, "application/json", `{"access_token": "a", "token_type": "bearer", "expires_in": "NaN"}`),
	}
	for _, code := range []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"} {
		over[code], over[code+" as 401"] = refuses(400, code), refuses(401, code)
	}
	for name, f := range open {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			link := w.begin()
			w.at("/token", f)
			if states, err := w.account.Finish(t.Context(), back(link)); kind(t, err) != event.Unavailable || states != nil {
				t.Fatalf("%v, %v", states, err)
			}
			w.at("/token", nil)
			if _, err := w.account.Finish(t.Context(), back(link)); err != nil {
				t.Errorf("the same address again: %v", err)
			}
		})
	}
	for name, f := range over {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			link := w.begin()
			w.at("/token", f)
			states, err := w.account.Finish(t.Context(), back(link))
			if kind(t, err) != event.Refused || len(states) != 1 || w.access() != "" {
				t.Fatalf("%v, %v", states, err)
			}
			if w.asked("/token") != 1 {
				t.Errorf("the code was sent %d times", w.asked("/token"))
			}
			registered := len(w.register)
			w.begin()
			if again := len(w.register) > registered; again != strings.Contains(name, "_client") {
				t.Errorf("registered again: %v", again)
			}
		})
	}
}

// Tokens that cannot be stored are said, and a sign-in that cannot be stored does not begin.
func TestVaultFails(t *testing.T) {
	w := newWorld(t)
	link := w.begin()
	w.vault.broken = errors.New("no room")
	if _, err := w.account.Finish(t.Context(), back(link)); kind(t, err) != event.Unavailable {
		t.Errorf("tokens: %v", err)
	}
	if _, err := w.account.Begin(t.Context(), oauth.Challenge{}, true); kind(t, err) != event.Unavailable {
		t.Errorf("a link: %v", err)
	}
}

// A service that wants more scopes than before is asked once: the second sign-in keeps what the first one had.
func TestMoreScopes(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	h := http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="notes:write notes:read", resource_metadata="` + w.server.URL + resourcePath + `"`}}
	s, err := w.account.Begin(t.Context(), oauth.ParseChallenge(h), false)
	if err != nil || !slices.Equal(s.Scopes, []string{"notes:read", "notes:write"}) {
		t.Fatalf("%v: %v", s.Scopes, err)
	}
	if w.access() != "access-1" {
		t.Error("the old sign-in ends before the new one is done")
	}
	if _, err := w.account.Finish(t.Context(), back(query(t, s.Link))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.account.Begin(t.Context(), oauth.ParseChallenge(h), false); kind(t, err) != event.Refused {
		t.Errorf("asked again for what was granted: %v", err)
	}
}

// Forget forgets everything, and names what was open.
func TestForget(t *testing.T) {
	w := newWorld(t)
	w.signIn()
	link, err := w.account.Begin(t.Context(), oauth.Challenge{}, true)
	if err != nil {
		t.Fatal(err)
	}
	states, _, err := w.account.Forget(t.Context())
	if err != nil || !slices.Equal(states, []string{query(t, link.Link).Get("state")}) || w.access() != "" || len(w.vault.values) > 0 {
		t.Errorf("%v: %v, %v", states, err, w.vault.values)
	}
	if _, err := w.account.Finish(t.Context(), back(query(t, link.Link))); kind(t, err) != event.Invalid {
		t.Errorf("its address afterwards: %v", err)
	}
}

// A server that says nothing ends the step, not the sign-in.
func TestHangs(t *testing.T) {
	for _, path := range []string{resourcePath, metadataPath, "/register", "/token"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			link := url.Values{}
			if path == "/token" {
				link = w.begin()
			}
			w.short = 50 * time.Millisecond
			w.restart()
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			w.at(path, func(http.ResponseWriter, *http.Request) { <-over })
			var err error
			if path == "/token" {
				_, err = w.account.Finish(t.Context(), back(link))
			} else {
				_, err = w.account.Begin(t.Context(), oauth.Challenge{}, false)
			}
			if kind(t, err) != event.Unavailable {
				t.Error(err)
			}
		})
	}
}

// Forget tells the authorization server, if that offers it, as the client that got the tokens; whatever the server does, hob has forgotten them.
func TestRevoke(t *testing.T) {
	for name, c := range map[string]struct {
		meta   map[string]any
		answer http.HandlerFunc
		said   string
		asked  int
	}{
		"it is taken back":  {nil, says(200, "text/plain", ""), "has taken the tokens back", 2},
		"it is not offered": {map[string]any{"revocation_endpoint": nil}, nil, "takes no tokens back", 0},
		"another host":      {map[string]any{"revocation_endpoint": "https://third.example/revoke"}, nil, "takes no tokens back", 0},
		"without TLS":       {map[string]any{"revocation_endpoint": "http://third.example/revoke"}, nil, "takes no tokens back", 0},
		"an error":          {nil, refuses(503, "unavailable"), "did not take the tokens back", 2},
		"another client":    {nil, refuses(400, "invalid_client"), "did not take the tokens back", 2},
		"only refresh tokens": {nil, func(out http.ResponseWriter, in *http.Request) { // RFC 7009, section 2.2.1
			if in.PostForm.Get("token_type_hint") == "access_token" {
				refuses(400, "unsupported_token_type")(out, in)
			}
		}, "has taken the refresh token back, not the other one, which is good until it ends by itself", 2},
		"no kind of token": {nil, refuses(400, "unsupported_token_type"), "did not take the tokens back", 2},
		"a redirect": {nil, func(out http.ResponseWriter, in *http.Request) {
			http.Redirect(out, in, "/elsewhere", http.StatusTemporaryRedirect)
		}, "did not take the tokens back", 2},
		"it answers after hours": {nil, func(_ http.ResponseWriter, in *http.Request) { <-in.Context().Done() }, "did not take the tokens back", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.meta = map[string]any{"revocation_endpoint": w.server.URL + "/revoke"}
			maps.Copy(w.meta, c.meta)
			w.signIn()
			var forms []url.Values // of one request after the other
			w.at("/revoke", func(out http.ResponseWriter, in *http.Request) {
				if err := in.ParseForm(); err != nil {
					t.Error(err)
				}
				forms = append(forms, in.PostForm)
				c.answer(out, in)
			})
			if strings.HasPrefix(name, "it answers") {
				w.short = 50 * time.Millisecond
				w.restart()
			}
			_, said, err := w.account.Forget(t.Context())
			if err != nil || !strings.Contains(said, c.said) || w.access() != "" || len(w.vault.values) > 0 {
				t.Errorf("%q, %v", said, err)
			}
			if n := w.asked("/revoke"); n != c.asked || w.asked("/elsewhere") > 0 {
				t.Errorf("it was asked %d times", n)
			}
			if c.asked == 2 && (forms[0].Get("token") != "refresh-1" || forms[0].Get("token_type_hint") != "refresh_token" || forms[0].Get("client_id") != "client-1" || forms[1].Get("token") != "access-1") {
				t.Errorf("it got %v", forms)
			}
		})
	}
}
