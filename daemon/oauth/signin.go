package oauth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"hob/daemon/event"
)

// SignIn is a sign-in that has begun: the owner opens Link.
type SignIn struct {
	Link   string
	Host   string    // of Link
	Code   string    // host that gets the code
	Issuer string    // host of the authorization server
	Before string    // host of the authorization server of the last sign-in that has worked; "": it is the same one, or there was none
	Scopes []string  // what hob asks for; nil: what the service grants by itself
	Until  time.Time // when Link ends
}

// Cautions are the sentences that the owner must read before he opens the link, because the sign-in involves more hosts than that of the link. A
// hostile service can send him to a good host, and have its code sent to itself.
func (s SignIn) Cautions() (list []string) {
	if s.Code != s.Host {
		list = append(list, "CAUTION: you sign in at "+s.Host+", but the code goes to "+s.Code+", which then gets the access")
	}
	if s.Issuer != s.Host && s.Issuer != s.Code {
		list = append(list, "CAUTION: "+s.Issuer+" has named these addresses")
	}
	if s.Before != "" {
		list = append(list, "CAUTION: the last sign-in was by "+s.Before+", and this one is by "+s.Issuer+": go on only if you know why")
	}
	return list
}

// Begin returns the address for the owner's browser. The sign-in that is open already is used again if it asks for enough; with fresh, a new
// one replaces it, with a new registration. Errors are *event.Fault.
func (a *Account) Begin(ctx context.Context, c Challenge, fresh bool) (SignIn, error) {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	unlock, err := a.lock(ctx)
	if err != nil {
		return SignIn{}, a.failed(err, "the sign-in cannot begin")
	}
	defer unlock()
	o, now := a.rec.Open, a.cfg.Now()
	if o != nil && !fresh && now.Before(o.Until) && contains(o.Scopes, c.Scopes) {
		return o.signIn(), nil
	}
	if t := a.rec.Tokens; t != nil && c.Error == insufficient && !fresh && contains(t.Scopes, c.Scopes) {
		return SignIn{}, a.fault(event.Refused, "%s refuses although the sign-in has all that it asks for (%s)", a.cfg.Title, strings.Join(c.Scopes, " "))
	}
	p, who, err := a.server(ctx, c, fresh)
	if err != nil {
		return SignIn{}, err
	}
	n := &attempt{
		grant: grant{origin: origin{a.cfg.Resource, p.server.Issuer}, TokenURL: p.server.TokenEndpoint, Revoke: p.server.RevocationEndpoint, Resource: p.resource, Scopes: a.wanted(c, p), Client: who},
		State: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), // 32 random bytes each
		NamesIss: p.server.AuthorizationResponseIssParameterSupported, Until: now.Add(linkLife),
	}
	if k := a.rec.Known; k != nil && k.Issuer != n.Issuer {
		n.Before = k.Issuer
	}
	cfg := n.config()
	cfg.Endpoint.AuthURL = p.server.AuthorizationEndpoint
	options := append(n.resource(), oauth2.S256ChallengeOption(n.Verifier))
	if a.cfg.Provider != nil {
		for name := range a.cfg.Provider.Params {
			options = append(options, oauth2.SetAuthURLParam(name, a.cfg.Provider.Params.Get(name)))
		}
	}
	if n.Link = cfg.AuthCodeURL(n.State, options...); len(n.Link) > maxLink {
		return SignIn{}, a.fault(event.Refused, "the address of the sign-in has more than %d KB", maxLink>>10)
	}
	if o != nil {
		a.rec.replaced()
	}
	a.rec.Open = n
	if who.Dynamic {
		a.rec.Client = &who
	}
	if err := a.save(ctx); err != nil {
		return SignIn{}, a.failed(err, "the sign-in cannot be stored")
	}
	return n.signIn(), nil
}

// server finds the authorization server, and hob as that knows it.
func (a *Account) server(ctx context.Context, c Challenge, fresh bool) (p place, who client, err error) {
	if fixed := a.cfg.Provider; fixed != nil {
		p.server = &oauthex.AuthServerMeta{Issuer: fixed.Issuer, AuthorizationEndpoint: fixed.AuthURL, TokenEndpoint: fixed.TokenURL, RevocationEndpoint: fixed.RevokeURL}
		who = client{Issuer: fixed.Issuer, ID: a.cfg.ClientID, Style: oauth2.AuthStyleInParams}
		who.Secret, err = a.cfg.ClientSecret(ctx)
		return p, who, err
	}
	if p, err = a.discover(ctx, c); err != nil {
		return p, who, err
	}
	who, err = a.register(ctx, p.server, fresh)
	return p, who, err
}

// resource are the options of a request that names the service (RFC 8707).
func (g grant) resource() []oauth2.AuthCodeOption {
	if g.Resource == "" {
		return nil
	}
	return []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", g.Resource)}
}

// insufficient is the error of a token without a scope that a request needs (RFC 6750, section 3.1).
const insufficient = "insufficient_scope"

// wanted is what the owner is asked to grant: what the service has asked for, else all that it knows, and what he has granted before.
func (a *Account) wanted(c Challenge, p place) []string {
	if a.cfg.Provider != nil {
		return scopes(a.cfg.Provider.Scopes)
	}
	list := c.Scopes
	if len(list) == 0 {
		list = p.scopes
	}
	if slices.Contains(p.server.ScopesSupported, "offline_access") {
		list = append(slices.Clone(list), "offline_access") // without it some servers give nothing to renew tokens with
	}
	if t := a.rec.Tokens; t != nil && t.Issuer == p.server.Issuer {
		return scopes(t.Scopes, list)
	}
	return scopes(list)
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func (o *attempt) signIn() SignIn {
	s := SignIn{Link: o.Link, Host: hostOf(o.Link), Code: hostOf(o.TokenURL), Issuer: hostOf(o.Issuer), Scopes: o.Scopes, Until: o.Until}
	if o.Before != "" {
		s.Before = hostOf(o.Before)
	}
	return s
}

func (g grant) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.Client.ID, ClientSecret: g.Client.Secret, RedirectURL: RedirectAddress(), Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.Client.Style},
	}
}

// Owns reports whether a state belongs to a sign-in of this account, open or not.
func (a *Account) Owns(ctx context.Context, state string) (bool, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return state != "" && (slices.Contains(a.rec.states(), state) || state == a.rec.Done), nil
}

// Finish completes the open sign-in with the parameters of the redirect (RFC 6749, section 4.1.2). states are those of all sign-ins that are
// over with it; nil: it is still open. Errors are *event.Fault.
func (a *Account) Finish(ctx context.Context, values url.Values) (states []string, err error) {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	o, states, err := a.claim(ctx, values)
	if err != nil {
		return states, err
	}
	sent := a.cfg.Now()
	got, err := o.config().Exchange(ctx, values.Get("code"), append(o.resource(), oauth2.VerifierOption(o.Verifier))...)
	var t *tokens
	if err == nil {
		t, err = received(o.grant, got, sent)
	}
	unlock, locked := a.lock(ctx)
	if locked != nil {
		return nil, a.failed(locked, "the sign-in cannot be stored")
	}
	defer unlock()
	o.sending = false
	code, why, passing := a.sort(err)
	switch {
	case a.rec.Open != o:
		return nil, a.fault(event.Clash, "a newer sign-in has begun")
	case err == nil:
		a.rec.Tokens, a.rec.Known = t, &o.origin
	case passing: // the code may still be good
		return nil, event.NewFault(event.Unavailable, "try the same address once more in a moment", "the authorization server %s cannot be reached: %s", hostOf(o.Issuer), why)
	case code == "invalid_client" || code == "unauthorized_client":
		a.rec.Client = nil
	}
	states = a.rec.ended()
	saved := a.save(ctx)
	switch {
	case err != nil:
		return states, a.fault(event.Refused, "the authorization server %s refuses the sign-in: %s", hostOf(o.Issuer), why)
	case saved != nil:
		return states, a.failed(saved, "the tokens cannot be stored; they are lost when hob stops")
	}
	return states, nil
}

// claim checks the parameters of a redirect and reserves the code, so that it is sent only once. Nothing of an address with another state is
// used, and it changes nothing: any page in a browser can call the redirect address.
func (a *Account) claim(ctx context.Context, values url.Values) (*attempt, []string, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return nil, nil, a.failed(err, "the sign-in cannot go on")
	}
	defer unlock()
	o, state := a.rec.Open, values.Get("state")
	if len(values["state"]) != 1 || o == nil || subtle.ConstantTimeCompare([]byte(state), []byte(o.State)) != 1 {
		switch {
		case state != "" && state == a.rec.Done:
			return nil, nil, a.fault(event.Clash, "this sign-in is over already: its address counts once")
		case slices.Contains(a.rec.Former, state):
			return nil, nil, event.NewFault(event.Clash, "use the newest link", "a newer sign-in has begun")
		}
		return nil, nil, a.fault(event.Invalid, "the address does not belong to an open sign-in: its state is another one")
	}
	iss, named := values.Get("iss"), values.Has("iss")
	switch {
	case o.sending:
		return nil, nil, event.NewFault(event.Clash, "wait for it", "the code is being sent already")
	case !a.cfg.Now().Before(o.Until):
		err = a.fault(event.Clash, "the sign-in has expired")
	// RFC 9207, section 2.4: compared as it is. Another server's answer could carry another server's code.
	case named && (len(values["iss"]) != 1 || iss != o.Issuer), !named && o.NamesIss:
		err = a.fault(event.Refused, "the address comes from another authorization server than %s", hostOf(o.Issuer))
	case values.Has("error"):
		err = a.fault(event.Refused, "the sign-in was declined: %s", quoted(values.Get("error")+" "+values.Get("error_description")))
	case len(values["code"]) != 1 || values.Get("code") == "":
		return nil, nil, event.NewFault(event.Invalid, CopyHint, "there is not one code in this address")
	}
	if err != nil {
		states := a.rec.ended()
		if saved := a.save(ctx); saved != nil {
			a.cfg.Log.Warn("the end of a sign-in is not stored", "account", a.cfg.Key, "err", saved)
		}
		return nil, states, err
	}
	o.sending = true
	return o, nil, nil
}

// sort classifies an error of the token endpoint. passing: the same request may work later. why is without what the library quotes.
func (a *Account) sort(err error) (code, why string, passing bool) {
	if err == nil {
		return "", "", false
	}
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := r.Response.StatusCode
		code, words := Said(r.Body)
		code = cmp.Or(code, r.ErrorCode)
		passing = status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout || status/100 == 3
		if code == "temporarily_unavailable" || code == "server_error" || code == "slow_down" {
			passing = true
		}
		if code+words == "" {
			return "", "it answers HTTP " + r.Response.Status, passing
		}
		return code, quoted(a.cfg.Redact.Text(strings.TrimSpace(code + " " + words))), passing
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return "", quoted(u.Err.Error()), true
	}
	if f, ok := event.AsFault(err); ok {
		return "", f.Text, false
	}
	return "", "its answer cannot be understood", errors.Is(err, context.DeadlineExceeded)
}

// Link returns the address of the open sign-in; "": there is none, or it cannot be read.
func (a *Account) Link(ctx context.Context) string {
	unlock, err := a.lock(ctx)
	if err != nil {
		return ""
	}
	defer unlock()
	if a.rec.Open == nil {
		return ""
	}
	return a.rec.Open.Link
}
