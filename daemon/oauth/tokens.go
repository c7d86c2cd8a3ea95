package oauth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"hob/daemon/event"
)

// received checks the answer of the token endpoint to a request sent at a time. Only its lifetime counts, so that the clocks need not agree.
func received(g grant, got *oauth2.Token, sent time.Time) (*tokens, error) {
	bad := func(c rune) bool { return c <= ' ' || c > '~' } // RFC 6750, section 2.1: it becomes part of a header
	switch {
	case !strings.EqualFold(got.Type(), "bearer"):
		return nil, event.NewFault(event.Refused, "", "it gives tokens of a kind that hob does not use: %s", quoted(got.TokenType))
	case got.AccessToken == "" || len(got.AccessToken) > maxSecrets || strings.ContainsFunc(got.AccessToken, bad) || len(got.RefreshToken) > maxSecrets:
		return nil, event.NewFault(event.Refused, "", "it gives a token that cannot be sent")
	}
	t := &tokens{grant: g, Access: got.AccessToken, Refresh: got.RefreshToken}
	if life := lifetime(got.Extra("expires_in")); life > 0 {
		t.Until = sent.Add(life)
	}
	if s, ok := got.Extra("scope").(string); ok {
		t.Granted = scopes(strings.Fields(s))
	}
	if life := lifetime(got.Extra("refresh_token_expires_in")); life > 0 { // Google's field; it has no RFC
		t.Ends = sent.Add(life)
	}
	return t, nil
}

// lifetime is how long a token may be used after it was asked for, by the field expires_in; 0: until the service refuses it.
func lifetime(field any) time.Duration {
	seconds, ok := field.(float64)
	if words, isText := field.(string); isText { // some servers quote it
		var err error
		seconds, err = strconv.ParseFloat(words, 64)
		ok = err == nil
	}
	if !ok || !(seconds > 0) {
		return 0
	}
	life := time.Duration(min(seconds, mostLife.Seconds()) * float64(time.Second))
	return life - min(margin, life/10)
}

// Token returns an access token, renewed if it is about to end; "": nobody is signed in.
func (a *Account) Token(ctx context.Context) (string, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	t := a.rec.Tokens
	if t != nil && t.Refresh != "" && !t.Until.IsZero() && !a.cfg.Now().Before(t.Until) {
		if err := a.renew(ctx); err != nil {
			a.cfg.Log.Warn("a sign-in cannot be renewed now", "account", a.cfg.Key, "err", err) // the service may still accept the old token
		}
		t = a.rec.Tokens
	}
	if t == nil {
		return "", nil
	}
	return t.Access, nil
}

// State is what is known about a sign-in without asking the server.
type State struct {
	SignedIn bool
	Scopes   []string  // what the server has granted
	Ends     time.Time // when somebody has to sign in again; zero: the server names no time
}

// State tells how a sign-in is.
func (a *Account) State(ctx context.Context) (State, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return State{}, err
	}
	defer unlock()
	t := a.rec.Tokens
	if t == nil {
		return State{}, nil
	}
	s := State{SignedIn: true, Scopes: t.Granted, Ends: t.Ends}
	if s.Scopes == nil {
		s.Scopes = t.Scopes
	}
	return s, nil
}

// Rejected is called when the service has refused a token that Token gave out. retry: there is another one now. Otherwise somebody has to sign
// in. Calls at the same time renew it once.
func (a *Account) Rejected(ctx context.Context, access string) (retry bool, err error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	t, now := a.rec.Tokens, a.cfg.Now()
	switch {
	case t == nil:
		return false, nil
	case t.Access != access:
		return true, nil
	case t.Refresh == "" || !t.Forced.IsZero() && now.Sub(t.Forced).Abs() < margin: // also the one before it was new
		a.rec.Tokens = nil
		if a.cfg.Lost != nil {
			a.cfg.Lost(ctx, "it refuses a token that is new")
		}
		return false, a.save(ctx)
	}
	if err := a.renew(ctx); err != nil {
		return false, err
	}
	if t = a.rec.Tokens; t != nil {
		t.Forced = now
	}
	return t != nil, nil
}

// renew trades the refresh token for new tokens (RFC 6749, section 6). A refresh token that the server refuses is dropped with its tokens, and
// that is no error. The right to the record must be held.
func (a *Account) renew(ctx context.Context) error {
	t := a.rec.Tokens
	limited, cancel := a.limited(ctx)
	defer cancel()
	// This part of the library sends any grant, and the resource with it (RFC 8707); the part for refresh tokens cannot.
	c := clientcredentials.Config{
		ClientID: t.Client.ID, ClientSecret: t.Client.Secret, TokenURL: t.TokenURL, AuthStyle: t.Client.Style,
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.Refresh}},
	}
	if t.Resource != "" {
		c.EndpointParams.Set("resource", t.Resource)
	}
	sent := a.cfg.Now()
	got, err := c.Token(limited)
	var n *tokens
	if err == nil {
		n, err = received(t.grant, got, sent)
	}
	code, why, passing := a.sort(err)
	switch {
	case err == nil:
		n.Refresh = cmp.Or(n.Refresh, t.Refresh) // it was not replaced
		if n.Granted == nil {
			n.Granted = t.Granted
		}
		if n.Ends.IsZero() {
			n.Ends = t.Ends
		}
		a.rec.Tokens = n
	case passing:
		return event.NewFault(event.Unavailable, "try again later", "the sign-in to %s cannot be renewed now: %s", a.cfg.Title, why)
	default:
		a.cfg.Log.Warn("a sign-in cannot be renewed any more", "account", a.cfg.Key, "why", why)
		if a.rec.Tokens = nil; code == "invalid_client" || code == "unauthorized_client" {
			a.rec.Client = nil
		}
		if a.cfg.Lost != nil {
			a.cfg.Lost(ctx, why)
		}
	}
	if err := a.save(ctx); err != nil { // they are used all the same: the old refresh token is used up
		a.cfg.Log.Error("the renewed sign-in is not stored; it is lost when hob stops", "account", a.cfg.Key, "err", err)
	}
	return nil
}

// revoking is how long hob waits for a server that takes tokens back.
const revoking = 10 * time.Second

// revoke tells the authorization server that tokens are not used any more (RFC 7009), and says what came of it. The tokens are forgotten already,
// so a server that does not answer changes nothing.
func (t *tokens) revoke(ctx context.Context, c Config) string {
	host := hostOf(t.Issuer)
	if t.Revoke == "" {
		return host + " takes no tokens back: they are good until they end by themselves"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(revoking, c.Patience))
	defer cancel()
	refused := ""
	for _, one := range [][2]string{{"refresh_token", t.Refresh}, {"access_token", t.Access}} {
		if one[1] == "" {
			continue
		}
		if err := t.takeBack(ctx, c, one[0], one[1]); err != nil {
			c.Log.Warn("a token is not revoked", "account", c.Key, "kind", one[0], "err", c.Redact.Text(err.Error()))
			refused += one[0]
		}
	}
	switch {
	case refused == "":
		return host + " has taken the tokens back"
	case refused == "access_token" && t.Refresh != "": // a server need not offer more (RFC 7009, section 2)
		return host + " has taken the refresh token back, not the other one, which is good until it ends by itself"
	}
	return host + " did not take the tokens back: end hob's access in your account there"
}

// takeBack revokes one token.
func (t *tokens) takeBack(ctx context.Context, c Config, kind, token string) error {
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if t.Client.Style != oauth2.AuthStyleInHeader {
		form.Set("client_id", t.Client.ID)
		if t.Client.Secret != "" {
			form.Set("client_secret", t.Client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if t.Client.Style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(t.Client.ID), url.QueryEscape(t.Client.Secret)) // RFC 6749, section 2.3.1
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // only its status counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	return nil
}
