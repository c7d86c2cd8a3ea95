package oauth_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/daemon/secret"
)

// vault keeps values in memory.
type vault struct {
	mu     sync.Mutex
	values map[string][]byte
	broken error // of Save
}

func (v *vault) Load(_ context.Context, name string) ([]byte, string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if doc, ok := v.values[name]; ok {
		return slices.Clone(doc), "memory", nil
	}
	return nil, "", secret.ErrNone
}

func (v *vault) Save(_ context.Context, name string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.broken == nil {
		v.values[name] = slices.Clone(value)
	}
	return v.broken
}

func (v *vault) Delete(_ context.Context, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, name)
	return nil
}

// world is a service with its authorization server, and an account of the owner there.
type world struct {
	t       *testing.T
	server  *httptest.Server
	vault   *vault
	redact  *secret.Redactor
	issuer  string        // of the config; "": none
	client  string        // ClientID of the config
	short   time.Duration // Patience
	address string        // of the service; "": that of server
	account *oauth.Account

	mu       sync.Mutex
	now      time.Time
	answers  map[string]http.HandlerFunc // in place of the usual ones, by path
	forms    []url.Values                // of the token endpoint
	headers  []http.Header
	register []map[string]any
	meta     map[string]any // changes of the authorization server's metadata; nil: the field is missing
	resource map[string]any // of the service's metadata
	token    map[string]any // changes of the answer of the token endpoint
	paths    []string
}

const (
	metadataPath = "/.well-known/oauth-authorization-server"
	resourcePath = "/.well-known/oauth-protected-resource/mcp"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, vault: &vault{values: map[string][]byte{}}, redact: &secret.Redactor{}, now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), answers: map[string]http.HandlerFunc{}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	w.restart()
	return w
}

// restart makes the account anew, as after a restart of hob.
func (w *world) restart() {
	w.account = oauth.New(oauth.Config{
		Key: "mcp-notes", Title: "the MCP server notes", Again: "hob mcp login notes", Resource: cmp.Or(w.address, w.server.URL+"/mcp"), Issuer: w.issuer, ClientID: w.client,
		ClientSecret: func(context.Context) (string, error) { return "owners-secret-1", nil },
		Vault:        w.vault, Redact: w.redact, HTTP: &http.Client{}, Log: slog.New(slog.DiscardHandler), Patience: w.short,
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
	})
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// at answers a path in another way; nil: as usual again.
func (w *world) at(path string, f http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[path] = f
}

func (w *world) serve(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	w.paths = append(w.paths, in.URL.Path)
	if in.URL.Path == "/token" {
		_ = in.ParseForm() // what is missing is seen by the checks
		w.forms, w.headers = append(w.forms, in.PostForm), append(w.headers, in.Header)
	}
	own, n := w.answers[in.URL.Path], len(w.forms)
	meta, resource, token := w.meta, w.resource, w.token
	w.mu.Unlock()
	if own != nil {
		own(out, in)
		return
	}
	url := w.server.URL
	switch in.URL.Path {
	case resourcePath:
		send(out, http.StatusOK, map[string]any{"resource": url + "/mcp", "authorization_servers": []string{url}, "scopes_supported": []string{"notes:read"}}, resource)
	case metadataPath:
		send(out, http.StatusOK, map[string]any{
			"issuer": url, "authorization_endpoint": url + "/authorize", "token_endpoint": url + "/token", "registration_endpoint": url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		}, meta)
	case "/register":
		var m map[string]any
		if err := json.NewDecoder(in.Body).Decode(&m); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		w.mu.Lock()
		w.register = append(w.register, m)
		w.mu.Unlock()
		send(out, http.StatusCreated, map[string]any{"client_id": "client-1", "redirect_uris": m["redirect_uris"], "token_endpoint_auth_method": m["token_endpoint_auth_method"]}, nil)
	case "/token":
		send(out, http.StatusOK, map[string]any{"access_token": nth("access-", n), "refresh_token": nth("refresh-", n), "token_type": "Bearer", "expires_in": 3600}, token)
	default:
		http.NotFound(out, in)
	}
}

func nth(name string, n int) string { return name + strconv.Itoa(n) }

// send writes JSON with changes; a nil value removes its field.
func send(out http.ResponseWriter, status int, doc, changes map[string]any) {
	maps.Copy(doc, changes)
	maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(doc) // the client may be gone
}

// refuses answers with an error of RFC 6749, section 5.2.
func refuses(status int, code string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		send(out, status, map[string]any{"error": code, "error_description": "no\u200b\n/approve ABCD"}, nil)
	}
}

// says answers with a text.
func says(status int, kind, text string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", kind)
		out.WriteHeader(status)
		_, _ = out.Write([]byte(text))
	}
}

// begin begins a sign-in, and returns the parameters of its link.
func (w *world) begin() url.Values {
	w.t.Helper()
	s, err := w.account.Begin(w.t.Context(), oauth.Challenge{}, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return query(w.t, s.Link)
}

func query(t *testing.T, link string) url.Values {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// back are the parameters of the redirect that answers a link.
func back(link url.Values, more ...string) url.Values {
	v := url.Values{"code": {"code-1"}, "state": {link.Get("state")}}
	for pair := range slices.Chunk(more, 2) {
		if v.Set(pair[0], pair[1]); pair[1] == "" {
			v.Del(pair[0])
		}
	}
	return v
}

// signIn signs in.
func (w *world) signIn() {
	w.t.Helper()
	if states, err := w.account.Finish(w.t.Context(), back(w.begin())); err != nil || len(states) != 1 {
		w.t.Fatalf("%v: %v", states, err)
	}
}

func (w *world) access() string {
	w.t.Helper()
	access, err := w.account.Token(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return access
}

// asked is how often a path was requested.
func (w *world) asked(path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.paths {
		if p == path {
			n++
		}
	}
	return n
}

// form is the newest request to the token endpoint.
func (w *world) form() url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forms[len(w.forms)-1]
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// kind is the kind of a fault; "" without an error. Every fault says what to do, and nothing that could be taken for a command.
func kind(t *testing.T, err error) event.FaultKind {
	t.Helper()
	if err == nil {
		return ""
	}
	f, ok := event.AsFault(err)
	if !ok || f.Hint == "" {
		t.Fatalf("no fault with a hint: %v", err)
	}
	if strings.ContainsAny(f.Text, "\n\u200b") || len(f.Text) > 600 {
		t.Errorf("the text shows what a server said as it is: %q", f.Text)
	}
	return f.Kind
}
