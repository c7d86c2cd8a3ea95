package codex

import (
	"context"
	"errors"
	"time"

	"hob/daemon/event"
	"hob/daemon/secret"
)

// Status says who is signed in.
type Status struct {
	SignedIn bool       // there are tokens, and the server has not refused them
	Account  string     // the account's id
	Email    string     // "" when the server names none
	Where    string     // what keeps the tokens: secret.InKeyring, or the path of a file
	Until    *time.Time // how long the access token lives; it is renewed by itself
	Problem  string     // why the tokens are of no use, and what to do
}

// Status looks at what the vault keeps; it asks no server. Tokens that are damaged or refused are a Problem, not an error;
// errors are *event.Fault.
func (a *Account) Status(ctx context.Context) (Status, error) {
	t, where, err := a.tokens.load(ctx)
	switch {
	case errors.Is(err, secret.ErrNone):
		return Status{}, nil
	case unreadable(err):
		return Status{Where: where, Problem: "the kept sign-in is damaged; sign in again with: " + command}, nil
	case err != nil:
		f := event.NewFault(event.Unavailable, "unlock the keyring, or sign in again with: "+command, "the kept sign-in cannot be read: %v", err)
		f.Err = err
		return Status{}, f
	}
	s := Status{SignedIn: true, Account: t.Account, Email: t.Email, Where: where, Until: &t.Until}
	if refused := a.tokens.refusedBefore(t.Refresh); refused != nil {
		s.SignedIn, s.Problem = false, refused.Text
	}
	return s, nil
}

// Logout forgets the tokens, ends a sign-in under way, and asks the server to revoke them (RFC 7009). revoked tells whether
// the server has said that it did; where it has not, an access token that somebody else has lives to its end. An error, an
// *event.Fault or the end of ctx, means that not everything is forgotten.
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
