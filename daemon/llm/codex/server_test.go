package codex_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// grant is a code that was given out.
type grant struct{ challenge, redirect string }

// authority is a small authorization server: codes with PKCE, refresh tokens that serve once.
type authority struct {
	t       *testing.T
	handler http.Handler
	srv     *httptest.Server // nil: only wire leads to it

	mu        sync.Mutex
	redirect  string // the only redirect address that it knows
	deny      string // the description with which it declines
	codes     map[string]grant
	live      map[string]bool // refresh tokens, false once they are spent
	issued    int             // numbers the tokens
	refreshes int
	revoked   []string
	omit      string                                                // a field that its answers lack
	exp       int64                                                 // of access tokens, 0: none
	odd       func(w http.ResponseWriter, grant string) (done bool) // answers in place of the token endpoint
}

func newAuthority(t *testing.T, port int) *authority {
	s := &authority{
		t: t, codes: map[string]grant{}, live: map[string]bool{},
		redirect: fmt.Sprintf("http://localhost:%d/auth/callback", port),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /oauth/authorize", s.authorize)
	mux.HandleFunc("POST /oauth/token", s.token)
	mux.HandleFunc("POST /oauth/revoke", s.revoke)
	s.handler = mux
	return s
}

// listen serves on a port of its own, and returns its address.
func (s *authority) listen() string {
	s.srv = httptest.NewServer(s.handler)
	s.t.Cleanup(s.srv.Close)
	return s.srv.URL
}

// RoundTrip answers without a network in between, for tests on testing/synctest's clock.
func (s *authority) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, req)
	return rec.Result(), nil
}

// set changes what the server does.
func (s *authority) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *authority) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshes
}

// authorize signs its visitor in at once, and sends the browser back (RFC 6749, section 4.1).
func (s *authority) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	for key, want := range map[string]string{
		"response_type": "code", "client_id": "app_EMoamEEZ73f0CkXaXp7hrann", "redirect_uri": s.redirect,
		"scope": "openid profile email offline_access", "code_challenge_method": "S256",
		"id_token_add_organizations": "true", "codex_cli_simplified_flow": "true", "originator": "hob",
	} {
		if got := q.Get(key); got != want {
			s.t.Errorf("authorize: %s is %q, want %q", key, got, want)
		}
	}
	if len(q.Get("state")) < 43 || len(q.Get("code_challenge")) != 43 {
		s.t.Errorf("authorize: state %q, challenge %q", q.Get("state"), q.Get("code_challenge"))
	}
	back := url.Values{"state": {q.Get("state")}}
	if s.deny != "" {
		back.Set("error", "access_denied")
		back.Set("error_description", s.deny)
	} else {
		s.issued++
		code := fmt.Sprintf("code-%d/+=", s.issued)
		s.codes[code] = grant{challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
		back.Set("code", code)
	}
	http.Redirect(w, r, s.redirect+"?"+back.Encode(), http.StatusFound)
}

func (s *authority) token(w http.ResponseWriter, r *http.Request) {
	kind := r.PostFormValue("grant_type")
	s.mu.Lock()
	if kind == "refresh_token" {
		s.refreshes++
	}
	odd := s.odd
	s.mu.Unlock()
	if odd != nil && odd(w, kind) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := r.PostFormValue("client_id"); got != "app_EMoamEEZ73f0CkXaXp7hrann" || r.Header.Get("Authorization") != "" {
		s.t.Errorf("token: client %q", got)
	}
	switch kind {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, ok := s.codes[code]
		delete(s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || g.redirect != r.PostFormValue("redirect_uri") {
			refuse(w, http.StatusBadRequest, `{"error":"invalid_grant","error_description":"the code is not valid"}`)
			return
		}
	case "refresh_token":
		token := r.PostFormValue("refresh_token")
		if !s.live[token] {
			refuse(w, http.StatusUnauthorized, `{"error":{"message":"it was used already: `+token+`","code":"refresh_token_reused"}}`)
			return
		}
		s.live[token] = false
	default:
		s.t.Errorf("token: grant type %q", kind)
	}
	s.issue(w)
}

func refuse(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := io.WriteString(w, body); err != nil { // #nosec G705 -- a fake server
		return // the client has gone
	}
}

// issue answers with the tokens of the next number.
func (s *authority) issue(w http.ResponseWriter) {
	s.issued++
	n := s.issued
	refresh := fmt.Sprintf("refresh-canary-%d", n)
	s.live[refresh] = true
	auth := map[string]any{"chatgpt_account_id": fmt.Sprintf("account-%d", n)}
	access := map[string]any{"jti": fmt.Sprintf("access-canary-%d", n)}
	if s.exp != 0 {
		access["exp"] = s.exp
	}
	answer := map[string]any{
		"access_token": jwt(access), "refresh_token": refresh, "token_type": "bearer", "expires_in": 3600,
		"id_token": jwt(map[string]any{"email": "sam@example.org", "https://api.openai.com/auth": auth}),
	}
	delete(answer, s.omit)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func jwt(claims map[string]any) string {
	b, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(b) + ".c2lnbmF0dXJl"
}

// numbered is the number of an access token of the server, 0 when it is none.
func numbered(t *testing.T, access string) (n int) {
	t.Helper()
	parts := strings.Split(access, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no token", access)
	}
	doc, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ JTI string }
	if err := json.Unmarshal(doc, &c); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(c.JTI, "access-canary-%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *authority) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body struct {
		Token  string `json:"token"`
		Hint   string `json:"token_type_hint"`
		Client string `json:"client_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Hint != "refresh_token" || body.Client != "app_EMoamEEZ73f0CkXaXp7hrann" {
		s.t.Errorf("revoke: %+v, %v", body, err)
	}
	s.revoked = append(s.revoked, body.Token)
	s.live[body.Token] = false
	w.WriteHeader(http.StatusOK)
}
