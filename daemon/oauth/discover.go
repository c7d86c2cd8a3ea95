package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/text"
)

// Challenge is what a service says when it refuses a request (RFC 6750, section 3; RFC 9728, section 5.1).
type Challenge struct {
	Metadata string   // address of the service's metadata; "": it names none
	Scopes   []string // that it wants
	Error    string   // such as insufficient_scope
}

// ParseChallenge reads the headers of a refusal. What cannot be read counts as missing.
func ParseChallenge(h http.Header) (c Challenge) {
	list, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range list {
		if one.Scheme == "bearer" {
			return Challenge{one.Params["resource_metadata"], scopes(strings.Fields(one.Params["scope"])), one.Params["error"]}
		}
	}
	return c
}

// scopes returns the valid scopes of a list, each once (RFC 6749, section 3.3).
func scopes(list ...[]string) (all []string) {
	for _, s := range slices.Concat(list...) {
		valid := s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
		if valid && !slices.Contains(all, s) && len(all) < maxScopes {
			all = append(all, s)
		}
	}
	return all
}

// place is a service with its authorization server.
type place struct {
	resource string
	scopes   []string // all that the service knows
	server   *oauthex.AuthServerMeta
}

// discover finds the authorization server of the service.
func (a *Account) discover(ctx context.Context, c Challenge) (p place, err error) {
	issuer := ""
	if p.resource, issuer, p.scopes, err = a.resource(ctx, c.Metadata); err != nil {
		return p, err
	}
	if err := secure(issuer); err != nil {
		return p, a.fault(event.Refused, "%s names an authorization server that hob does not use: %v", a.cfg.Title, err)
	}
	m, err := auth.GetAuthServerMetadata(ctx, issuer, a.cfg.HTTP)
	switch {
	case err != nil:
		return p, a.failed(err, "the metadata of the authorization server "+hostOf(issuer)+" cannot be used")
	case m == nil:
		return p, a.fault(event.Refused, "the authorization server %s has no metadata (RFC 8414)", hostOf(issuer))
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return p, a.fault(event.Refused, "the authorization server %s does not offer PKCE with S256, without which a sign-in is not safe", hostOf(issuer))
	}
	for _, address := range []string{m.AuthorizationEndpoint, m.TokenEndpoint, cmp.Or(m.RegistrationEndpoint, issuer)} {
		err := secure(address)
		if err == nil {
			err = beside(address, issuer)
		}
		if err != nil {
			return p, a.fault(event.Refused, "the authorization server %s names an address that hob does not use: %v", hostOf(issuer), err)
		}
	}
	if m.RegistrationEndpoint != "" && !slices.Contains([]string{hostOf(issuer), hostOf(m.TokenEndpoint)}, hostOf(m.RegistrationEndpoint)) {
		return p, a.fault(event.Refused, "the authorization server %s lets hob register at another host: %s", hostOf(issuer), hostOf(m.RegistrationEndpoint))
	}
	if r := m.RevocationEndpoint; secure(r) != nil || beside(r, issuer) != nil || !slices.Contains([]string{hostOf(issuer), hostOf(m.TokenEndpoint)}, hostOf(r)) {
		m.RevocationEndpoint = "" // tokens go to no third host
	}
	if m.AuthorizationEndpoint, _, err = netguard.Canonical(m.AuthorizationEndpoint); err != nil { // the owner sees its host as DNS does
		return p, a.fault(event.Refused, "the authorization server %s names an address that hob does not use: %s", hostOf(issuer), quoted(err.Error()))
	}
	p.server = m
	return p, nil
}

// resource reads the service's metadata (RFC 9728). A service without any is its own authorization server, as in MCP 2025-03-26.
func (a *Account) resource(ctx context.Context, named string) (resource, issuer string, known []string, err error) {
	u, err := url.Parse(a.cfg.Resource)
	if err != nil {
		return "", "", nil, err
	}
	root := u.Scheme + "://" + u.Host
	const wellKnown = "/.well-known/oauth-protected-resource"
	for _, address := range []string{named, root + strings.TrimSuffix(wellKnown+u.EscapedPath(), "/"), root + wellKnown} {
		if address == "" {
			continue
		}
		var m oauthex.ProtectedResourceMetadata
		if err := beside(address, a.cfg.Resource); err != nil {
			return "", "", nil, a.failed(err, "the metadata of "+a.cfg.Title+" cannot be used")
		}
		found, err := a.fetch(ctx, address, &m)
		switch {
		case err != nil:
			return "", "", nil, a.failed(err, "the metadata of "+a.cfg.Title+" cannot be used")
		case !found:
			continue
		case !covers(m.Resource, u):
			return "", "", nil, a.fault(event.Refused, "the metadata of %s is about another address: %s", a.cfg.Title, quoted(m.Resource))
		case len(m.AuthorizationServers) == 0:
			return "", "", nil, a.fault(event.Refused, "the metadata of %s names no authorization server", a.cfg.Title)
		}
		if issuer = a.choose(m.AuthorizationServers); issuer == "" {
			return "", "", nil, event.NewFault(event.Refused, "see that issuer in its section is right", "%s names another authorization server than issuer: %s", a.cfg.Title, quoted(m.AuthorizationServers[0]))
		}
		return m.Resource, issuer, scopes(m.ScopesSupported), nil
	}
	if a.cfg.Issuer != "" && !sameIssuer(a.cfg.Issuer, root) {
		root = a.cfg.Issuer
	}
	return a.cfg.Resource, root, nil, nil
}

// choose chooses one of the authorization servers that a service names: that of the config, else the one of the last sign-in, else the first. "":
// that of the config is none of them.
func (a *Account) choose(named []string) string {
	if a.cfg.Issuer != "" {
		if i := slices.IndexFunc(named, func(s string) bool { return sameIssuer(s, a.cfg.Issuer) }); i >= 0 {
			return named[i]
		}
		return ""
	}
	if k := a.rec.Known; k != nil && slices.Contains(named, k.Issuer) {
		return k.Issuer
	}
	return named[0]
}

// sameIssuer compares an issuer with one that a person has written.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// Probe asks the service for its challenge, without a token. A service that answers anything else, or nothing, has none.
func (a *Account) Probe(ctx context.Context) Challenge {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.Resource, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return Challenge{}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := a.cfg.HTTP.Do(req)
	if err != nil {
		return Challenge{}
	}
	_ = resp.Body.Close() // only its header counts
	return ParseChallenge(resp.Header)
}

// covers reports whether metadata about an address holds for the service: it is the same one, or one above it at the same host. A server for
// several endpoints often names only itself.
func covers(named string, service *url.URL) bool {
	u, err := url.Parse(named)
	if err != nil || u.Scheme != service.Scheme || !strings.EqualFold(u.Host, service.Host) || u.User != nil || u.Fragment != "" {
		return false
	}
	above, path := strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(service.Path, "/")
	return (u.RawQuery == "" || u.RawQuery == service.RawQuery) && (path == above || strings.HasPrefix(path, above+"/"))
}

// fetch reads a document of at most 1 MB. found is false if the server has none.
func (a *Account) fetch(ctx context.Context, address string, into any) (found bool, err error) {
	if err := secure(address); err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.cfg.HTTP.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s answered %s", address, resp.Status)
	}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20+1))
	if err == nil && len(doc) > 1<<20 {
		err = fmt.Errorf("%s sends more than 1 MB", address)
	}
	if err == nil && json.Unmarshal(doc, into) != nil {
		err = fmt.Errorf("%s is no JSON", address)
	}
	return true, err
}

// secure says why an address is not used: a sign-in goes over TLS, or stays on this machine.
func secure(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(address) > maxLink:
		return fmt.Errorf("%s is no plain address", quoted(address))
	case u.Scheme == "http":
		ip, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fmt.Errorf("%s does not use https", quoted(address))
		}
	case u.Scheme != "https":
		return fmt.Errorf("%s does not use https", quoted(address))
	}
	return nil
}

// beside says why an address that a document names is not used: in a private network only the document's own host and port are, since the others
// there are not meant for anybody outside.
func beside(address, document string) error {
	if u, err := url.Parse(address); err == nil && hostOf(address) != hostOf(document) && netguard.Private(u.Hostname()) {
		return fmt.Errorf("%s is in a private network, and not at %s", hostOf(address), hostOf(document))
	}
	return nil
}

// register returns hob as the authorization server knows it: with what the owner has registered, or with a registration of its own (RFC 7591).
func (a *Account) register(ctx context.Context, m *oauthex.AuthServerMeta, fresh bool) (client, error) {
	id, document := a.cfg.ClientID, strings.HasPrefix(a.cfg.ClientID, "https://")
	if id != "" && (!document || m.ClientIDMetadataDocumentSupported) {
		c := client{Issuer: m.Issuer, ID: id}
		if document {
			c.Style = oauth2.AuthStyleInParams
			return c, nil
		}
		var err error
		if c.Secret, err = a.cfg.ClientSecret(ctx); err == nil && c.Secret != "" && a.cfg.Issuer == "" {
			return c, event.NewFault(event.Refused, "set issuer beside client_secret, for example issuer = \"https://login.example.org\"", "%s names %s for the sign-in, and client_secret does not say that it is for that one", a.cfg.Title, hostOf(m.Issuer))
		}
		c.Style = style("", c.Secret, m.TokenEndpointAuthMethodsSupported)
		return c, err
	}
	if c := a.rec.Client; c != nil && !fresh && c.Issuer == m.Issuer && (c.Until.IsZero() || a.cfg.Now().Before(c.Until)) {
		return *c, nil
	}
	if m.RegistrationEndpoint == "" {
		return client{}, event.NewFault(event.Refused, "register hob there with the redirect address "+RedirectAddress()+", and set client_id", "the authorization server %s registers no programs by itself", hostOf(m.Issuer))
	}
	r, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{RedirectAddress()}, ClientName: "hob", ApplicationType: "native", ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: method(m.TokenEndpointAuthMethodsSupported),
	}, a.cfg.HTTP)
	if err != nil {
		return client{}, a.failed(err, "the authorization server "+hostOf(m.Issuer)+" does not register hob")
	}
	c := client{
		Issuer: m.Issuer, ID: r.ClientID, Secret: r.ClientSecret, Dynamic: true,
		Style: style(r.TokenEndpointAuthMethod, r.ClientSecret, m.TokenEndpointAuthMethodsSupported),
	}
	// A far year cannot be stored.
	if r.ClientSecretExpiresAt.Before(a.cfg.Now().Add(mostLife)) {
		c.Until = r.ClientSecretExpiresAt
	}
	return c, nil
}

// method chooses how hob proves at the token endpoint who it is. A program on the owner's machine keeps no secret from him, so none is best.
func method(offered []string) string {
	for _, m := range []string{"none", "client_secret_post", "client_secret_basic"} {
		if slices.Contains(offered, m) {
			return m
		}
	}
	return "none"
}

// style is the form of that proof. A library that probes would send a code twice. The default is that of RFC 8414, section 2.
func style(registered, secret string, offered []string) oauth2.AuthStyle {
	switch {
	case secret == "" || registered == "client_secret_post" || registered == "none":
		return oauth2.AuthStyleInParams
	case registered == "" && slices.Contains(offered, "client_secret_post") && !slices.Contains(offered, "client_secret_basic"):
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// failed makes an error for the owner of one of a library, which may quote the server.
func (a *Account) failed(err error, what string) error {
	f := event.NewFault(event.Unavailable, "try again later with: "+a.cfg.Again, "%s: %s", what, quoted(a.cfg.Redact.Text(err.Error())))
	f.Err = err
	return f
}

// quoted shows a foreign text.
func quoted(s string) string { return "“" + text.Shorten(Clean(s), maxWords) + "”" }

// hostOf is the host of an address as DNS gets it, so that letters which look like others are seen, with the port if that is not the usual one.
func hostOf(address string) string {
	link, _, err := netguard.Canonical(address)
	if err != nil {
		return quoted(netguard.Visible(address))
	}
	_, rest, _ := strings.Cut(link, "//")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
