package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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
	begun  time.Time
	events []event.Event
	wake   chan struct{}
	feed   event.Feed
	acts   []act
	filter event.Filter
	sent   []api.Outgoing
	calls  []api.ToolCall
	sick   bool
}

// act is a verb that was asked for.
type act struct {
	route, id string
	in        any
}

func newFakeDaemon() *fakeDaemon {
	return &fakeDaemon{posts: map[string]event.Receipt{}, wake: make(chan struct{})}
}

func (w *fakeDaemon) deps() server.Deps {
	return server.Deps{Messages: w, Routes: w.routes(), Tools: w, Events: w, Feed: &w.feed, Health: w, Webhooks: w, Log: slog.New(slog.DiscardHandler)}
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

func (w *fakeDaemon) Post(_ context.Context, m api.Message) (event.Receipt, error) {
	text, session, id := m.Text, m.Session, m.ID
	w.files, w.begun = m.Attachments, m.Begun
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

func (w *fakeDaemon) List(_ context.Context, resource string, f event.Filter) ([]string, error) {
	w.filter = f
	if resource == "audit" {
		return nil, errors.New("secret detail of the database")
	}
	return []string{resource}, nil
}

func (w *fakeDaemon) Show(_ context.Context, resource, id string) (map[string]string, error) {
	switch id {
	case "missing":
		return nil, event.NewFault(event.Missing, "hob turns list", "there is no %s %s", resource, id)
	case "panic":
		panic("boom")
	}
	return map[string]string{"resource": resource, "id": id}, nil
}

// routes are the routes that the tests ask for. Rows answer what they were asked, ids of any kind are taken.
func (w *fakeDaemon) routes() []server.Route {
	list := []server.Route{
		verb(w, api.StopTurn), verb(w, api.RetryInbox), verb(w, api.DropInbox), verb(w, api.RetryOutbox), verb(w, api.DropOutbox), verb(w, api.RevokeGrant),
		verb(w, api.ApproveQuestion), verb(w, api.DenyQuestion), verb(w, api.AnswerQuestion), verb(w, api.ArchiveSession), verb(w, api.PutAwaySession), verb(w, api.BringBack), verb(w, api.ForgetSession), verb(w, api.SearchHistory), verb(w, api.SetBudget),
		verb(w, api.LeaveSafeMode), verb(w, api.CreateBackup),
		server.DoPlain(api.RevokePairing, func(_ context.Context, id int64) (api.Pairing, error) {
			return api.Pairing{ID: id}, w.act(string(api.RevokePairing), fmt.Sprint(id), nil)
		}),
	}
	for _, resource := range []string{"turns", "audit", "sessions", "why", "questions"} {
		list = append(list, server.Show(api.Show[map[string]string]("GET /v1/"+resource+"/{id}"), func(ctx context.Context, id string) (map[string]string, error) { return w.Show(ctx, resource, id) }))
		if resource != "why" {
			list = append(list, server.List(api.List[string]("GET /v1/"+resource), func(ctx context.Context, f event.Filter) ([]string, error) { return w.List(ctx, resource, f) }))
		}
	}
	for _, resource := range []string{"status", "budget"} {
		list = append(list, server.ShowOnly(api.Show[map[string]string]("GET /v1/"+resource), func(ctx context.Context) (map[string]string, error) { return w.Show(ctx, resource, "") }))
	}
	return list
}

func verb[In, Out any](w *fakeDaemon, v api.Verb[In, Out]) server.Route {
	return server.Do(v, func(_ context.Context, id string, in In) (out Out, err error) { return out, w.act(string(v), id, in) })
}

func (w *fakeDaemon) act(route, id string, in any) error {
	w.acts = append(w.acts, act{route, id, in})
	if id == "clash" {
		return event.NewFault(event.Clash, "", "it is done already")
	}
	return nil
}

func (w *fakeDaemon) Send(_ context.Context, m api.Outgoing) (api.Sent, error) {
	w.sent = append(w.sent, m)
	return api.Sent{Outbox: 1, To: event.Address(m.To)}, nil
}

func (w *fakeDaemon) Missing() []api.Tool {
	return []api.Tool{{Spec: tools.Spec{Name: "tmux", Group: "runtime"}, Why: "tmux is not installed"}}
}

func (w *fakeDaemon) Specs() []tools.Spec {
	return []tools.Spec{{Name: "read", Group: "fs", Parameters: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)}}
}

func (w *fakeDaemon) Call(_ context.Context, _ string, c api.ToolCall) (tools.Result, error) {
	w.calls = append(w.calls, c)
	switch string(c.Input) {
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
