package codex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"

	"golang.org/x/oauth2"
)

// server is the client of the authorization server.
type server struct{ cfg Config }

// oauth describes the server. The auth style is fixed: a library that probes styles would send a refresh token twice.
func (s *server) oauth() *oauth2.Config {
	return &oauth2.Config{
		ClientID: s.cfg.ClientID,
		Endpoint: oauth2.Endpoint{
			AuthURL: s.cfg.AuthorizeURL, TokenURL: s.cfg.TokenURL, AuthStyle: oauth2.AuthStyleInParams,
		},
		RedirectURL: fmt.Sprintf("http://localhost:%d%s", s.cfg.Port, redirectPath),
		Scopes:      []string{"openid", "profile", "email", "offline_access"},
	}
}

// limited returns a context for work that must finish even if its caller leaves. It has its own time limit.
func (s *server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, s.cfg.HTTP), s.cfg.Patience)
}

// address returns the page to open in the browser. The extra parameters are those of the codex command line.
func (s *server) address(state, verifier string) string {
	return s.oauth().AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("id_token_add_organizations", "true"),
		oauth2.SetAuthURLParam("codex_cli_simplified_flow", "true"),
		oauth2.SetAuthURLParam("originator", s.cfg.Originator))
}

// exchange trades the code for tokens. Errors are *event.Fault.
func (s *server) exchange(ctx context.Context, code, verifier string) (*tokens, error) {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	sent := s.cfg.Now()
	got, err := s.oauth().Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, s.sort(err).signIn()
	}
	if got.RefreshToken == "" {
		return nil, event.NewFault(event.Refused, "begin again with: "+command, "the sign-in server gave no refresh token")
	}
	return s.received(tokens{}, got, sent), nil
}

// renew trades a refresh token for new tokens, which uses it up. On failure it returns the server's reply.
func (s *server) renew(ctx context.Context, t *tokens) (*tokens, *reply) {
	sent := s.cfg.Now()
	// A token without an access token counts as expired, so the library asks the server at once.
	got, err := s.oauth().TokenSource(ctx, &oauth2.Token{RefreshToken: t.Refresh}).Token()
	if err != nil {
		r := s.sort(err)
		return nil, &r
	}
	return s.received(*t, got, sent), nil
}

// received builds tokens from the server's answer to a request sent at a time. Fields that the answer omits keep their value from old.
func (s *server) received(old tokens, got *oauth2.Token, sent time.Time) *tokens {
	t := old
	t.Access = got.AccessToken
	if got.RefreshToken != "" {
		t.Refresh = got.RefreshToken
	}
	learn(s.cfg.Redact, &t)
	access := claimsOf(got.AccessToken)
	id, _ := got.Extra("id_token").(string) // optional: it was requested, but nothing depends on it
	for _, c := range []claims{access, claimsOf(id)} {
		if c.Auth.Account != "" {
			t.Account = c.Auth.Account
		}
		if email := oauth.Clean(cmp.Or(c.Email, c.Profile.Email)); email != "" {
			t.Email = email
		}
	}
	// Prefer the lifetime in the answer. The token's own expiry depends on both clocks agreeing.
	switch {
	case got.ExpiresIn > 0:
		t.Until = sent.Add(time.Duration(got.ExpiresIn) * time.Second)
	// An expiry of 1e11 or more is in milliseconds or wrong: in seconds it would be after the year 5000.
	case access.Expires > 0 && access.Expires < 1e11:
		t.Until = time.Unix(int64(access.Expires), 0).UTC()
	default:
		t.Until = sent.Add(unknownLife)
	}
	return &t
}

// revoke sends the request as JSON, like the codex command line. Revoking a refresh token ends everything that was granted with it.
func (s *server) revoke(ctx context.Context, t *tokens) bool {
	body, err := json.Marshal(map[string]string{"token": t.Refresh, "token_type_hint": "refresh_token", "client_id": s.cfg.ClientID})
	if err == nil {
		err = s.post(ctx, s.cfg.RevokeURL, body)
	}
	if err != nil {
		s.cfg.Log.Warn("the sign-in server has not revoked the tokens", "err", err)
	}
	return err == nil
}

// post sends a document without reading an answer.
func (s *server) post(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.cfg.HTTP.Do(req)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("HTTP %d", res.StatusCode)
	}
	return nil
}
