// Package codex signs in to a ChatGPT account, whose subscription then pays for the backend codex, and gives the
// credentials of each request: OAuth 2.0 with PKCE (RFC 6749, RFC 7636) as the codex command line does it
// (https://github.com/openai/codex, codex-rs/login). It keeps the tokens in a vault and renews them.
// It never speaks to a model, opens no browser, and shows a token to nobody but its caller.
package codex

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"hob/daemon/secret"
	"hob/daemon/sys"
)

// The public endpoints and names of the sign-in. The client has no secret, and one redirect address on port 1455.
const (
	defaultAuthorize  = "https://auth.openai.com/oauth/authorize"
	defaultToken      = "https://auth.openai.com/oauth/token"  //nolint:gosec // an address
	defaultRevoke     = "https://auth.openai.com/oauth/revoke" //nolint:gosec // an address
	defaultClient     = "app_EMoamEEZ73f0CkXaXp7hrann"
	defaultOriginator = "hob"
	defaultPort       = 1455
	redirectPath      = "/auth/callback"
)

const (
	defaultLoginTime = 10 * time.Minute
	defaultPatience  = 30 * time.Second
	margin           = time.Minute // what a token still has to live when it is given out
)

// Name is the backend that the account is for, and the name of its tokens in the vault.
const Name = "codex"

// command is how a person signs in.
const command = "hob model login codex"

// Vault keeps the tokens; *secret.Vault does.
type Vault interface {
	// Load returns what Save has kept, and where; secret.ErrNone when there is nothing.
	Load(ctx context.Context, name string) (value []byte, where string, err error)
	// Save has kept the value for good when it returns nil.
	Save(ctx context.Context, name string, value []byte) error
	// Delete forgets it everywhere.
	Delete(ctx context.Context, name string) error
}

// Config is an account's surroundings. Only Vault is required; zero values mean the default that is named with each field.
type Config struct {
	Vault        Vault
	Redact       *secret.Redactor // learns every token; one of its own
	Now          func() time.Time // wall time; the machine's clock
	Log          *slog.Logger     // none
	HTTP         *http.Client     // its redirects are never followed; a client of its own
	AuthorizeURL string           // https://auth.openai.com/oauth/authorize
	TokenURL     string           // https://auth.openai.com/oauth/token
	RevokeURL    string           // https://auth.openai.com/oauth/revoke
	ClientID     string           // the codex command line's
	Originator   string           // who asks, as the server is told; "hob"
	Port         int              // of the redirect address on this machine; 1455, the only one that the real server redirects to
	LoginTime    time.Duration    // how long a sign-in may take; 10 min
	Patience     time.Duration    // how long a request to the server may take, and how long keeping its answer; 30 s
}

// Account is one ChatGPT account. It is safe for concurrent use; there must be one per vault, since a refresh token serves
// once.
type Account struct {
	server *server
	tokens *tokenStore
	logins *logins
	group  *sys.Group
}

// New makes an account; it looks at nothing and connects to nobody yet.
func New(c Config) *Account {
	c.AuthorizeURL = cmp.Or(c.AuthorizeURL, defaultAuthorize)
	c.TokenURL = cmp.Or(c.TokenURL, defaultToken)
	c.RevokeURL = cmp.Or(c.RevokeURL, defaultRevoke)
	c.ClientID = cmp.Or(c.ClientID, defaultClient)
	c.Originator = cmp.Or(c.Originator, defaultOriginator)
	c.Port = cmp.Or(c.Port, defaultPort)
	c.LoginTime = cmp.Or(c.LoginTime, defaultLoginTime)
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.HTTP = client(c.HTTP)
	if c.Redact == nil {
		c.Redact = &secret.Redactor{}
	}
	if c.Now == nil {
		c.Now = sys.RealClock().Wall
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	group, srv := sys.NewGroup(c.Log, nil), &server{cfg: c}
	p := &tokenStore{cfg: c, server: srv, group: group, turn: make(chan struct{}, 1)}
	return &Account{server: srv, tokens: p, logins: &logins{cfg: c, server: srv, tokens: p, group: group}, group: group}
}

// Close ends a sign-in under way and waits for a renewal under way, whose tokens would be lost: for as long as Patience
// lets it take. Calls after it fail.
func (a *Account) Close() {
	a.logins.close()
	a.tokens.close()
	a.group.Wait()
}

// String says nothing of what is inside.
func (a *Account) String() string { return "codex account" }

// GoString says nothing of what is inside.
func (a *Account) GoString() string { return a.String() }

// client copies the given client, so that a redirect, which would carry a token to another address, is an answer.
func client(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // nothing is taken from the environment
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}
