package codex_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/codex"
	"hob/daemon/secret"
)

// wantModelFault checks an error of a model call, and that no token stands in it.
func wantModelFault(t *testing.T, err error, fault llm.Fault, part string) {
	t.Helper()
	if err == nil || llm.FaultOf(err) != fault || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v; want %s with %q", err, fault, part)
	}
}

const again = "hob model login codex"

func TestNobodyIsSignedIn(t *testing.T) {
	r := newHarness(t)
	_, _, err := r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Auth, again)
}

func TestTokenIsRenewedWhenItEnds(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(59 * time.Minute) // it lives for one more minute, as far as whole seconds go
	r.pass(-time.Second)
	r.wantToken(r.account, 2)
	r.pass(2 * time.Second)
	r.wantToken(r.account, 3)
	r.wantToken(r.account, 3)
	r.pass(2 * time.Hour)
	r.wantToken(r.account, 4)
	r.wantToken(r.start(), 4)
	if n := r.count(); n != 2 {
		t.Errorf("%d renewals, want 2", n)
	}
	if s := r.status(); s.Account != "account-4" || s.Email != "sam@example.org" {
		t.Errorf("status: %+v", s)
	}
}

// A token that the backend has refused before its time is not given out again, nor after a restart of the account.
func TestASpoiledTokenIsRenewed(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	token, _, err := r.account.Credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.account.Rejected(token)
	r.wantToken(r.account, 3)
	r.account.Rejected(token) // an older one says nothing of the newest
	r.wantToken(r.account, 3)
	if n := r.count(); n != 1 {
		t.Errorf("%d renewals, want 1", n)
	}
}

func TestWhatARenewalDoesNotSayStays(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.set(func() { r.omit = "id_token" })
	r.pass(time.Hour)
	r.wantToken(r.account, 3)
	if s := r.status(); s.Account != "account-2" || s.Email != "sam@example.org" {
		t.Errorf("status: %+v", s)
	}
}

func TestEndOfAToken(t *testing.T) {
	r := newHarness(t)
	at := time.Now().Add(100 * time.Hour).Unix()
	r.set(func() { r.omit, r.exp = "expires_in", at })
	r.signIn()
	if until := r.status().Until; until.Unix() != at {
		t.Errorf("it lives until %v, and says %v", until, time.Unix(at, 0))
	}
	r.set(func() { r.exp = 0 })
	r.signIn()
	if left := time.Until(*r.status().Until).Round(time.Minute); left != time.Hour {
		t.Errorf("one that says nothing lives for %v", left)
	}
}

func TestOneRenewalServesAll(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			token, account, err := r.account.Credentials(t.Context())
			if err != nil || numbered(t, token) != 3 || account != "account-3" {
				t.Errorf("account %s: %v", account, err)
			}
		})
	}
	wg.Wait()
	if n := r.count(); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// TestCallerLeavesDuringARenewal: the server has spent the old refresh token, so that its answer must not be lost.
func TestCallerLeavesDuringARenewal(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	asked, reply := make(chan struct{}), make(chan struct{})
	r.set(func() {
		r.odd = func(http.ResponseWriter, string) bool {
			close(asked)
			<-reply
			return false
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the turn was stopped")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := r.account.Credentials(ctx)
		if !errors.Is(err, left) || llm.FaultOf(err) != "" {
			t.Errorf("got %v", err)
		}
	})
	<-asked
	cancel(left)
	wg.Wait()
	close(reply)
	r.account.Close() // waits for it
	r.set(func() { r.odd = nil })
	r.wantToken(r.start(), 3)
	if n := r.count(); n != 1 {
		t.Errorf("%d renewals", n)
	}
	_, _, err := r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Network, "hob is stopping")
}

func TestTokensAreKeptBeforeTheyAreUsed(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	before := r.status()
	r.pass(time.Hour)
	r.vault.full.Store(true)
	for range 2 {
		_, _, err := r.account.Credentials(t.Context())
		wantModelFault(t, err, llm.Auth, "cannot be stored")
		if !errors.Is(err, errFull) {
			t.Errorf("without its cause: %v", err)
		}
	}
	if s := r.status(); s.Account != before.Account || !s.Until.Equal(*before.Until) {
		t.Errorf("status: %+v, want the old tokens: %+v", s, before)
	}
	r.vault.full.Store(false)
	r.wantToken(r.account, 3) // the same that could not be kept
	r.wantToken(r.start(), 3)
	if n := r.count(); n != 1 {
		t.Errorf("%d renewals: the spent refresh token was sent again", n)
	}
}

// TestCrashBeforeTheTokensAreKept: what the server has spent and nobody kept is told as what it is, and asked for once.
func TestCrashBeforeTheTokensAreKept(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	r.vault.full.Store(true)
	if _, _, err := r.account.Credentials(t.Context()); err == nil {
		t.Fatal("tokens that are not kept are used")
	}
	r.vault.full.Store(false)
	r.account = r.start()
	for range 2 {
		_, _, err := r.account.Credentials(t.Context())
		wantModelFault(t, err, llm.Auth, again)
		wantModelFault(t, err, llm.Auth, "refresh_token_reused: it was used already: [secret codex refresh token]")
	}
	if n := r.count(); n != 2 {
		t.Errorf("%d requests, want the lost one and the refused one", n)
	}
	if s := r.status(); s.SignedIn || !strings.Contains(s.Problem, again) {
		t.Errorf("status: %+v", s)
	}
	r.signIn() // the code has the number 4
	r.wantToken(r.account, 5)
	if s := r.status(); !s.SignedIn || s.Problem != "" {
		t.Errorf("status: %+v", s)
	}
}

func TestFaultsOfARenewal(t *testing.T) {
	for _, tt := range []struct {
		status int
		header [2]string
		body   string
		fault  llm.Fault
		text   string
		wait   time.Duration
		asks   int // how often two calls ask the server
	}{
		{status: 400, body: `{"error":"invalid_grant"}`, fault: llm.Auth, text: "(invalid_grant); sign in again with: " + again, asks: 1},
		{status: 400, body: `{"error":{"code":"refresh_token_expired","message":"too old"}}`, fault: llm.Auth, text: "too old); sign in again", asks: 1},
		{status: 403, body: `{"code":"refresh_token_invalidated"}`, fault: llm.Auth, text: again, asks: 1},
		{status: 401, body: `nonsense`, fault: llm.Auth, text: "(HTTP 401); sign in again", asks: 1},
		{status: 403, body: `<html>`, fault: llm.Auth, text: again, asks: 2},
		{status: 200, body: `{"error":"invalid_grant"}`, fault: llm.Auth, text: again, asks: 1},
		{status: 404, body: ``, fault: llm.NotFound, text: "HTTP 404", asks: 2},
		{status: 429, header: [2]string{"Retry-After", "7"}, body: `{"error":{"message":"slow down"}}`, fault: llm.RateLimit, text: "slow down", wait: 7 * time.Second, asks: 2},
		{status: 429, header: [2]string{"Retry-After", "999999999"}, fault: llm.RateLimit, wait: 24 * time.Hour, asks: 2},
		{status: 429, header: [2]string{"Retry-After", "-5"}, fault: llm.RateLimit, asks: 2},
		{status: 503, header: [2]string{"Retry-After", "200000"}, fault: llm.Overloaded, text: "HTTP 503", wait: 24 * time.Hour, asks: 2},
		{status: 500, body: `{"error":"invalid_grant"}`, fault: llm.Overloaded, asks: 2},
		{status: 408, fault: llm.Overloaded, asks: 2},
		{status: 302, header: [2]string{"Location", "http://127.0.0.1:1/"}, fault: llm.Network, text: "server redirects", asks: 2},
		{status: 200, body: `<html>log in to the WLAN`, fault: llm.Malformed, text: "cannot be understood", asks: 2},
		{status: 200, body: `{"id_token":"x"}`, fault: llm.Malformed, text: "cannot be understood", asks: 2},
	} {
		t.Run(fmt.Sprint(tt.status, tt.header[1], tt.body), func(t *testing.T) {
			r := newHarness(t)
			r.signIn()
			r.pass(time.Hour)
			r.set(func() {
				r.odd = func(w http.ResponseWriter, _ string) bool {
					if tt.header[0] != "" {
						w.Header().Set(tt.header[0], tt.header[1])
					}
					refuse(w, tt.status, tt.body)
					return true
				}
			})
			for range 2 {
				_, _, err := r.account.Credentials(t.Context())
				wantModelFault(t, err, tt.fault, tt.text)
				var e *llm.Error
				if errors.As(err, &e) && e.RetryAfter != tt.wait {
					t.Errorf("retry after %v, want %v", e.RetryAfter, tt.wait)
				}
			}
			if n := r.count(); n != tt.asks {
				t.Errorf("the server was asked %d times, want %d", n, tt.asks)
			}
			r.set(func() { r.odd = nil })
			if tt.asks == 2 {
				r.wantToken(r.account, 3)
			}
		})
	}
}

func TestRetryAfterAsADate(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	r.set(func() {
		r.odd = func(w http.ResponseWriter, _ string) bool {
			w.Header().Set("Date", "Sat, 21 Nov 2026 09:00:00 GMT")
			w.Header().Set("Retry-After", "Sat, 21 Nov 2026 09:00:30 GMT")
			refuse(w, http.StatusTooManyRequests, "")
			return true
		}
	})
	_, _, err := r.account.Credentials(t.Context())
	var e *llm.Error
	if !errors.As(err, &e) || e.RetryAfter != 30*time.Second {
		t.Errorf("got %v", err)
	}
}

func TestServerCannotBeReached(t *testing.T) {
	r := newHarness(t, func(c *codex.Config) { c.Patience = 50 * time.Millisecond })
	r.signIn()
	r.pass(time.Hour)
	silent := make(chan struct{})
	r.set(func() { r.odd = func(http.ResponseWriter, string) bool { <-silent; return true } })
	_, _, err := r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Network, "cannot be renewed now")
	close(silent)
	r.srv.Close()
	_, _, err = r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Network, "refused")
	if !r.status().SignedIn {
		t.Error("signed out by the network")
	}
}

func TestDamagedTokens(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	path := filepath.Join(r.folder, "codex")
	for _, doc := range []string{"", "rubbish", "kept here\n{\"access_token\": \"canary", "kept here\n{}", "kept here\n{\"access_token\":\"canary\"}"} {
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		a := r.start()
		_, _, err := a.Credentials(t.Context())
		wantModelFault(t, err, llm.Auth, "damaged; sign in again with: "+again)
		s, err := a.Status(t.Context())
		if err != nil || s.SignedIn || !strings.Contains(s.Problem, again) {
			t.Errorf("%q: status %+v, %v", doc, s, err)
		}
	}
	r.account = r.start()
	r.signIn()
	r.wantToken(r.account, 4)
}

// moody is a keyring that hangs once it is told to.
type moody struct {
	mu   sync.Mutex
	kept string
	hung chan struct{}
}

func (m *moody) call(f func() error) error {
	m.mu.Lock()
	hung := m.hung
	m.mu.Unlock()
	if hung != nil {
		<-hung
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f()
}

func (m *moody) Read(string, string) (kept string, err error) {
	return kept, m.call(func() error { kept = m.kept; return nil })
}

func (m *moody) Write(_, _, password string) error {
	return m.call(func() error { m.kept = password; return nil })
}

func (m *moody) Remove(string, string) error { return m.call(func() error { m.kept = ""; return nil }) }

func TestHangingKeyring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring, until := &moody{}, time.Now().Add(time.Hour).Format(time.RFC3339)
		v := secret.NewVault(secret.VaultConfig{Folder: t.TempDir(), Home: "/h", Keyring: ring})
		doc := `{"access_token":"access","refresh_token":"refresh","until":"` + until + `"}`
		if err := v.Save(t.Context(), "codex", []byte(doc)); err != nil {
			t.Fatal(err)
		}
		a := codex.New(codex.Config{Vault: v})
		defer a.Close()
		ring.hung = make(chan struct{})
		_, _, err := a.Credentials(t.Context())
		wantModelFault(t, err, llm.Auth, "unlock the keyring, or sign in again with: "+again)
		_, err = a.Status(t.Context())
		wantFault(t, err, event.Unavailable, "cannot be read")
		ring.mu.Lock()
		close(ring.hung)
		ring.hung = nil
		ring.mu.Unlock()
		synctest.Wait()
		if token, _, err := a.Credentials(t.Context()); err != nil || token != "access" {
			t.Errorf("once it is unlocked: %q, %v", token, err)
		}
		if s, err := a.Status(t.Context()); err != nil || s.Where != secret.InKeyring {
			t.Errorf("status: %+v, %v", s, err)
		}
	})
}

// TestErrorsAreNotShared: who gets one may complete it.
func TestErrorsAreNotShared(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	r.set(func() { r.live = map[string]bool{} })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, _, err := r.account.Credentials(t.Context())
			wantModelFault(t, err, llm.Auth, again)
			var e *llm.Error
			if errors.As(err, &e) {
				e.Text += "!"
			}
		})
	}
	wg.Wait()
	if s := r.status(); strings.Contains(s.Problem, "!") {
		t.Errorf("problem: %s", s.Problem)
	}
}
