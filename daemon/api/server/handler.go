// Package server is hob's local API: one HTTP handler, served on a Unix socket and on a
// loopback port. It checks who may ask, turns requests into calls of the few interfaces
// that it declares, and answers with JSON. It never touches the database, decides nothing
// about permission of tools, and never listens beyond this machine.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcpserver"
	"hob/tools"
)

// Messages accepts the owner's messages.
type Messages interface {
	// Post commits a message, and the files that came with it, before it returns. session "" is main; the same id
	// again returns the first receipt with New false; id "" is always new.
	Post(ctx context.Context, m api.Message) (event.Receipt, error)
	// Send queues a text with files for an address. No model reads it.
	Send(ctx context.Context, m api.Outgoing) (api.Sent, error)
}

// Tools lists and runs the tools.
type Tools interface {
	Specs() []tools.Spec
	// Missing returns the tools that cannot work here.
	Missing() []api.Tool
	// Call runs a tool through the permission rules. The error is *api.Approval when a person has to agree first.
	Call(ctx context.Context, name string, c api.ToolCall) (tools.Result, error)
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

// Feed is the part of the live view that is not stored: text that the model is still writing.
type Feed interface {
	Follow() (pieces <-chan event.Piece, end func())
}

// Health reports hob's state: its progress, its metrics and its log.
type Health interface {
	Health(ctx context.Context) (ok bool, components map[string]any)
	// Metrics are numbers for a monitor, in the text format of Prometheus.
	Metrics(ctx context.Context) ([]byte, error)
	// LogFile is the path of the log's newest file.
	LogFile() string
}

// Clients are the programs that have tokens of their own.
type Clients interface {
	// Find returns the client with a token; ID 0: none has it.
	Find(ctx context.Context, token string) (api.Endpoint, error)
	// Serves reports why a client is not served now.
	Serves(ctx context.Context, client api.Endpoint) error
}

// Chats are the requests of clients that speak OpenAI's protocol.
type Chats interface {
	// Begin stores a request, or finds the same one of a short time ago.
	Begin(ctx context.Context, o api.ChatOpening) (api.ChatRequest, error)
	// Accept commits the input of a request with its files. The same input again stores nothing.
	Accept(ctx context.Context, in event.In, files []api.Attachment) error
	// Progress returns how far a request has come.
	Progress(ctx context.Context, ext string) (api.ChatProgress, error)
	// Told notes what a client got in place of an answer.
	Told(ctx context.Context, ext, notice string) error
	// Abort ends a request whose client went away.
	Abort(ctx context.Context, ext string) error
}

// Deps holds the dependencies of the API. Every field must be set; only Plain and Hide may be nil.
type Deps struct {
	Messages Messages
	Routes   []Route // for all routes of package api that this package does not serve itself
	Tools    Tools
	Events   Events
	Feed     Feed
	Health   Health
	Webhooks Webhooks
	Clients  Clients
	Chats    Chats
	MCP      *mcpserver.Server
	Plain    func(error) error   // turns errors of other packages into faults
	Hide     func(string) string // replaces the values of secrets in answers
	Log      *slog.Logger
}

// handler holds the handlers; each is one method in the file of its subject.
type handler struct{ Deps }

// New makes the API's handler. It trusts its caller, because a socket's file mode or Guard protects it. A
// request passes, from outside to inside: recovering (panics), then either a webhook, or whole (reads the
// body; of a program with a token of its own only once that is good and a place is free), problems (router and query), and the route's handler.
func New(d Deps) http.Handler {
	h, clients := &handler{Deps: d}, newClientHandler(d)
	// known has the routes by pattern, so that problems can check the query before the handler runs.
	mux, known := http.NewServeMux(), map[string]Route{}
	for _, r := range slices.Concat(routes(), clients.routes(), d.Routes) {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { r.serve(h, w, req) }) // panics if two routes have the same pattern
		known[r.pattern] = r
	}
	served := whole(problems(mux, known))
	admitted := clients.admitted(served)
	return closing{h.recovering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if toWebhook(r) {
			h.hook(w, r)
			return
		}
		if toClient(r) {
			admitted.ServeHTTP(w, r)
			return
		}
		served.ServeHTTP(w, r)
	})), d.MCP}
}

// closing is a handler with sessions that end when the server has stopped.
type closing struct {
	http.Handler
	mcp *mcpserver.Server
}

// Close ends the sessions.
func (c closing) Close() error {
	if c.mcp == nil {
		return nil
	}
	return c.mcp.Close()
}

// routes are the routes that need more of the request or of the answer than a Route's handler has: streams, attachments, tools.
func routes() []Route {
	return []Route{
		{pattern: "GET /healthz", free: true, serve: (*handler).health}, // a caller may add a query to pass caches
		{pattern: "GET /metrics", serve: (*handler).metrics},
		{pattern: "GET /v1/logs", keys: []string{"limit", "level", "turn", "since", "follow"}, serve: (*handler).logs},
		{pattern: "GET /v1/events", keys: []string{"after", "follow"}, serve: (*handler).follow},
		{pattern: string(api.PostMessage), serve: (*handler).post},
		{pattern: string(api.PostToSession), serve: (*handler).postTo},
		{pattern: string(api.SendText), serve: (*handler).send},
		{pattern: string(api.Tools), keys: []string{"all"}, serve: (*handler).listTools},
		{pattern: string(api.ShowTool), serve: (*handler).showTool},
		{pattern: string(api.CallTool), serve: (*handler).callTool},
	}
}
