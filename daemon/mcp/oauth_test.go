package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/oauth"
)

// service is a service that wants a sign-in, and its own authorization server. It knows no tool: only what it is sent counts.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string // values of Authorization at its address
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) serve(out http.ResponseWriter, in *http.Request) {
	answer := map[string]any{}
	switch in.URL.Path {
	case "/.well-known/oauth-authorization-server":
		answer = map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"},
		}
	case "/register":
		answer["client_id"] = "hob-1"
	case "/authorize":
		q := in.URL.Query()
		http.Redirect(out, in, q.Get("redirect_uri")+"?code=c&state="+q.Get("state"), http.StatusFound) // #nosec G710 -- that is what an authorization server does
		return
	case "/token":
		answer = map[string]any{"access_token": "the-access", "token_type": "Bearer", "refresh_token": "the-refresh"}
	case "/mcp":
		s.mu.Lock()
		s.heard = append(s.heard, in.Header.Get("Authorization"))
		s.mu.Unlock()
		out.WriteHeader(map[bool]int{true: http.StatusNotImplemented, false: http.StatusUnauthorized}[in.Header.Get("Authorization") != ""])
		return
	default:
		http.NotFound(out, in)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(answer) // the client may be gone
}

func (s *service) hears(header string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.heard, header)
}

// A token goes only to the address at which the owner has signed in, not to another one that the section of the same name gets.
func TestTokenStaysAtItsAddress(t *testing.T) {
	good, evil := newService(t), newService(t)
	h := start(t, map[string]config.MCPServer{"suite": {URL: good.URL + "/mcp", Timeout: time.Minute}})
	try := func() {
		if _, err := h.Test(t.Context(), "suite"); err == nil {
			t.Fatal("it works without tools")
		}
	}
	try()
	if !signIn(t, h.Service) {
		t.Fatal("no sign-in has begun")
	}
	try()
	if !good.hears("Bearer the-access") {
		t.Fatalf("the service got %q", good.heard)
	}
	h.conf.MCP.Servers = map[string]config.MCPServer{"suite": {URL: evil.URL + "/mcp", Timeout: time.Minute}}
	h.apply()
	try()
	if !evil.hears("") || evil.hears("Bearer the-access") {
		t.Errorf("another host got %q", evil.heard)
	}
}

// The question shows each host of the sign-in, and what the server wants in quotes.
func TestSignInQuestion(t *testing.T) {
	text := mcp.AskSignIn(oauth.SignIn{Link: "https://good.example/", Host: "good.example", Code: "evil.example", Issuer: "evil.example", Before: "old.example", Scopes: []string{"read", "write.(I,hob,know)"}})
	for _, want := range []string{"sign in at good.example, but the code goes to evil.example", "the last sign-in was by old.example", "“read”, “write.(I,hob,know)”."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if text := mcp.AskSignIn(oauth.SignIn{Link: "https://good.example/", Host: "good.example", Code: "good.example", Issuer: "good.example"}); strings.Contains(text, "CAUTION") {
		t.Errorf("a sign-in with one host: %q", text)
	}
}
