// Package oauth signs hob in to services of others with OAuth 2.1: the authorization code flow with PKCE (RFC 6749, RFC 7636), as the
// authorization specification of MCP asks for it (https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization).
//
// The flow: a service refuses a request and says where its metadata is (discover.go: RFC 9728, RFC 8414). Begin makes an address for the
// owner's browser and stores what belongs to it, so that a restart in between changes nothing (signin.go). The browser ends at an address of
// this machine; Finish takes that address, from a server on this machine or pasted (redirect.go), and trades its code for tokens. Token gives
// them out and renews them (tokens.go).
//
// The package opens no browser, follows no redirect, and shows a token only to its caller. What a server says is never part of an error
// but in quotes and shortened.
package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"hob/daemon/event"
	"hob/daemon/secret"
)

// RedirectPort and RedirectPath are where the browser ends: on the machine on which it runs (RFC 8252, section 7.3). The port is fixed,
// because many authorization servers compare the whole address with the registered one. It is below the ports that systems give out.
const (
	RedirectPort = 14551
	RedirectPath = "/oauth/callback"
)

// RedirectAddress is the redirect address that a client of hob has at every authorization server.
func RedirectAddress() string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", RedirectPort, RedirectPath)
}

// Times and limits.
const (
	patience   = 30 * time.Second   // of everything that one step asks of a server
	linkLife   = 7 * 24 * time.Hour // of the address for the browser
	margin     = time.Minute        // a token is renewed this long before its end, or earlier for a short life
	mostLife   = 10 * 365 * 24 * time.Hour
	maxLink    = 4 << 10 // bytes of the address for the browser
	maxScopes  = 50
	maxFormer  = 8        // addresses that a newer one has replaced and that are remembered
	maxSecrets = 16 << 10 // bytes of one token
)

// Vault stores the tokens. *secret.Vault implements it.
type Vault interface {
	// Load returns the stored value and its place; secret.ErrNone when there is none.
	Load(ctx context.Context, name string) (value []byte, where string, err error)
	// Save returns nil only when the value is stored durably.
	Save(ctx context.Context, name string, value []byte) error
	// Delete removes all copies.
	Delete(ctx context.Context, name string) error
}

// Config describes an account at a service. All fields but Issuer, ClientID, ClientSecret and Patience must be set.
type Config struct {
	Key          string // name of the tokens in the vault
	Title        string // of the service, for people: "the MCP server calendar"
	Again        string // the command that begins a sign-in
	Resource     string // address of the service
	Issuer       string // of the only authorization server that is used; "": the one that the service names
	ClientID     string // registered by the owner: an id, or the https address of a client ID metadata document; "": hob registers itself
	ClientSecret func(ctx context.Context) (string, error)
	Vault        Vault
	Redact       *secret.Redactor
	HTTP         *http.Client                          // guarded; Account follows no redirect
	Provider     *Provider                             // nil: the authorization server is found by the metadata of Resource
	Lost         func(ctx context.Context, why string) // is called once when the tokens cannot be renewed any more; nil: nobody is
	Now          func() time.Time
	Patience     time.Duration // of everything that one step asks of a server; 0: 30 s
	Log          *slog.Logger
}

// Provider is an authorization server whose addresses and scopes are known beforehand. Its client is the owner's own, and it gets no resource parameter.
type Provider struct {
	Issuer, AuthURL, TokenURL, RevokeURL string
	Scopes                               []string
	Params                               url.Values // added to the address for the browser
}

// Account is the owner's account at one service. It is safe for concurrent use.
type Account struct {
	cfg  Config
	turn chan struct{} // has a value while nobody changes the record

	rec    record // guarded by turn
	loaded bool
}

// New makes an account. It reads nothing and does not connect.
func New(c Config) *Account {
	c.Patience = cmp.Or(c.Patience, patience)
	client := *c.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTP = &client
	return &Account{cfg: c, turn: make(chan struct{}, 1)}
}

// record is the value in the vault.
type record struct {
	Tokens *tokens  `json:"tokens,omitempty"`
	Open   *attempt `json:"open,omitempty"`
	Client *client  `json:"client,omitempty"` // the newest registration
	Former []string `json:"former,omitempty"` // states of attempts that a newer one has replaced
	Done   string   `json:"done,omitempty"`   // state of the last attempt that has ended
	Known  *origin  `json:"known,omitempty"`  // of the last sign-in that has worked; it outlives the tokens
}

// origin is a service with its authorization server.
type origin struct {
	Address string `json:"address"` // of the service, as the config had it at the sign-in: tokens are sent nowhere else
	Issuer  string `json:"issuer"`
}

// grant is what tokens are good for, and where they come from.
type grant struct {
	origin
	TokenURL string   `json:"token_url"`
	Revoke   string   `json:"revoke,omitempty"` // where the server takes tokens back; "": nowhere
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes,omitempty"`
	Client   client   `json:"client"`
}

// client is hob as an authorization server knows it.
type client struct {
	Issuer  string           `json:"issuer"`
	ID      string           `json:"id"`
	Secret  string           `json:"secret,omitempty"`
	Style   oauth2.AuthStyle `json:"style"`
	Dynamic bool             `json:"dynamic,omitempty"` // hob registered itself
	Until   time.Time        `json:"until,omitzero"`    // of Secret; zero: it does not end
}

// attempt is a sign-in that has begun.
type attempt struct {
	grant
	State    string    `json:"state"`
	Verifier string    `json:"verifier"`
	Link     string    `json:"link"`
	Before   string    `json:"before,omitempty"`    // issuer of the last sign-in that has worked, if that is another one
	NamesIss bool      `json:"names_iss,omitempty"` // the redirect must name the issuer (RFC 9207)
	Until    time.Time `json:"until"`

	sending bool // its code is on its way
}

// tokens are the result of a sign-in.
type tokens struct {
	grant
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitempty"`
	Until   time.Time `json:"until,omitzero"`    // when it has to be renewed; zero: when the service says so
	Granted []string  `json:"granted,omitempty"` // scopes by the server's answer; nil: those that were asked for (RFC 6749, section 5.1)
	Ends    time.Time `json:"ends,omitzero"`     // when Refresh ends; zero: the server names no time

	Forced time.Time `json:"-"` // when it replaced a token that the service had refused; zero: it did not
}

// lock waits for the exclusive right to the record, and reads it for the first time.
func (a *Account) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the sign-in: %w", context.Cause(ctx))
	}
	unlock = func() { <-a.turn }
	if a.loaded {
		return unlock, nil
	}
	doc, _, err := a.cfg.Vault.Load(ctx, a.cfg.Key)
	switch {
	case errors.Is(err, secret.ErrNone), errors.Is(err, secret.ErrDamaged):
	case err != nil:
		unlock()
		return nil, fmt.Errorf("read the sign-in: %w", err)
	case json.Unmarshal(doc, &a.rec) != nil:
		a.rec = record{} // the owner signs in again
	}
	a.loaded = true
	a.learn()
	a.rec.disown(a.cfg.Resource, a.cfg.Issuer)
	return unlock, nil
}

// disown drops what belongs to another address than that of the service, or to another issuer than that of the config, if it names one: the key is
// a name, whose section can change. The vault keeps it until something is stored.
func (r *record) disown(address, issuer string) {
	foreign := func(o origin) bool { return o.Address != address || issuer != "" && !sameIssuer(o.Issuer, issuer) }
	if t := r.Tokens; t != nil && foreign(t.origin) {
		r.Tokens = nil
	}
	if k := r.Known; k != nil && k.Address != address {
		r.Known = nil
	}
	if o := r.Open; o != nil && foreign(o.origin) {
		r.replaced() // the question about it is answered with that of the next sign-in
		r.Open = nil
	}
}

// replaced notes that the open attempt is no longer the one that counts.
func (r *record) replaced() {
	r.Former = append(r.Former, r.Open.State)
	r.Former = r.Former[max(len(r.Former)-maxFormer, 0):]
}

// save stores the record. The right to it must be held.
func (a *Account) save(ctx context.Context) error {
	a.learn()
	doc, err := json.Marshal(a.rec) // #nosec G117 -- it goes to the vault, which is for secrets
	if err != nil {
		return fmt.Errorf("write the sign-in: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return a.cfg.Vault.Save(ctx, a.cfg.Key, doc)
}

// learn makes sure that no log and no text shows the secrets of the record.
func (a *Account) learn() {
	if t := a.rec.Tokens; t != nil {
		a.cfg.Redact.Add(a.cfg.Key+" access token", t.Access)
		a.cfg.Redact.Add(a.cfg.Key+" refresh token", t.Refresh)
		a.cfg.Redact.Add(a.cfg.Key+" client secret", t.Client.Secret)
	}
	if o := a.rec.Open; o != nil {
		a.cfg.Redact.Add(a.cfg.Key+" code verifier", o.Verifier)
		a.cfg.Redact.Add(a.cfg.Key+" client secret", o.Client.Secret)
	}
}

// Forget deletes the tokens and what has begun. It returns the states of sign-ins that were open, and says what the server was told; "": there
// were no tokens.
func (a *Account) Forget(ctx context.Context) (states []string, said string, err error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	states = a.rec.states()
	t := a.rec.Tokens
	a.rec = record{}
	if err := a.cfg.Vault.Delete(ctx, a.cfg.Key); err != nil || t == nil {
		return states, "", err
	}
	return states, t.revoke(ctx, a.cfg), nil
}

// states lists the states of the open sign-in and of those that it replaced.
func (r *record) states() []string {
	list := slices.Clone(r.Former)
	if r.Open != nil {
		list = append(list, r.Open.State)
	}
	return list
}

// ended notes that the open sign-in is over, and returns the states that it answers.
func (r *record) ended() []string {
	states := r.states()
	r.Done, r.Open, r.Former = r.Open.State, nil, nil
	return states
}

// limited returns a context for requests that must not be cut off by a caller who leaves.
func (a *Account) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Patience)
	return context.WithValue(ctx, oauth2.HTTPClient, a.cfg.HTTP), cancel
}

// fault makes an error for the owner.
func (a *Account) fault(kind event.FaultKind, format string, args ...any) *event.Fault {
	return event.NewFault(kind, "begin again with: "+a.cfg.Again, format, args...)
}
