package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/codex"
	"hob/daemon/secret"
	"hob/daemon/sys"
)

// codexAccount is the sign-in of the backend codex.
// The account keeps the tokens and refreshes them; this type joins it to the routes of the API. It is safe for concurrent use.
type codexAccount struct {
	*codex.Account
	signedIn func() // models that rest for want of a sign-in may be asked again

	mu    sync.Mutex
	login codex.Login // the newest one
	begun bool
}

// newCodexAccount makes the account of codex; its tokens are kept in the state folder.
// Its requests go through the proxy that the config names when they are sent.
func newCodexAccount(o Options, n *network, clock sys.Clock, log *slog.Logger) *codex.Account {
	return codex.New(codex.Config{HTTP: &http.Client{Transport: n}, Vault: newVault(o, n, log), Redact: n.secrets, Now: clock.Wall, Log: log})
}

// newVault makes the place for tokens: the keyring, or files in the state folder.
func newVault(o Options, n *network, log *slog.Logger) *secret.Vault {
	return secret.NewVault(secret.VaultConfig{Folder: filepath.Join(o.state(), "secrets"), Home: o.Home, Redact: n.secrets, Log: log})
}

// credentials gives the credentials of a request to codex.
// The backend calls it for each request, because a token may have been refreshed since the last one.
func credentials(a *codex.Account) func(context.Context) (llm.Credentials, error) {
	return func(ctx context.Context) (llm.Credentials, error) {
		token, id, err := a.Credentials(ctx)
		return llm.Credentials{Token: token, Account: id}, err
	}
}

// begin starts a sign-in.
func (a *codexAccount) begin(ctx context.Context, _ api.None) (api.SignIn, error) {
	l, err := a.Begin(context.WithoutCancel(ctx)) // it outlives the request that began it
	if err != nil {
		return api.SignIn{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.login, a.begun = l, true
	return api.SignIn{Address: l.Address, Loopback: l.Loopback, Note: l.Note, Until: l.Until}, nil
}

// wait blocks until the newest sign-in has ended, and returns the account that is signed in.
func (a *codexAccount) wait(ctx context.Context, _ api.None) (api.Account, error) {
	// The lock is released before the wait, which may last until the owner has signed in at the browser.
	a.mu.Lock()
	l, begun := a.login, a.begun
	a.mu.Unlock()
	if !begun {
		return api.Account{}, event.NewFault(event.Clash, "begin one with: hob model login codex", "no sign-in is under way")
	}
	if err := a.Wait(ctx, l); err != nil {
		return api.Account{}, err
	}
	a.signedIn()
	return a.who(ctx)
}

// finish ends the sign-in under way with the address that the browser ended up at.
func (a *codexAccount) finish(ctx context.Context, in api.SignInAddress) (api.Account, error) {
	if err := a.Finish(ctx, in.Address); err != nil {
		return api.Account{}, err
	}
	a.signedIn()
	return a.who(ctx)
}

// cancel ends the sign-in under way, if there is one.
func (a *codexAccount) cancel(context.Context, api.None) (api.Done, error) {
	a.Cancel()
	return api.Done{OK: true}, nil
}

// who returns the account that is signed in.
func (a *codexAccount) who(ctx context.Context) (api.Account, error) {
	s, err := a.Status(ctx)
	return api.Account(s), err
}

// logout forgets the tokens. revoked: the server has also been told that they are no longer valid.
func (a *codexAccount) logout(ctx context.Context, _ api.None) (api.SignedOut, error) {
	// The tokens are forgotten even if the server cannot be reached.
	revoked, err := a.Logout(ctx)
	return api.SignedOut{Revoked: revoked}, err
}
