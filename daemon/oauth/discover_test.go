package oauth_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/oauth"
)

// Metadata that is not about this service, or not safe, begins no sign-in and sends nothing anywhere else.
func TestMetadata(t *testing.T) {
	redirect := func(out http.ResponseWriter, in *http.Request) {
		http.Redirect(out, in, "http://169.254.169.254/x", http.StatusFound)
	}
	for name, c := range map[string]struct {
		prepare func(w *world)
		want    event.FaultKind
	}{
		"as it should be":              {func(*world) {}, ""},
		"no PKCE":                      {func(w *world) { w.meta = map[string]any{"code_challenge_methods_supported": nil} }, event.Unavailable},
		"plain PKCE only":              {func(w *world) { w.meta = map[string]any{"code_challenge_methods_supported": []string{"plain"}} }, event.Refused},
		"another issuer":               {func(w *world) { w.meta = map[string]any{"issuer": "https://evil.example"} }, event.Unavailable},
		"no token endpoint":            {func(w *world) { w.meta = map[string]any{"token_endpoint": nil} }, event.Refused},
		"a token endpoint without TLS": {func(w *world) { w.meta = map[string]any{"token_endpoint": "http://as.example/token"} }, event.Unavailable},
		"a script to open":             {func(w *world) { w.meta = map[string]any{"authorization_endpoint": "javascript:alert(1)"} }, event.Unavailable},
		"another host by credentials": {func(w *world) {
			w.meta = map[string]any{"authorization_endpoint": "https://bank.example@evil.example/"}
		}, event.Refused},
		"registration without TLS":         {func(w *world) { w.meta = map[string]any{"registration_endpoint": "http://as.example/register"} }, event.Unavailable},
		"registration at a third host":     {func(w *world) { w.meta = map[string]any{"registration_endpoint": "https://evil.example/register"} }, event.Refused},
		"registration at another port":     {func(w *world) { w.meta = map[string]any{"registration_endpoint": "http://127.0.0.1:1/register"} }, event.Refused},
		"a token endpoint at another port": {func(w *world) { w.meta = map[string]any{"token_endpoint": "http://127.0.0.1:1/token"} }, event.Refused},
		"a token endpoint in the network":  {func(w *world) { w.meta = map[string]any{"token_endpoint": "https://router.lan/token"} }, event.Refused},
		"a huge link": {func(w *world) {
			w.meta = map[string]any{"authorization_endpoint": "https://as.example/?" + strings.Repeat("a", 4<<10)}
		}, event.Refused},
		"no registration":            {func(w *world) { w.meta = map[string]any{"registration_endpoint": nil} }, event.Refused},
		"registration without an id": {func(w *world) { w.at("/register", says(201, "application/json", "{}")) }, event.Unavailable},
		"registration is redirected": {func(w *world) { w.at("/register", redirect) }, event.Unavailable},
		"server metadata no JSON":    {func(w *world) { w.at(metadataPath, says(200, "application/json", "<html>")) }, event.Unavailable},
		"server metadata huge": {func(w *world) {
			w.at(metadataPath, says(200, "application/json", `{"issuer": "`+strings.Repeat("a", 2<<20)))
		}, event.Unavailable},
		"server metadata redirected":   {func(w *world) { w.at(metadataPath, redirect) }, event.Unavailable},
		"server metadata missing":      {func(w *world) { w.at(metadataPath, http.NotFound) }, event.Refused},
		"server fails":                 {func(w *world) { w.at(metadataPath, says(500, "text/plain", "no")) }, event.Unavailable},
		"about another service":        {func(w *world) { w.resource = map[string]any{"resource": "https://evil.example/mcp"} }, event.Refused},
		"about a service beside it":    {func(w *world) { w.resource = map[string]any{"resource": w.server.URL + "/mc"} }, event.Refused},
		"about the whole host":         {func(w *world) { w.resource = map[string]any{"resource": w.server.URL} }, ""},
		"no authorization server":      {func(w *world) { w.resource = map[string]any{"authorization_servers": []string{}} }, event.Refused},
		"a server without TLS":         {func(w *world) { w.resource = map[string]any{"authorization_servers": []string{"http://as.example"}} }, event.Refused},
		"a file as server":             {func(w *world) { w.resource = map[string]any{"authorization_servers": []string{"file:///etc/passwd"}} }, event.Refused},
		"resource metadata no JSON":    {func(w *world) { w.at(resourcePath, says(200, "application/json", "{")) }, event.Unavailable},
		"resource metadata huge":       {func(w *world) { w.at(resourcePath, says(200, "application/json", strings.Repeat(" ", 2<<20))) }, event.Unavailable},
		"resource metadata redirected": {func(w *world) { w.at(resourcePath, redirect) }, event.Unavailable},
		"resource metadata missing":    {func(w *world) { w.at(resourcePath, http.NotFound) }, ""}, // the service is its own authorization server
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.prepare(w)
			s, err := w.account.Begin(t.Context(), oauth.Challenge{}, false)
			if got := kind(t, err); got != c.want || (s.Link != "") != (err == nil) {
				t.Errorf("%q: %v", got, err)
			}
		})
	}
}

// Each error of the registration (RFC 7591, section 3.2.2), and what is none of them, ends the attempt. The next one asks again, and works.
func TestRegistrationErrors(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"busy": says(503, "text/plain", ""), "a token is needed": refuses(401, "invalid_token"), "forbidden": says(403, "text/html", "<h1>no"),
		"no JSON": says(201, "application/json", "{"), "an array": says(201, "application/json", "[]"), "cut off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"huge": says(201, "application/json", `{"client_id": "`+strings.Repeat("a", 3<<20)+`"}`),
	}
	for _, code := range []string{"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"} {
		answers[code] = refuses(400, code)
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.at("/register", answer)
			s, err := w.account.Begin(t.Context(), oauth.Challenge{}, false)
			if kind(t, err) != event.Unavailable || s.Link != "" || w.asked("/token") > 0 {
				t.Errorf("%+v, %v", s, err)
			}
			w.at("/register", nil)
			w.begin()
			if n := w.asked("/register"); n != 2 {
				t.Errorf("%d registrations", n)
			}
		})
	}
}

// A secret that the server gave for a time is not used after it: hob registers again (RFC 7591, section 3.2.1). What the server's clock says does not
// keep a sign-in from beginning.
func TestSecretThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		until any
		again bool
	}{"never": {0, false}, "not said": {nil, false}, "a year of five digits": {1 << 40, false}, "in 2040": {2208988800, false}, "long ago": {1, true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.at("/register", func(out http.ResponseWriter, _ *http.Request) {
				send(out, 201, map[string]any{"client_id": "client-1", "client_secret": "s", "client_secret_expires_at": c.until, "token_endpoint_auth_method": "client_secret_post"}, nil)
			})
			w.signIn()
			w.at("/token", refuses(400, "invalid_grant"))
			if retry, err := w.account.Rejected(t.Context(), "access-1"); retry || err != nil {
				t.Fatal(retry, err)
			}
			w.begin()
			if n := w.asked("/register"); (n == 2) != c.again {
				t.Errorf("%d registrations", n)
			}
		})
	}
}

// The place of the metadata that a challenge names counts, unless nothing is there.
func TestChallenge(t *testing.T) {
	w := newWorld(t)
	w.at("/elsewhere", func(out http.ResponseWriter, _ *http.Request) {
		send(out, 200, map[string]any{"resource": w.server.URL + "/mcp", "authorization_servers": []string{w.server.URL}}, nil)
	})
	w.at(resourcePath, says(500, "text/plain", ""))
	w.at("/mcp", func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("WWW-Authenticate", `Basic realm="x", Bearer realm="a, b", scope="b a b bad\"scope", resource_metadata="`+w.server.URL+`/elsewhere"`)
		out.WriteHeader(http.StatusUnauthorized)
	})
	c := w.account.Probe(t.Context())
	s, err := w.account.Begin(t.Context(), c, false)
	if err != nil || len(s.Scopes) != 2 || s.Scopes[0] != "b" || !strings.HasPrefix(s.Link, w.server.URL+"/authorize?") {
		t.Errorf("%+v: %+v, %v", c, s, err)
	}
	if c := oauth.ParseChallenge(http.Header{"Www-Authenticate": {`Bearer scope="unterminated`}}); c.Scopes != nil {
		t.Errorf("read from a broken header: %+v", c)
	}
	if _, err := w.account.Begin(t.Context(), oauth.Challenge{Metadata: "http://127.0.0.1:1/x"}, true); kind(t, err) != event.Unavailable || !strings.Contains(err.Error(), "private network") {
		t.Errorf("metadata at another port of this machine: %v", err)
	}
	if _, err := w.account.Begin(t.Context(), oauth.Challenge{Metadata: "http://10.0.0.1/x"}, true); kind(t, err) != event.Unavailable {
		t.Errorf("metadata without TLS: %v", err)
	}
}

// The authorization server of a service may have a path, and may publish its metadata as OpenID Connect does.
func TestMetadataForms(t *testing.T) {
	for _, path := range []string{"/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant", "/tenant/.well-known/openid-configuration"} {
		w := newWorld(t)
		issuer := w.server.URL + "/tenant"
		w.resource = map[string]any{"authorization_servers": []string{issuer}}
		w.at(path, func(out http.ResponseWriter, _ *http.Request) {
			send(out, 200, map[string]any{"issuer": issuer, "authorization_endpoint": issuer + "/a", "token_endpoint": w.server.URL + "/token", "registration_endpoint": w.server.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}, nil)
		})
		if s, err := w.account.Begin(t.Context(), oauth.Challenge{}, false); err != nil || !strings.HasPrefix(s.Link, issuer+"/a?") {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}

// What the owner has registered is used as he says: an id with its secret in the form that the server takes, or the address of a document.
func TestOwnRegistration(t *testing.T) {
	for name, c := range map[string]struct {
		client    string
		meta      map[string]any
		registers bool
		id        string
		basic     bool
		secret    string
	}{
		"an id":                      {client: "mine", meta: map[string]any{"token_endpoint_auth_methods_supported": nil}, id: "mine", basic: true},
		"an id, secret in the form":  {client: "mine", meta: map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}, id: "mine", secret: "owners-secret-1"},
		"a document":                 {client: "https://me.example/hob.json", meta: map[string]any{"client_id_metadata_document_supported": true}, id: "https://me.example/hob.json"},
		"a document is not accepted": {client: "https://me.example/hob.json", registers: true, id: "client-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.client, w.meta, w.issuer = c.client, c.meta, w.server.URL
			w.restart()
			w.signIn()
			if registers := len(w.register) > 0; registers != c.registers {
				t.Errorf("registered: %v", registers)
			}
			_, password, basic := (&http.Request{Header: w.headers[0]}).BasicAuth()
			id := w.form().Get("client_id")
			if basic {
				id, _, _ = (&http.Request{Header: w.headers[0]}).BasicAuth()
			}
			if id != c.id || basic != c.basic || w.form().Get("client_secret") != c.secret || basic && password != "owners-secret-1" {
				t.Errorf("%q %v %q, form %v", id, basic, password, w.form())
			}
		})
	}
}

// An authorization server that the service no longer names gets nothing that the earlier one has given out.
func TestOtherServer(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.signIn()
	w.resource = map[string]any{"authorization_servers": []string{other.server.URL}}
	s, err := w.account.Begin(t.Context(), oauth.Challenge{}, false)
	if err != nil {
		t.Fatal(err)
	}
	old, now := strings.TrimPrefix(w.server.URL, "http://"), strings.TrimPrefix(other.server.URL, "http://")
	if said := strings.Join(s.Cautions(), "\n"); !strings.Contains(said, "the last sign-in was by "+old+", and this one is by "+now) {
		t.Errorf("the owner is not told that the authorization server is another one: %q", said)
	}
	w.restart()
	again, err := w.account.Begin(t.Context(), oauth.Challenge{}, false)
	if err != nil || again.Link != s.Link || again.Before != old {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
	link := query(t, s.Link)
	if _, err := w.account.Finish(t.Context(), back(link)); err != nil || len(other.register) != 1 || len(other.forms) != 1 || len(w.forms) != 1 {
		t.Errorf("%v: registered %d, tokens %d", err, len(other.register), len(other.forms))
	}
}

// The hosts of a sign-in are shown before it: where the link leads, where the code goes, and who has named both. They are shown as DNS gets them.
func TestCautions(t *testing.T) {
	for name, c := range map[string]struct {
		meta map[string]any
		host string
		want []string
	}{
		"one host":                 {nil, "", nil},
		"the code goes elsewhere":  {map[string]any{"authorization_endpoint": "https://good.example/authorize"}, "good.example", []string{"at good.example, but the code goes to HOST"}},
		"like a big provider":      {map[string]any{"token_endpoint": "https://token.example/"}, "HOST", []string{"at HOST, but the code goes to token.example"}},
		"three hosts":              {map[string]any{"authorization_endpoint": "https://good.example/", "token_endpoint": "https://token.example/"}, "good.example", []string{"goes to token.example", "HOST has named"}},
		"both elsewhere":           {map[string]any{"authorization_endpoint": "https://good.example/", "token_endpoint": "https://good.example/t"}, "good.example", []string{"HOST has named"}},
		"another port":             {map[string]any{"authorization_endpoint": "https://good.example:444/", "token_endpoint": "https://good.example:443/t"}, "good.example:444", []string{"goes to good.example", "HOST has named"}},
		"a letter of another kind": {map[string]any{"authorization_endpoint": "https://\u0430pple.com/"}, "xn--pple-43d.com", []string{"at xn--pple-43d.com, but"}},
		"capitals":                 {map[string]any{"authorization_endpoint": "https://GOOD.example/", "token_endpoint": "https://good.Example"}, "good.example", []string{"HOST has named"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta = c.meta
			s, err := w.account.Begin(t.Context(), oauth.Challenge{}, false)
			if err != nil {
				t.Fatal(err)
			}
			own := strings.TrimPrefix(w.server.URL, "http://")
			if want := cmp.Or(strings.ReplaceAll(c.host, "HOST", own), own); s.Host != want || !strings.Contains(s.Link, "//"+want+"/") {
				t.Errorf("the host is %q, the link %s", s.Host, s.Link)
			}
			got := s.Cautions()
			if len(got) != len(c.want) {
				t.Fatalf("%q", got)
			}
			for i, part := range c.want {
				if !strings.Contains(got[i], strings.ReplaceAll(part, "HOST", own)) {
					t.Errorf("%q lacks %q", got[i], part)
				}
			}
		})
	}
}

// The issuer of the config is the only one: the server cannot name another one, and the owner's secret goes to no other. Without it, the secret goes
// nowhere.
func TestIssuer(t *testing.T) {
	evil := newWorld(t)
	w := newWorld(t)
	w.client = "mine"
	w.restart()
	if _, err := w.account.Begin(t.Context(), oauth.Challenge{}, false); kind(t, err) != event.Refused || !strings.Contains(err.Error(), "client_secret") {
		t.Errorf("a secret without an issuer: %v", err)
	}
	w.issuer = w.server.URL + "/" // as a person may write it
	w.restart()
	w.signIn()
	w.resource = map[string]any{"authorization_servers": []string{evil.server.URL}}
	if _, err := w.account.Begin(t.Context(), oauth.Challenge{}, true); kind(t, err) != event.Refused || len(evil.paths) > 0 {
		t.Errorf("another issuer: %v, which was asked for %v", err, evil.paths)
	}
	w.resource = map[string]any{"authorization_servers": []string{evil.server.URL, w.server.URL}}
	if s, err := w.account.Begin(t.Context(), oauth.Challenge{}, true); err != nil || !strings.HasPrefix(s.Link, w.server.URL) {
		t.Errorf("one of two: %v, %v", s, err)
	}
	w.at(resourcePath, http.NotFound)
	if s, err := w.account.Begin(t.Context(), oauth.Challenge{}, true); err != nil || !strings.HasPrefix(s.Link, w.server.URL) {
		t.Errorf("without metadata: %v, %v", s, err)
	}
	w.issuer = evil.server.URL
	w.restart()
	if got := w.access() + w.account.Link(t.Context()); got != "" {
		t.Errorf("of another issuer than that of the config: %q", got)
	}
}
