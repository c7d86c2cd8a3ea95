package codex_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/codex"
	"hob/daemon/oauth"
	"hob/daemon/secret"
)

func TestLogout(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	l := r.begin()
	if revoked, err := r.account.Logout(t.Context()); err != nil || !revoked {
		t.Errorf("revoked: %v, %v", revoked, err)
	}
	wantFault(t, r.account.Wait(t.Context(), l), event.Clash, "signed out")
	if len(r.revoked) != 1 || r.revoked[0] != "refresh-canary-2" {
		t.Errorf("revoked: %q", r.revoked)
	}
	_, _, err := r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Auth, again)
	if s := r.status(); s != (codex.Status{}) {
		t.Errorf("status: %+v", s)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "codex")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
	if revoked, err := r.account.Logout(t.Context()); err != nil || revoked {
		t.Errorf("once more: %v, %v", revoked, err)
	}
	r.signIn()
	r.srv.Close()
	if revoked, err := r.account.Logout(t.Context()); err != nil || revoked || r.status().SignedIn {
		t.Errorf("without a server: %v, %v", revoked, err)
	}
}

// TestLogoutRevokesWhatCouldNotBeKept: the newest refresh token is the one that serves.
func TestLogoutRevokesWhatCouldNotBeKept(t *testing.T) {
	r := newHarness(t)
	r.signIn()
	r.pass(time.Hour)
	r.vault.full.Store(true)
	if _, _, err := r.account.Credentials(t.Context()); err == nil {
		t.Fatal("tokens that are not kept are used")
	}
	r.vault.full.Store(false)
	if _, err := r.account.Logout(t.Context()); err != nil || len(r.revoked) != 1 || r.revoked[0] != "refresh-canary-3" {
		t.Errorf("revoked: %q, %v", r.revoked, err)
	}
	_, _, err := r.account.Credentials(t.Context())
	wantModelFault(t, err, llm.Auth, "nobody is signed in")
}

func TestNothingShowsATokenOrAVerifier(t *testing.T) {
	redact := &secret.Redactor{}
	r := newHarness(t, func(c *codex.Config) { c.Redact = redact })
	r.signIn()
	l := r.begin()
	r.pass(time.Hour)
	r.wantToken(r.account, 3)
	token, _, err := r.account.Credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, v := range []any{r.account, l, r.status()} {
		fmt.Fprintf(&all, "%v %+v %#v\n", v, v, v)
	}
	if got := all.String(); strings.Contains(got, "canary") || strings.Contains(got, token) || strings.Contains(got, "verifier:\"") {
		t.Errorf("shown: %s", got)
	}
	got := redact.Text(token + " refresh-canary-2 refresh-canary-3")
	if want := "[secret codex access token] [secret codex refresh token] [secret codex refresh token]"; got != want {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"http://localhost:1455/auth/callback?code=a&state=b", "'code=a&amp;state=b'\n", "?error=x#y", "%", "<>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		values, err := oauth.Parse(s)
		if _, ok := event.AsFault(err); err != nil && !ok {
			t.Errorf("%q: %v is no fault", s, err)
		}
		if err == nil && !values.Has("code") && !values.Has("error") {
			t.Errorf("%q: %v", s, values)
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add(jwt(map[string]any{"email": "a@b", "exp": 1.5e9}), "account-1")
	f.Add("a.b.c", "")
	f.Fuzz(func(t *testing.T, token, id string) {
		codex.Claims(token)
		id = strings.ToValidUTF8(id, "")
		account, _, _ := codex.Claims(jwt(map[string]any{"https://api.openai.com/auth": map[string]any{"chatgpt_account_id": id}}))
		if account != id {
			t.Errorf("got %q, want %q", account, id)
		}
	})
}
