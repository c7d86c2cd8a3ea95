// Package codex is the sign-in of the backend codex, and only that: the backend itself is a row of daemon/llm/openai/backends.go. The package
// signs in to a ChatGPT account, whose subscription pays for the answers, and supplies the credentials of each request.
// It uses OAuth 2.0 with PKCE (RFC 6749, RFC 7636) like the codex command line (https://github.com/openai/codex, codex-rs/login).
//
// A sign-in starts with Begin, which returns an address for the browser. The browser returns with a code, either to a server on this
// machine (package oauth) or by Finish with a pasted address (login.go). The code becomes tokens (server.go), which are stored in a vault and
// renewed when needed (token_store.go, credentials.go).
//
// The package never talks to a model, opens no browser, and shows a token only to its caller.
package codex

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"hob/daemon/llm/wire"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// The public endpoints and names of the sign-in. The client has no secret. Its only redirect address is on port 1455.
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
	margin           = time.Minute // shortest remaining life of a token that is handed out
)

// Name is the backend of the account, and the name of its tokens in the vault.
const Name = "codex"

// command is the user's command to sign in.
const command = "hob model login codex"

// Vault stores the tokens. *secret.Vault implements it.
type Vault interface {
	// Load returns the stored value and its place; secret.ErrNone when there is none.
	Load(ctx context.Context, name string) (value []byte, where string, err error)
	// Save returns nil only when the value is stored durably.
	Save(ctx context.Context, name string, value []byte) error
	// Delete removes all copies.
	Delete(ctx context.Context, name string) error
}

// Config describes an account's environment. Only Vault is required; a zero value means the default in the comment.
type Config struct {
	Vault        Vault
	Redact       *secret.Redactor // learns every token; default: one of its own
	Now          func() time.Time // wall time; default: the machine's clock
	Log          *slog.Logger     // default: discards everything
	HTTP         *http.Client     // redirects are never followed; default: a client of its own
	AuthorizeURL string           // https://auth.openai.com/oauth/authorize
	TokenURL     string           // https://auth.openai.com/oauth/token
	RevokeURL    string           // https://auth.openai.com/oauth/revoke
	ClientID     string           // default: that of the codex command line
	Originator   string           // name of the client for the server; "hob"
	Port         int              // port of the redirect address; 1455, the only one that the real server accepts
	LoginTime    time.Duration    // limit of a sign-in; 10 min
	Patience     time.Duration    // limit of a request to the server, and of storing its answer; 30 s
}

// Account is one ChatGPT account. It is safe for concurrent use. There must be only one per vault, because a refresh token can be used only
// once.
type Account struct {
	server *server
	tokens *tokenStore
	logins *logins
	group  *sys.Group
}

// New returns an account. It reads nothing and does not connect.
func New(c Config) *Account {
	c.AuthorizeURL = cmp.Or(c.AuthorizeURL, defaultAuthorize)
	c.TokenURL = cmp.Or(c.TokenURL, defaultToken)
	c.RevokeURL = cmp.Or(c.RevokeURL, defaultRevoke)
	c.ClientID = cmp.Or(c.ClientID, defaultClient)
	c.Originator = cmp.Or(c.Originator, defaultOriginator)
	c.Port = cmp.Or(c.Port, defaultPort)
	c.LoginTime = cmp.Or(c.LoginTime, defaultLoginTime)
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.HTTP = wire.Client(c.HTTP)
	c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
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

// Close cancels a running sign-in. It waits up to Patience for a running renewal, whose tokens would otherwise be lost. Later calls fail.
func (a *Account) Close() {
	a.logins.close()
	a.tokens.close()
	a.group.Wait()
}

// String hides the contents, so that a log shows no token.
func (a *Account) String() string { return "codex account" }

// GoString hides the contents, too.
func (a *Account) GoString() string { return a.String() }
