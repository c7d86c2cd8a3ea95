// Package server is hob's local API: one HTTP handler, served on a Unix socket and on a
// loopback port. It checks who may ask, turns requests into calls of the few interfaces
// that it declares, and answers with JSON. It never touches the database, decides nothing
// about permission of tools, and never listens beyond this machine.
package server

import (
	"context"
	"log/slog"
	"net/http"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/tools"
)

// Messages takes what somebody writes.
type Messages interface {
	// Post commits a message, and the files that came with it, before it returns. session "" is main; the same id
	// again returns the first receipt with New false; id "" is always new.
	Post(ctx context.Context, text, session, id string, files ...api.Attachment) (event.Receipt, error)
}

// Rows shows what is stored.
type Rows interface {
	// List returns a slice that marshals to a JSON array, never to null.
	List(ctx context.Context, resource string, f event.Filter) (any, error)
	// Show returns one row with its details. A name works wherever an id does.
	// The resources status and budget have one row each, with the id "".
	Show(ctx context.Context, resource, id string) (any, error)
}

// Acts carries out changes.
type Acts interface {
	Act(ctx context.Context, a api.Act) (any, error)
}

// Tools lists and runs the tools.
type Tools interface {
	Specs() []tools.Spec
	// MissingTool are the tools that cannot work here.
	Missing() []api.MissingTool
	// Call runs a tool through the gate. The error is *api.Approval when a person has to agree first.
	Call(ctx context.Context, c api.ToolCall) (tools.Result, error)
}

// Events is the stored part of the live view.
type Events interface {
	// After returns up to limit events with a seq above seq, oldest first.
	After(ctx context.Context, seq int64, limit int) ([]event.Event, error)
	// Last is the seq of the newest event, 0 when there is none.
	Last(ctx context.Context) (int64, error)
	// Wake returns a channel that is closed at the next commit that adds events. Take it before reading.
	Wake() <-chan struct{}
}

// Feed is the passing part of the live view: text that is still being made.
type Feed interface {
	Follow() (pieces <-chan event.Live, end func())
}

// Health tells how hob does: whether it makes progress, in numbers, and in its log.
type Health interface {
	Health(ctx context.Context) (ok bool, components map[string]any)
	// Metrics are numbers for a monitor, in the text format of Prometheus.
	Metrics(ctx context.Context) ([]byte, error)
	// LogFile is the path of the log's newest file.
	LogFile() string
}

// Deps is what the API needs; every field must be set.
type Deps struct {
	Messages Messages
	Rows     Rows
	Acts     Acts
	Tools    Tools
	Events   Events
	Feed     Feed
	Health   Health
	Hooks    Hooks
	Plain    func(error) error // names errors of what is below for people; nil: none
	Log      *slog.Logger
}

// handler holds the handlers; each is one method in the file of its subject.
type handler struct{ Deps }

// New makes the API's handler. It trusts its caller: a socket's file mode or Guard stands before it.
func New(d Deps) http.Handler {
	h := &handler{Deps: d}
	known := whole(problems(h.routes()))
	return h.recovering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if toHook(r) {
			h.hook(w, r)
			return
		}
		known.ServeHTTP(w, r)
	}))
}

func (h *handler) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", h.health)
	mux.HandleFunc("GET /metrics", h.metrics)
	mux.HandleFunc("GET /v1/logs", h.logs)
	mux.HandleFunc("POST /v1/messages", h.post)
	mux.HandleFunc("POST /v1/sessions/{id}/send", h.postTo)
	mux.HandleFunc("GET /v1/events", h.follow)
	mux.HandleFunc("GET /v1/tools", h.listTools)
	mux.HandleFunc("GET /v1/tools/{name}", h.showTool)
	mux.HandleFunc("POST /v1/tools/{name}", h.callTool)
	mux.HandleFunc("GET /v1/status", h.showOne("status"))
	mux.HandleFunc("GET /v1/budget", h.showOne("budget"))
	mux.HandleFunc("GET /v1/model", h.showOne("model"))
	mux.HandleFunc("GET /v1/model/{id}", h.show("model"))
	mux.HandleFunc("GET /v1/why/{id}", h.show("why"))
	for _, r := range lists() {
		mux.HandleFunc("GET /v1/"+r, h.list(r))
		mux.HandleFunc("GET /v1/"+r+"/{id}", h.show(r))
	}
	h.actRoutes(mux)
	return mux
}

// lists are the resources that have many rows.
func lists() []string {
	return []string{"turns", "sessions", "inbox", "outbox", "questions", "grants", "jobs", "watches", "hooks", "fires", "tasks", "audit", "marks", "channels", "pairings"}
}

func (h *handler) actRoutes(mux *http.ServeMux) {
	for _, on := range []struct {
		resource string
		verbs    []string
	}{
		{"turns", []string{"stop"}},
		{"inbox", []string{"retry", "drop"}},
		{"outbox", []string{"retry", "drop"}},
		{"questions", []string{"approve", "deny", "answer"}},
		{"grants", []string{"revoke"}},
		{"hooks", []string{"add", "remove", "pause", "resume", "rotate", "test"}},
		{"channels", []string{"test"}},
		{"pairings", []string{"start", "end", "revoke"}},
		{"model", []string{"use", "test", "login", "wait", "finish", "cancel", "logout"}},
	} {
		for _, verb := range on.verbs {
			mux.HandleFunc("POST /v1/"+on.resource+"/{id}/"+verb, h.act(on.resource, verb))
		}
	}
	mux.HandleFunc("DELETE /v1/sessions/{id}", h.act("sessions", "rm"))
	mux.HandleFunc("POST /v1/budget/set", h.act("budget", "set"))
	mux.HandleFunc("POST /v1/marks/accept", h.act("marks", "accept"))
	mux.HandleFunc("POST /v1/safe-mode/off", h.act("safe-mode", "off"))
	mux.HandleFunc("POST /v1/backup/create", h.act("backup", "create"))
	mux.HandleFunc("POST /v1/send", h.send)
}
