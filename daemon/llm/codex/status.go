package codex

import (
	"context"
	"errors"
	"time"

	"hob/daemon/event"
	"hob/daemon/secret"
)

// Status describes the current sign-in.
type Status struct {
	SignedIn bool       // there are tokens and the server has not refused them
	Account  string     // the account's id
	Email    string     // "" if the server names none
	Where    string     // where the tokens are stored: secret.InKeyring, or a file's path
	Until    *time.Time // end of the access token, which is renewed automatically
	Problem  string     // why the tokens cannot be used, and what to do
}

// Status reads the stored tokens. It makes no request. Damaged or refused tokens are a Problem, not an error; errors are *event.Fault.
func (a *Account) Status(ctx context.Context) (Status, error) {
	t, where, err := a.tokens.load(ctx)
	switch {
	case errors.Is(err, secret.ErrNone):
		return Status{}, nil
	case unreadable(err):
		return Status{Where: where, Problem: "the stored sign-in is damaged; sign in again with: " + command}, nil
	case err != nil:
		f := event.NewFault(event.Unavailable, "unlock the keyring, or sign in again with: "+command, "the stored sign-in cannot be read: %v", err)
		f.Err = err
		return Status{}, f
	}
	s := Status{SignedIn: true, Account: t.Account, Email: t.Email, Where: where, Until: &t.Until}
	if refused := a.tokens.refusedBefore(t.Refresh); refused != nil {
		s.SignedIn, s.Problem = false, refused.Text
	}
	return s, nil
}

// Logout deletes the tokens, cancels a running sign-in, and asks the server to revoke the tokens (RFC 7009). revoked reports whether the
// server has confirmed it; otherwise a copied access token stays valid until it expires. An error, an *event.Fault or the end of ctx, means
// that a copy may remain.
func (a *Account) Logout(ctx context.Context) (revoked bool, err error) {
	t, err := a.tokens.drop(ctx)
	a.logins.cancel(event.NewFault(event.Clash, "begin again with: "+command, "the account was signed out"))
	if t != nil {
		revoked = a.server.revoke(ctx, t)
	}
	if err != nil && ctx.Err() == nil {
		f := event.NewFault(event.Unavailable, "unlock the keyring and sign out once more", "the tokens are not deleted everywhere: %v", err)
		f.Err = err
		return revoked, f
	}
	return revoked, err
}
