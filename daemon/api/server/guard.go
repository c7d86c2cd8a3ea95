package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/daemon/api"
)

// Wrong tokens: this many at once, then one more for each pause. The socket is not limited,
// so nobody can lock the owner out by guessing.
const (
	wrongAtOnce = 10
	wrongPause  = 6 * time.Second
)

// Guard protects the API on a loopback port. A request passes if its Host is this port on this machine (against
// DNS rebinding), its Origin is absent or the same, and its Authorization header has the token. GET /healthz
// needs no token, nor does a browser that asks for the address itself. A token is never read from a URL. Routes of clients pass without the API's token, because a client has one of its own. Requests to webhooks pass without it: they come from
// anywhere, reach only webhooks, and are checked there. Requests on the Unix socket do not pass through here:
// the permissions of the socket's file already say who may connect.
func Guard(next http.Handler, token string, port int) http.Handler {
	g := &guard{next: next, token: sha256.Sum256([]byte(token)), limit: limiter{left: wrongAtOnce}, clients: limiter{left: wrongAtOnce}}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		g.hosts = append(g.hosts, host+":"+strconv.Itoa(port))
	}
	return g
}

// guard is the handler that Guard makes. It keeps only a hash of the token.
type guard struct {
	next    http.Handler
	token   [sha256.Size]byte
	hosts   []string
	limit   limiter
	clients limiter // for the tokens of programs: a program that guesses must not lock the owner out
}

// ServeHTTP passes a request on, or answers with the reason why not.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if toWebhook(r) {
		g.next.ServeHTTP(w, r)
		return
	}
	if toClient(r) {
		r = r.WithContext(context.WithValue(r.Context(), onPort{}, &g.clients))
	}
	if p, ok := g.refusal(r); ok {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="hob"`)
		}
		if p.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(int(wrongPause.Seconds())))
		}
		refuse(w, r, p)
		return
	}
	if toFront(r) {
		front(w)
		return
	}
	g.next.ServeHTTP(w, r)
}

// refusal returns the reason why a request must not pass; ok false means that it may.
func (g *guard) refusal(r *http.Request) (p api.Problem, ok bool) {
	if !slices.Contains(g.hosts, r.Host) {
		return api.NewProblem(http.StatusForbidden, "this address is not served here", "use http://"+g.hosts[0]), true
	}
	// A browser sends Origin when a page of another site makes the request. Programs send none.
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+r.Host {
		return api.NewProblem(http.StatusForbidden, "requests from other pages are refused", ""), true
	}
	if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return api.Problem{}, false
	}
	if toFront(r) {
		return api.Problem{}, false // there is nothing of the owner's on that page
	}
	if toClient(r) {
		return api.Problem{}, false // they have tokens of their own, which are checked where they are served
	}
	return g.checkToken(r)
}

// checkToken compares the token in constant time, and counts wrong ones.
// A missing token is not counted: it is no guess. The hashes have one length, as the comparison needs.
func (g *guard) checkToken(r *http.Request) (api.Problem, bool) {
	hint := "send the line in state/token as: Authorization: Bearer …"
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return api.NewProblem(http.StatusUnauthorized, "the API token is missing", hint), true
	}
	if !g.limit.open(time.Now()) {
		return api.NewProblem(http.StatusTooManyRequests, "too many wrong tokens", "wait a little, or use the socket"), true
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(token))
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		g.limit.wrong()
		return api.NewProblem(http.StatusUnauthorized, "the API token is wrong", hint), true
	}
	return api.Problem{}, false
}

// limiter is a token bucket for wrong tokens. It refills with time.
type limiter struct {
	mu   sync.Mutex
	left int
	last time.Time // when it was last filled
}

// open reports whether one more token may be tried at the instant now.
func (l *limiter) open(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left >= wrongAtOnce {
		l.last = now
		return true
	}
	n := int(now.Sub(l.last) / wrongPause)
	if n > 0 {
		l.left = min(wrongAtOnce, l.left+n)
		l.last = l.last.Add(time.Duration(n) * wrongPause)
	}
	return l.left > 0
}

// wrong counts a wrong token.
func (l *limiter) wrong() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 {
		l.left--
	}
}
