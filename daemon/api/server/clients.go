package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/completions"
)

// onPort finds the limiter of wrong tokens in the context of a request that came by the port.
type onPort struct{}

// clientHandler serves the routes for programs with tokens of their own.
type clientHandler struct {
	Deps
	visits   visits
	watching watching // the connections that wait for an answer
}

func newClientHandler(d Deps) *clientHandler {
	return &clientHandler{Deps: d, visits: visits{here: map[int64]int{}, large: make(chan struct{}, maxLarge)}, watching: watching{clients: map[string]int{}}}
}

// routes are the routes of programs. A client may add a query.
func (h *clientHandler) routes() []Route {
	route := func(pattern string, serve http.HandlerFunc) Route {
		return Route{pattern: pattern, free: true, serve: func(_ *handler, w http.ResponseWriter, r *http.Request) { serve(w, r) }}
	}
	return []Route{
		route("POST /v1/chat/completions", h.complete),
		route("GET /v1/models", h.listModels),
		route("GET /v1/models/{id}", h.showModel),
		route("POST /mcp", h.mcp),
		route("GET /mcp", h.mcp),
		route("DELETE /mcp", h.mcp),
	}
}

// toClient reports whether a path is for programs with tokens of their own.
func toClient(r *http.Request) bool { return r.URL.Path == "/mcp" || toOpenAI(r) }

// toOpenAI reports whether a path belongs to OpenAI's protocol, so that errors must have its form.
func toOpenAI(r *http.Request) bool {
	path := r.URL.Path
	return path == "/v1/chat/completions" || path == "/v1/models" || strings.HasPrefix(path, "/v1/models/")
}

// authenticate finds the client of a request, or says why there is none. A good token always passes.
func (h *clientHandler) authenticate(r *http.Request) (api.Problem, api.Endpoint) {
	const hint = "hob endpoint add NAME makes one; send it as Authorization: Bearer …"
	given := r.Header.Values("Authorization")
	limit, _ := r.Context().Value(onPort{}).(*limiter)
	if len(given) == 0 && limit == nil && r.URL.Path == "/mcp" {
		return api.Problem{}, local() // on the socket a request without a token comes from hob mcp serve
	}
	if len(given) == 0 {
		return api.NewProblem(http.StatusUnauthorized, "the endpoint's token is missing", hint), api.Endpoint{}
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	var c api.Endpoint
	if len(given) == 1 && strings.EqualFold(scheme, "Bearer") {
		var err error
		if c, err = h.Clients.Find(r.Context(), strings.TrimSpace(token)); err != nil {
			h.Log.ErrorContext(r.Context(), "look for a token", "err", err)
			return api.NewProblem(http.StatusServiceUnavailable, "hob cannot look at its tokens", ""), c
		}
	}
	if c.ID == 0 {
		// A token has 260 random bits, so that only wrong ones need to wait.
		if limit != nil && !limit.open(time.Now()) {
			return api.NewProblem(http.StatusTooManyRequests, "too many wrong tokens", "wait a little"), c
		}
		if limit != nil {
			limit.wrong()
		}
		return api.NewProblem(http.StatusUnauthorized, "the endpoint's token is wrong", hint), c
	}
	return api.Problem{}, c
}

// refuse answers with a problem, in the form that the path's clients read.
func refuse(w http.ResponseWriter, r *http.Request, p api.Problem) {
	if !toOpenAI(r) {
		sendProblem(w, p)
		return
	}
	code := ""
	if p.Status == http.StatusUnauthorized {
		code = "invalid_api_key"
	}
	sendFailure(w, p.Status, completions.Fail(p.Status, p.Detail, p.Hint, "", code))
}

// sendValue answers with a value as JSON.
func sendValue(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("api: an answer cannot be encoded: " + err.Error())
	}
	send(w, http.StatusOK, "application/json", body)
}

// sendFailure answers with an error in OpenAI's form. OpenAI's own clients repeat a request after some errors; they are told when that has no use.
func sendFailure(w http.ResponseWriter, status int, f completions.Failure) {
	body, err := json.Marshal(f)
	if err != nil {
		panic("api: an error cannot be encoded: " + err.Error())
	}
	again := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	w.Header().Set("X-Should-Retry", strconv.FormatBool(again))
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	send(w, status, "application/json", body)
}

// failChat answers with an error of a request for a completion.
func (h *clientHandler) failChat(w http.ResponseWriter, r *http.Request, err error) {
	status, f := h.failure(r, err)
	sendFailure(w, status, f)
}

// failure is an error in OpenAI's form. An error that is no fault is logged, and the client learns nothing about it.
func (h *clientHandler) failure(r *http.Request, err error) (int, completions.Failure) {
	var refused *completions.Refusal
	if errors.As(err, &refused) {
		status := statusOf(refused.Fault.Kind)
		return status, completions.Fail(status, refused.Fault.Text, refused.Fault.Hint, refused.Param, refused.Code)
	}
	p := h.problem(r, err)
	return p.Status, completions.Fail(p.Status, p.Detail, p.Hint, "", "")
}

// graceTime is the time between the end of a connection and the end of its request: a client that repeats it comes back within that.
const graceTime = 2 * time.Second

// watching counts the connections that wait for the answer to a request. A client may repeat a request while its first connection still waits.
type watching struct {
	mu      sync.Mutex
	clients map[string]int // by ExtID
}

// follow notes that a connection waits for a request.
func (w *watching) follow(ext string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[ext]++
}

// leave takes that back. It reports whether nobody waits for the request any more.
func (w *watching) leave(ext string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[ext]--
	if w.clients[ext] > 0 {
		return false
	}
	delete(w.clients, ext)
	return true
}

// alone reports whether nobody waits for a request.
func (w *watching) alone(ext string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clients[ext] == 0
}
