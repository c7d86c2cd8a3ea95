package account_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/account"
	"hob/daemon/account/all"
	"hob/daemon/account/googletest"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/oauth"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// owner has accounts at a server in Google's place, and a clock that the test sets.
type owner struct {
	*account.Service
	t    *testing.T
	g    *googletest.Server
	now  time.Time
	told map[string]string // by key
	ring ring
}

// ring is a keyring in memory.
type ring map[string]string

func (r ring) Read(service, account string) (string, error) {
	if v, ok := r[service+account]; ok {
		return v, nil
	}
	return "", secret.ErrNone
}

func (r ring) Write(service, account, password string) error {
	r[service+account] = password
	return nil
}

func (r ring) Remove(service, account string) error {
	delete(r, service+account)
	return nil
}

func newOwner(t *testing.T) *owner {
	t.Helper()
	o := &owner{t: t, g: googletest.NewServer(), now: time.Now(), told: map[string]string{}, ring: ring{}}
	t.Cleanup(o.g.Close)
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	web := func(string) (http.RoundTripper, error) { return http.DefaultTransport, nil }
	redact := &secret.Redactor{}
	o.Service = account.New(account.Config{
		Kinds:  all.Kinds(web, func() *netguard.Client { return netguard.NewClient(netguard.Config{}) }, all.Google{State: dir, Place: o.g.URL}),
		Vault:  secret.NewVault(secret.VaultConfig{Folder: dir, Home: dir, Redact: redact, Keyring: o.ring}),
		Redact: redact, Log: log,
		Links: account.Links{
			Redirects: &oauth.SignIns{}, Spawn: sys.NewGroup(log, nil), Now: func() time.Time { return o.now },
			Tell: func(_ context.Context, key, text string) { o.told[key] = text },
			Answer: func(context.Context, event.In, []string, string) (event.Receipt, int, error) {
				return event.Receipt{}, 0, nil
			},
		},
	})
	return o
}

// add sets the account google up.
func (o *owner) add(values map[string]string) api.LinkedAccount {
	o.t.Helper()
	made, err := o.Add(o.t.Context(), "google", api.AccountValues{Values: values})
	if err != nil {
		o.t.Fatal(err)
	}
	return made
}

// signIn signs in, in a browser on another machine.
func (o *owner) signIn() api.LinkedAccount {
	o.t.Helper()
	begun, err := o.SignIns().Begin(o.t.Context(), "google")
	if err != nil {
		o.t.Fatal(err)
	}
	back, err := o.g.Visit(begun.Address)
	if err != nil {
		o.t.Fatal(err)
	}
	a, err := o.SignIns().Finish(o.t.Context(), "google", api.SignInAddress{Address: back})
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}

func google() map[string]string {
	return map[string]string{"client-id": googletest.ClientID, "client-secret": googletest.ClientSecret}
}

// An account that is set up again signs in anew, and keeps what is not given: the client, whose secret Google shows once, and the other accesses.
func TestAnAccountIsSetUpAgain(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	values := google()
	values["calendar"] = "write"
	if made := o.add(values); !made.SignIn {
		t.Errorf("%+v", made)
	}
	if a := o.signIn(); strings.Join(a.Has, ", ") != "mail (read), Home" || a.User != googletest.Address || a.Where != secret.InKeyring {
		t.Errorf("%+v", a)
	}
	if made := o.add(map[string]string{"mail": "send"}); !made.SignIn {
		t.Errorf("with the scopes of before: %+v", made)
	}
	if a := o.signIn(); strings.Join(a.Has, ", ") != "mail (send), Home" {
		t.Errorf("%+v", a)
	}
	if _, err := o.Add(t.Context(), "google", api.AccountValues{Values: map[string]string{"client-id": "x"}}); err == nil {
		t.Error("another client is not checked")
	}
}

// The owner is told two days before a sign-in ends, and not before; the key of the notice is the same each time, so that he reads it once.
func TestTheEndIsTold(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.SignIns().Look(t.Context())
	o.g.Ends = 7 * 24 * time.Hour
	o.add(google())
	o.signIn()
	begin := o.now
	for _, day := range []time.Duration{0, 3, 4} {
		o.now = begin.Add(day * 24 * time.Hour)
		o.SignIns().Look(t.Context())
		if len(o.told) > 0 {
			t.Errorf("told after %d days: %q", day, o.told)
		}
	}
	for _, hours := range []time.Duration{5*24 + 1, 6 * 24, 7*24 - 1} {
		o.now = begin.Add(hours * time.Hour)
		o.SignIns().Look(t.Context())
	}
	if len(o.told) != 1 {
		t.Fatalf("told %q", o.told)
	}
	for key, text := range o.told {
		if !strings.HasPrefix(key, "account:google:ends:") || !strings.Contains(text, "ends in 1h") || !strings.Contains(text, "hob account login google") {
			t.Errorf("%s: %s", key, text)
		}
	}
	// The end itself, and access that the owner takes back, are told by the renewal, once.
	o.g.End(false)
	o.now = begin.Add(8 * 24 * time.Hour)
	for range 3 {
		o.SignIns().Look(t.Context())
	}
	if len(o.told) != 2 {
		t.Errorf("told %q", o.told)
	}
}

// Without an account nothing is read and nobody is asked.
func TestWithoutAnAccount(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	o.ring = nil // a write would panic
	o.SignIns().Look(t.Context())
	if list, err := o.List(t.Context()); err != nil || all.Mail(o.Service).Set() || len(list)+len(o.Accounts())+len(o.told)+len(o.g.Requests()) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
