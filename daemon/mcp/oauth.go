package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/tools"
)

// refusal is the error of a request that a service has refused, so that it has had no effect.
type refusal struct {
	signIn oauth.SignIn // what the owner can do; zero: nothing has begun
	err    error        // why nothing has begun, or why a sign-in would not help
}

func (r *refusal) Error() string {
	if r.err != nil {
		return r.err.Error()
	}
	return "it wants a sign-in at " + r.signIn.Host
}

func (r *refusal) Unwrap() error { return r.err }

// Is makes a refusal an errLogin.
func (r *refusal) Is(target error) bool { return target == errLogin }

// refused returns the refusal in a chain of errors.
func refused(err error) (*refusal, bool) {
	var r *refusal
	ok := errors.As(err, &r)
	return r, ok
}

// newAccount makes the account of a server; nil: it has none, because it is a program, or because its section has its token.
func newAccount(v *server) *oauth.Account {
	if v.conf.URL == "" {
		return nil
	}
	for name := range v.conf.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return nil
		}
	}
	return oauth.New(oauth.Config{
		Key:   vaultKey(v.name),
		Title: "the MCP server " + v.name, Again: loginCommand(v.name), Resource: v.conf.URL, Issuer: v.conf.Issuer, ClientID: v.conf.ClientID,
		ClientSecret: func(ctx context.Context) (string, error) {
			if v.conf.ClientSecret == "" {
				return "", nil
			}
			return v.svc.Resolve(ctx, mcpPath(v.name, "client_secret"), v.conf.ClientSecret)
		},
		Vault: v.svc.Vault, Redact: v.svc.Redact, HTTP: &http.Client{Transport: guarded{v}}, Now: v.svc.Clock.Wall, Log: v.svc.Log,
	})
}

// vaultKey names the tokens of a server in the vault, which takes no _. A name has no two - in a row.
func vaultKey(name string) string { return "mcp-" + strings.ReplaceAll(name, "_", "--") }

// guarded is the way of a sign-in to the network: that of the server, by the present config.
type guarded struct{ v *server }

// RoundTrip makes one request.
func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	way, err := g.v.svc.Ways.ServerWeb(g.v.svc.Config(), g.v.conf)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Close = true // the way is used once
	return way.RoundTrip(req)
}

// authorizer joins the SDK's transport to the account of a server.
type authorizer struct{ account *oauth.Account }

// TokenSource returns the account as a source of tokens.
func (h authorizer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return accountTokens{ctx, h.account}, nil
}

// accountTokens is an account as the SDK asks it for tokens.
type accountTokens struct {
	ctx     context.Context //nolint:containedctx // of the session, for a library without one
	account *oauth.Account
}

// Token returns a token, or nil without an error: the request is then sent without one.
func (s accountTokens) Token() (*oauth2.Token, error) {
	access, err := s.account.Token(s.ctx)
	if err != nil || access == "" {
		return nil, err
	}
	return &oauth2.Token{AccessToken: access}, nil
}

// Authorize is called with a refused request. Without an error the SDK sends it once more.
func (h authorizer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	_ = resp.Body.Close()
	c := oauth.ParseChallenge(resp.Header)
	if resp.StatusCode == http.StatusForbidden && c.Error != "insufficient_scope" {
		return &refusal{err: fmt.Errorf("it refuses: %s", resp.Status)}
	}
	if access, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok && resp.StatusCode == http.StatusUnauthorized {
		retry, err := h.account.Rejected(ctx, access)
		if retry {
			return nil
		}
		if err != nil {
			return &refusal{err: err}
		}
	}
	in, err := h.account.Begin(ctx, c, false)
	return &refusal{in, err}
}

// askSignIn parks the turn with a question to the owner, if a sign-in has begun.
func askSignIn(call tools.Call, server string, r *refusal) (tools.Result, bool) {
	if r.signIn.Link == "" || call.Turn == 0 {
		return tools.Result{}, false
	}
	text := "The MCP server " + server + " wants you to sign in at " + r.signIn.Host
	if len(r.signIn.Scopes) > 0 {
		text += ", for: “" + strings.Join(r.signIn.Scopes, "”, “") + "”"
	}
	for _, caution := range r.signIn.Cautions() {
		text += ". " + caution
	}
	text += fmt.Sprintf(". Open the link and sign in. Then paste here, in our private chat, the address that the browser ends up at: it begins with %s, "+
		"and a page that does not load is fine. I take it from the message, and it is not stored. Or sign in on a terminal of this machine: hob mcp login %s",
		oauth.RedirectAddress(), server)
	return tools.Result{
		Content: "the owner was asked to sign in; the turn waits",
		Next:    tools.Wait{Kind: tools.ForQuestion, Until: r.signIn.Until, Ask: &tools.Ask{Text: text, Link: r.signIn.Link}},
	}, true
}

// complete completes a sign-in, and answers the questions about it. in is the message that it came with; zero: there was none.
func (s SignIns) complete(ctx context.Context, v *server, values url.Values, in event.In) (event.Receipt, error) {
	states, err := v.account.Finish(ctx, values)
	if len(states) == 0 {
		return event.Receipt{}, err // it is still open
	}
	answer := "I have signed in; call it again"
	if err != nil {
		answer = "the sign-in did not work"
	} else {
		v.worked()
	}
	s.servers.redirects.End(loginCommand(v.name), err)
	r, n, rows := s.servers.Questions.Rows.AnswerSignIn(context.WithoutCancel(ctx), in, states, answer)
	switch {
	case rows != nil:
		return r, errors.Join(err, rows)
	case err == nil && n == 0 && in.Source != "":
		s.servers.Tell(context.WithoutCancel(ctx), "mcp:signed-in:"+states[len(states)-1], "You are signed in to the MCP server "+v.name+".")
	}
	return r, err
}
