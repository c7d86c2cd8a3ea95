package codex_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm/codex"
)

// wantFault checks an error for people: its kind, a part of its text, and that it has a hint and no token in it.
func wantFault(t *testing.T, err error, kind event.FaultKind, part string) {
	t.Helper()
	f, ok := event.AsFault(err)
	if !ok || f.Kind != kind || !strings.Contains(f.Text, part) || f.Hint == "" || strings.Contains(f.Text, "canary") {
		t.Errorf("got %#v; want %s with %q and a hint", err, kind, part)
	}
}

func TestSignInByTheBrowser(t *testing.T) {
	r := newHarness(t)
	if s := r.status(); s != (codex.Status{}) {
		t.Errorf("before: %+v", s)
	}
	l := r.begin()
	if !l.Loopback || l.Note != "" || time.Until(l.Until).Round(time.Minute) != 10*time.Minute {
		t.Errorf("login: %+v", l)
	}
	where, body, res := r.browse(l.Address, false)
	if !strings.HasPrefix(where, r.redirect) || res.StatusCode != http.StatusOK || !strings.Contains(body, "Signed in") {
		t.Errorf("%s: HTTP %d: %s", where, res.StatusCode, body)
	}
	for header, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8"} {
		if got := res.Header.Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	if err := r.account.Wait(t.Context(), l); err != nil {
		t.Error(err)
	}
	token, account, err := r.account.Credentials(t.Context())
	if err != nil || numbered(t, token) != 2 || account != "account-2" {
		t.Errorf("credentials of %s: %v", account, err)
	}
	s := r.status()
	if !s.SignedIn || s.Account != "account-2" || s.Email != "sam@example.org" || s.Where != filepath.Join(r.folder, "codex") ||
		time.Until(*s.Until).Round(time.Minute) != time.Hour || s.Problem != "" {
		t.Errorf("status: %+v", s)
	}
	r.wantToken(r.start(), 2)
	if n := r.count(); n != 0 {
		t.Errorf("%d renewals", n)
	}
	if c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", r.port)); err == nil {
		t.Errorf("the port is still open: %v", c.Close())
	}
}

func TestSignInByThePastedAddress(t *testing.T) {
	for name, copied := range map[string]func(whole, query string) string{
		"whole":             func(whole, _ string) string { return whole },
		"quoted":            func(whole, _ string) string { return "  \"" + whole + "\"\r\n" },
		"in angle brackets": func(whole, _ string) string { return "<" + whole + ">" },
		"broken over lines": func(whole, _ string) string { return whole[:40] + "\n  " + whole[40:] },
		"its query":         func(_, query string) string { return "?" + query },
		"its parameters":    func(_, query string) string { return "'" + query + "'" },
		"out of HTML":       func(whole, _ string) string { return strings.ReplaceAll(whole, "&", "&amp;") },
		"with a fragment":   func(whole, _ string) string { return whole + "#_=_" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			l := r.begin()
			whole := r.last(l)
			u, err := url.Parse(whole)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.account.Finish(t.Context(), copied(whole, u.RawQuery)); err != nil {
				t.Fatal(err)
			}
			if err := r.account.Wait(t.Context(), l); err != nil {
				t.Error(err)
			}
			r.wantToken(r.account, 2)
			wantFault(t, r.account.Finish(t.Context(), whole), event.Clash, "done already")
			r.wantToken(r.account, 2)
		})
	}
}

func TestPastedIsNoAddress(t *testing.T) {
	r := newHarness(t)
	wantFault(t, r.account.Finish(t.Context(), "code=1&state=2"), event.Clash, "no sign-in is under way")
	l := r.begin()
	for pasted, want := range map[string]string{
		"":                         "no code",
		"hello":                    "no code",
		"%zz":                      "no address",
		strings.Repeat("x", 20000): "at most 16 KB",
		l.Address:                  "the address to begin with",
		"code=1":                   "its state is another one",
		strings.Replace(r.last(l), "code=", "code=2&code=", 1):    "not one code",
		strings.Replace(r.last(l), "state=", "state=2&state=", 1): "its state is another one",
	} {
		wantFault(t, r.account.Finish(t.Context(), pasted), event.Invalid, want)
	}
	if err := r.account.Finish(t.Context(), r.last(l)); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

func TestPortTaken(t *testing.T) {
	for network, host := range map[string]string{"tcp4": "127.0.0.1", "tcp6": "::1"} {
		t.Run(network, func(t *testing.T) {
			r := newHarness(t)
			other, err := net.Listen(network, net.JoinHostPort(host, fmt.Sprint(r.port)))
			if err != nil {
				t.Skip("there is no such address: ", err)
			}
			defer func() {
				if err := other.Close(); err != nil {
					t.Error(err)
				}
			}()
			l := r.begin()
			if l.Loopback || !strings.Contains(l.Note, fmt.Sprintf("port %d cannot be used", r.port)) || !strings.Contains(l.Note, "paste") {
				t.Errorf("login: %+v", l)
			}
			if err := r.account.Finish(t.Context(), r.last(l)); err != nil {
				t.Fatal(err)
			}
			r.wantToken(r.account, 2)
		})
	}
}

func TestWrongState(t *testing.T) {
	r := newHarness(t)
	l := r.begin()
	foreign := r.redirect + "?code=code-of-somebody&state=guessed"
	if _, body, res := r.browse(foreign, false); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "its state is another one") {
		t.Errorf("HTTP %d: %s", res.StatusCode, body)
	}
	wantFault(t, r.account.Finish(t.Context(), r.redirect+"?error=access_denied&state=guessed"), event.Invalid, "its state is another one")
	if _, body, _ := r.browse(l.Address, false); !strings.Contains(body, "Signed in") {
		t.Errorf("the real one was not taken any more: %s", body)
	}
}

func TestOnlyTheRedirectIsServed(t *testing.T) {
	r := newHarness(t)
	r.begin()
	if _, _, res := r.browse(strings.Replace(r.redirect, "/auth/callback", "/", 1), false); res.StatusCode != http.StatusNotFound {
		t.Errorf("HTTP %d", res.StatusCode)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.redirect, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("HTTP %d, %v", res.StatusCode, err)
	}
}

func TestDeclined(t *testing.T) {
	r := newHarness(t)
	r.set(func() { r.deny = "<script>alert(1)</script>\x1b[2J & more" })
	l := r.begin()
	_, body, res := r.browse(l.Address, false)
	if res.StatusCode != http.StatusBadRequest || strings.ContainsAny(body, "\x1b") || strings.Contains(body, "<script") ||
		!strings.Contains(body, "access_denied: &lt;script&gt;alert(1)&lt;/script&gt; [2J &amp; more") {
		t.Errorf("HTTP %d: %s", res.StatusCode, body)
	}
	wantFault(t, r.account.Wait(t.Context(), l), event.Refused, "declined: access_denied")
	wantFault(t, r.account.Finish(t.Context(), "code=1&state=1"), event.Refused, "declined: access_denied")
	if r.status().SignedIn {
		t.Error("signed in")
	}
}

func TestExpiredLogin(t *testing.T) {
	r := newHarness(t)
	l := r.begin()
	address := r.last(l)
	r.pass(10 * time.Minute)
	wantFault(t, r.account.Finish(t.Context(), address), event.Clash, "expired: it took longer than 10m")
	wantFault(t, r.account.Wait(t.Context(), l), event.Clash, "expired")
	r.signIn()
}

func TestLoginExpiresByItself(t *testing.T) {
	r := newHarness(t, func(c *codex.Config) { c.LoginTime = time.Millisecond })
	wantFault(t, r.account.Wait(t.Context(), r.begin()), event.Clash, "expired")
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", r.port))
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewLoginEndsTheOldOne(t *testing.T) {
	r := newHarness(t)
	old := r.begin()
	address := r.last(old)
	l := r.begin()
	wantFault(t, r.account.Wait(t.Context(), old), event.Clash, "another sign-in was begun")
	wantFault(t, r.account.Finish(t.Context(), address), event.Invalid, "its state is another one")
	if !l.Loopback {
		t.Errorf("the old one kept the port: %s", l.Note)
	}
	if _, body, _ := r.browse(l.Address, false); !strings.Contains(body, "Signed in") {
		t.Error(body)
	}
}

func TestLoginIsTriedAgainAfterAPassingFault(t *testing.T) {
	r := newHarness(t)
	r.set(func() {
		r.odd = func(w http.ResponseWriter, _ string) bool { refuse(w, http.StatusBadGateway, "<html>"); return true }
	})
	address := r.last(r.begin())
	_, body, _ := r.browse(address, false)
	if !strings.Contains(body, "cannot be reached: HTTP 502") || !strings.Contains(body, "try the same address once more") {
		t.Error(body)
	}
	wantFault(t, r.account.Finish(t.Context(), address), event.Unavailable, "HTTP 502")
	r.set(func() { r.odd = nil })
	if err := r.account.Finish(t.Context(), address); err != nil {
		t.Error(err)
	}
}

func TestLoginThatTheServerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*harness)
		want   string
	}{
		"the code":         {func(r *harness) { r.codes = map[string]grant{} }, "refuses the code: invalid_grant: the code is not valid"},
		"no refresh token": {func(r *harness) { r.omit = "refresh_token" }, "gave no refresh token"},
		"no access token":  {func(r *harness) { r.omit = "access_token" }, "cannot be understood"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			l := r.begin()
			address := r.last(l)
			r.set(func() { c.change(r) })
			wantFault(t, r.account.Finish(t.Context(), address), event.Refused, c.want)
			wantFault(t, r.account.Wait(t.Context(), l), event.Refused, c.want)
			if r.status().SignedIn {
				t.Error("signed in")
			}
		})
	}
}

func TestLoginThatCannotBeKept(t *testing.T) {
	r := newHarness(t)
	r.vault.full.Store(true)
	wantFault(t, r.account.Finish(t.Context(), r.last(r.begin())), event.Clash, errFull.Error())
	if r.status().SignedIn {
		t.Error("signed in")
	}
	if _, _, err := r.account.Credentials(t.Context()); err == nil {
		t.Error("tokens that were not kept are used")
	}
}

func TestCloseEndsALogin(t *testing.T) {
	r := newHarness(t)
	l := r.begin()
	r.account.Close()
	wantFault(t, r.account.Wait(t.Context(), l), event.Unavailable, "hob is stopping")
	if _, err := r.account.Begin(t.Context()); err == nil {
		t.Error("a sign-in begins")
	}
}
