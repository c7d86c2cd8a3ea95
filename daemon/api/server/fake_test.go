package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/tools"
)

// fakeDaemon is an in-memory daemon behind the API.
type fakeDaemon struct {
	mu     sync.Mutex
	posts  map[string]event.Receipt
	files  []api.Attachment // of the last post
	events []event.Event
	wake   chan struct{}
	feed   event.Feed
	acts   []api.Act
	filter event.Filter
	calls  []api.ToolCall
	sick   bool
}

func newFakeDaemon() *fakeDaemon {
	return &fakeDaemon{posts: map[string]event.Receipt{}, wake: make(chan struct{})}
}

func (w *fakeDaemon) deps() server.Deps {
	return server.Deps{Messages: w, Rows: w, Acts: w, Tools: w, Events: w, Feed: &w.feed, Health: w, Hooks: w, Log: slog.New(slog.DiscardHandler)}
}

func (w *fakeDaemon) add(typ string, data map[string]any) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq := int64(len(w.events) + 1)
	w.events = append(w.events, event.Event{Seq: seq, Type: typ, Data: data})
	close(w.wake)
	w.wake = make(chan struct{})
	return seq
}

func (w *fakeDaemon) Post(_ context.Context, text, session, id string, files ...api.Attachment) (event.Receipt, error) {
	w.files = files
	if text == "full" {
		return event.Receipt{}, event.NewFault(event.Unavailable, "try again", "the inbox is full")
	}
	if r, ok := w.posts[id]; ok && id != "" {
		r.New = false
		return r, nil
	}
	seq := w.add("event.accepted", map[string]any{"text": text, "session": session})
	r := event.Receipt{Event: seq, Inbox: seq + 100, New: true}
	w.posts[id] = r
	return r, nil
}

func (w *fakeDaemon) List(_ context.Context, resource string, f event.Filter) (any, error) {
	w.filter = f
	if resource == "audit" {
		return nil, errors.New("secret detail of the database")
	}
	return []string{resource}, nil
}

func (w *fakeDaemon) Show(_ context.Context, resource, id string) (any, error) {
	switch id {
	case "missing":
		return nil, event.NewFault(event.Missing, "hob turns list", "there is no %s %s", resource, id)
	case "panic":
		panic("boom")
	}
	return map[string]string{"resource": resource, "id": id}, nil
}

func (w *fakeDaemon) Act(_ context.Context, a api.Act) (any, error) {
	w.acts = append(w.acts, a)
	switch a.ID {
	case "clash":
		return nil, event.NewFault(event.Clash, "", "it is done already")
	case "nil":
		return nil, nil
	}
	return map[string]string{"verb": a.Verb}, nil
}

func (w *fakeDaemon) Missing() []api.MissingTool {
	return []api.MissingTool{{Spec: tools.Spec{Name: "tmux", Group: "runtime"}, Why: "tmux is not installed"}}
}

func (w *fakeDaemon) Specs() []tools.Spec {
	return []tools.Spec{{Name: "read", Group: "fs", Parameters: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)}}
}

func (w *fakeDaemon) Call(_ context.Context, c api.ToolCall) (tools.Result, error) {
	w.calls = append(w.calls, c)
	switch string(c.Args) {
	case `{"path":"no"}`:
		return tools.Fail(tools.NotFound, "look", "nothing there"), nil
	case `{"path":"more"}`:
		r := tools.Fail(tools.NotFound, "look", "nothing there")
		r.Content += "\nhalf was done"
		return r, nil
	case `{"path":"denied"}`:
		return tools.Result{}, event.NewFault(event.Refused, "", "denied")
	case `{"path":"ask"}`:
		if c.Approve != "h1" {
			return tools.Result{}, &api.Approval{
				Summary: "read ask", Reason: "foreign text", Allow: `allow = ["read"]`,
				Canonical: "read\nask", Hash: "h1", Code: "ABCD", Warnings: []string{"careful"},
			}
		}
	}
	return tools.Result{Content: "fine", Data: map[string]int{"lines": 1}}, nil
}

func (w *fakeDaemon) After(_ context.Context, seq int64, limit int) ([]event.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq >= int64(len(w.events)) {
		return nil, nil
	}
	rest := w.events[seq:]
	return append([]event.Event(nil), rest[:min(limit, len(rest))]...), nil
}

func (w *fakeDaemon) Last(context.Context) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(len(w.events)), nil
}

func (w *fakeDaemon) Wake() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wake
}

func (w *fakeDaemon) Health(context.Context) (bool, map[string]any) {
	return !w.sick, map[string]any{"thread": "idle"}
}

// answer is what a request got.
type answer struct {
	status int
	kind   string
	header http.Header
	raw    string
	doc    map[string]any // nil when the body is not an object
}

func do(t *testing.T, h http.Handler, method, path, body string) answer {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	return serve(t, h, req)
}

func serve(t *testing.T, h http.Handler, req *http.Request) answer {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	raw, err := io.ReadAll(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: rec.Code, kind: rec.Header().Get("Content-Type"), header: rec.Header(), raw: string(raw)}
	_ = json.Unmarshal(raw, &a.doc) // lists have no doc
	return a
}
