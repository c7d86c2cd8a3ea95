// Package googletest is Google for tests: its OAuth server, Gmail and Calendar, as far as hob uses them. Each request is checked against Google's
// published discovery documents.
package googletest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The owner's account and OAuth client.
const (
	Address      = "anna@example.org"
	ClientID     = "42-x.apps.googleusercontent.com"
	ClientSecret = "GOCSPX-tea-for-two" // #nosec G101 -- of the tests
)

// Server is Google on this machine.
type Server struct {
	*httptest.Server
	documents []*document

	mu       sync.Mutex
	wrong    []string
	grants   map[string]grant // by code
	tokens   map[string][]string
	refresh  map[string][]string
	mails    map[string]*Mail
	drafts   map[string]*Mail
	events   map[string]map[string]any
	sent     int
	revoked  []string
	counter  int
	requests []string

	// Withhold are scopes that the owner does not tick on Google's page. Ends is the life of a refresh token, 0: no end.
	Withhold []string
	Ends     time.Duration

	answer func(w http.ResponseWriter, r *http.Request) bool
	done   func(r *http.Request)
}

type grant struct {
	challenge, redirect string
	scopes              []string
}

// Mail is a mail at the server.
type Mail struct {
	ID, Thread string
	Labels     []string
	Raw        string
	At         time.Time
}

// NewServer starts one.
func NewServer() *Server {
	s := &Server{grants: map[string]grant{}, tokens: map[string][]string{}, refresh: map[string][]string{}, mails: map[string]*Mail{}, drafts: map[string]*Mail{}, events: map[string]map[string]any{}}
	var err error
	if s.documents, err = documents(); err != nil {
		panic(err) // the documents are part of the program
	}
	s.Server = httptest.NewServer(s)
	return s
}

// AnswerWith lets f answer each request for which it returns true, in place of the server. nil ends that.
func (s *Server) AnswerWith(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// WhenDone calls f after a request was carried out, before its answer. nil ends that.
func (s *Server) WhenDone(f func(*http.Request)) { s.mu.Lock(); defer s.mu.Unlock(); s.done = f }

// Wrong lists the requests that do not fit the documents.
func (s *Server) Wrong() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.wrong) }

// Requests lists the requests to the interfaces, as METHOD PATH?QUERY.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Sent returns the number of sent mails, the mails among them, and the number of drafts that are left.
func (s *Server) Sent() (sent int, mails []Mail, drafts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mails {
		if slices.Contains(m.Labels, "SENT") {
			mails = append(mails, *m)
		}
	}
	return s.sent, mails, len(s.drafts)
}

// Add adds a mail that somebody has sent. It has the id "m" with a number.
func (s *Server) Add(raw string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next("m")
	s.mails[id] = &Mail{ID: id, Thread: "t" + id, Labels: []string{"INBOX", "UNREAD"}, Raw: raw, At: time.Now()}
	return id
}

// AddEvent adds an event to the owner's calendar.
func (s *Server) AddEvent(e map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[fmt.Sprint(e["id"])] = e
}

// Entries returns how many events there are.
func (s *Server) Entries() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.events) }

// DropDraft deletes all drafts, as the owner can by hand.
func (s *Server) DropDraft() { s.mu.Lock(); defer s.mu.Unlock(); clear(s.drafts) }

// End ends all access, as the owner can in his account. With expire, only the access tokens end.
func (s *Server) End(expire bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	if !expire {
		clear(s.refresh)
	}
}

// Revoked lists the tokens that were taken back.
func (s *Server) Revoked() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.revoked) }

func (s *Server) next(kind string) string { s.counter++; return kind + strconv.Itoa(s.counter) }

// Visit opens the address of a sign-in as the owner's browser does, and returns the address at which it ends. The owner agrees.
func (s *Server) Visit(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	q := u.Query()
	for name, want := range map[string]string{"client_id": ClientID, "response_type": "code", "code_challenge_method": "S256", "access_type": "offline", "prompt": "consent"} {
		if q.Get(name) != want {
			return "", fmt.Errorf("%s is %q", name, q.Get(name))
		}
	}
	if q.Has("resource") { // Google refuses parameters that it does not know
		return "", fmt.Errorf("resource is sent")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code := s.next("4/code")
	scopes := slices.DeleteFunc(strings.Fields(q.Get("scope")), func(one string) bool { return slices.Contains(s.Withhold, one) })
	s.grants[code] = grant{q.Get("code_challenge"), q.Get("redirect_uri"), scopes}
	back := url.Values{"state": {q.Get("state")}, "code": {code}, "scope": {strings.Join(scopes, " ")}, "iss": {s.URL}}
	return q.Get("redirect_uri") + "?" + back.Encode(), nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	instead := s.answer
	s.mu.Unlock()
	if instead != nil && instead(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	var status int
	var out any
	switch {
	case r.URL.Path == "/token":
		status, out = s.token(body)
	case r.URL.Path == "/revoke":
		form, _ := url.ParseQuery(string(body)) // what is missing is seen by the test
		s.revoked = append(s.revoked, form.Get("token"))
		status, out = http.StatusOK, map[string]any{}
	case prefix(r.URL.Path):
		s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
		status, out = s.call(r, body)
	default:
		status, out = http.StatusNotFound, map[string]any{}
	}
	done := s.done
	s.mu.Unlock()
	if done != nil {
		done(r)
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // to a test
}

// token is the token endpoint (RFC 6749, sections 4.1.3 and 6; RFC 7636, section 4.6).
func (s *Server) token(body []byte) (int, any) {
	form, err := url.ParseQuery(string(body))
	fault := func(code string) (int, any) { return http.StatusBadRequest, map[string]any{"error": code} }
	if err != nil || form.Has("resource") {
		return fault("invalid_request")
	}
	if form.Get("client_id") != ClientID || form.Get("client_secret") != ClientSecret {
		return http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "The OAuth client was not found."}
	}
	var scopes []string
	out := map[string]any{"token_type": "Bearer", "expires_in": 3599}
	switch form.Get("grant_type") {
	case "authorization_code":
		g, ok := s.grants[form.Get("code")]
		delete(s.grants, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if !ok || g.redirect != form.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return fault("invalid_grant")
		}
		scopes = g.scopes
		refresh := s.next("1//refresh-of-the-owner-")
		s.refresh[refresh], out["refresh_token"] = scopes, refresh
		if s.Ends > 0 {
			out["refresh_token_expires_in"] = int(s.Ends.Seconds())
		}
	case "refresh_token":
		var ok bool
		if scopes, ok = s.refresh[form.Get("refresh_token")]; !ok {
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
		}
	default:
		return fault("unsupported_grant_type")
	}
	access := s.next("ya29.access-of-the-owner-")
	s.tokens[access] = scopes
	out["access_token"], out["scope"] = access, strings.Join(scopes, " ")
	return http.StatusOK, out
}

func fault(status int, reason, message string) (int, any) {
	return status, map[string]any{"error": map[string]any{"code": status, "message": message, "errors": []any{map[string]any{"reason": reason, "domain": "global"}}}}
}

// call carries out a request to an interface.
func (s *Server) call(r *http.Request, body []byte) (int, any) {
	scopes, ok := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return fault(http.StatusUnauthorized, "authError", "Invalid Credentials")
	}
	m, path := find(s.documents, r)
	if m == nil {
		s.wrong = append(s.wrong, r.Method+" "+r.URL.Path+": there is no such method")
		return fault(http.StatusNotFound, "notFound", "Not Found")
	}
	for _, w := range m.check(r, path, body, scopes) {
		if w == "none of its scopes is granted" {
			return fault(http.StatusForbidden, "insufficientPermissions", "Request had insufficient authentication scopes.")
		}
		s.wrong = append(s.wrong, m.name+": "+w)
	}
	if strings.HasPrefix(r.URL.Path, "/gmail/") {
		return s.mail(m.name, path, r.URL.Query(), body)
	}
	return s.calendar(m.name, path, r.URL.Query(), body)
}
