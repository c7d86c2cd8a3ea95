package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDaemon is a daemon of three events behind the real API.
type fakeDaemon struct {
	files []api.Attachment
	feed  event.Feed
	act   string // the route of the verb that was asked for
	id    string
	in    any
	wake  chan struct{}
}

func (w *fakeDaemon) Post(_ context.Context, m api.Message) (event.Receipt, error) {
	w.files = m.Attachments
	if m.Session == "gone" {
		return event.Receipt{}, event.NewFault(event.Missing, "hob sessions list", "there is no session %s", m.Session)
	}
	return event.Receipt{Event: 3, Inbox: int64(len(m.Text)), New: true}, nil
}

// The rows and verbs of the test, whose answers say what was asked.
const (
	turns  api.List[event.Filter]                  = "GET /v1/turns"
	named  api.Show[map[string]string]             = "GET /v1/sessions/{id}"
	status api.Show[map[string]string]             = "GET /v1/status"
	answer api.Verb[api.Answer, map[string]string] = "POST /v1/questions/{id}/answer"
	off    api.Verb[api.None, api.Done]            = "POST /v1/safe-mode/off"
	remove api.Verb[api.None, api.Done]            = "DELETE /v1/sessions/{id}"
)

func (w *fakeDaemon) routes() []server.Route {
	return []server.Route{
		server.List(turns, func(_ context.Context, f event.Filter) ([]event.Filter, error) { return []event.Filter{f}, nil }),
		server.Show(named, func(_ context.Context, id string) (map[string]string, error) { return map[string]string{"id": id}, nil }),
		server.ShowOnly(status, func(context.Context) (map[string]string, error) { return map[string]string{"one": "yes"}, nil }),
		server.Do(answer, func(_ context.Context, id string, in api.Answer) (map[string]string, error) {
			w.act, w.id, w.in = string(answer), id, in
			return map[string]string{"did": "answer"}, nil
		}),
		server.DoOnly(off, func(context.Context, api.None) (api.Done, error) {
			w.act = string(off)
			return api.Done{OK: true}, nil
		}),
		server.Change(remove, func(_ context.Context, id string) error {
			w.act, w.id = string(remove), id
			return nil
		}),
	}
}

func (w *fakeDaemon) Send(_ context.Context, m api.Outgoing) (api.Sent, error) {
	w.act, w.in = string(api.SendText), m.Text
	return api.Sent{Outbox: 4, To: event.Address(m.To)}, nil
}

func (*fakeDaemon) Missing() []api.Tool { return nil }

func (w *fakeDaemon) Specs() []tools.Spec { return []tools.Spec{{Name: "read"}} }

func (w *fakeDaemon) Call(_ context.Context, _ string, c api.ToolCall) (tools.Result, error) {
	if c.Approve == "" {
		return tools.Result{}, &api.Approval{Summary: "read it", Hash: "h", Code: "AB"}
	}
	return tools.Result{Content: "text", Data: map[string]string{"workdir": c.Workdir}}, nil
}

func (w *fakeDaemon) After(_ context.Context, seq int64, _ int) ([]event.Event, error) {
	all := []event.Event{{Seq: 1, Type: "a"}, {Seq: 2, Type: "b", Data: map[string]any{"text": "x\ny: z"}}, {Seq: 3, Type: "c"}}
	return all[min(seq, 3):], nil
}

func (w *fakeDaemon) Last(context.Context) (int64, error)             { return 3, nil }
func (w *fakeDaemon) Wake() <-chan struct{}                           { return w.wake }
func (w *fakeDaemon) Health(context.Context) (bool, map[string]any)   { return true, nil }
func (w *fakeDaemon) Follow() (pieces <-chan event.Piece, end func()) { return w.feed.Follow() }

// home starts a daemon and returns its home; far makes the path too long for a socket.
func home(t *testing.T, far bool) (string, *fakeDaemon) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hob")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if far {
		dir = filepath.Join(dir, strings.Repeat("d", 100))
	}
	state := filepath.Join(dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := server.Listen(t.Context(), server.Config{State: state, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeDaemon{wake: make(chan struct{})}
	log := slog.New(slog.DiscardHandler)
	h := server.New(server.Deps{Messages: w, Routes: w.routes(), Tools: w, Events: w, Feed: w, Health: w, Log: log})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, h, log) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return dir, w
}

func find(t *testing.T, dir string) *client.Client {
	t.Helper()
	c, err := client.Find(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBothWays(t *testing.T) {
	for name, far := range map[string]bool{"socket": false, "port": true} {
		t.Run(name, func(t *testing.T) {
			dir, w := home(t, far)
			c := find(t, dir)
			r, err := c.Post(t.Context(), client.Message{Text: "hello"})
			if err != nil || r.Event != 3 || r.Inbox != 5 {
				t.Errorf("post: %+v %v", r, err)
			}
			row, err := client.Show(t.Context(), c, named, "ntfy:a/b c")
			if err != nil || row["id"] != "ntfy:a/b c" {
				t.Errorf("show: %v %v", row, err)
			}
			if row, err = client.Show(t.Context(), c, status, ""); err != nil || row["one"] != "yes" {
				t.Errorf("show one: %v %v", row, err)
			}
			f := event.Filter{Limit: 7, State: "a b", Name: "n"}
			if list, err := client.List(t.Context(), c, turns, f); err != nil || len(list) != 1 || list[0] != f {
				t.Errorf("list: %+v %v", list, err)
			}
			if row, err = client.Do(t.Context(), c, answer, "A/B", api.Answer{Text: "x"}); err != nil || row["did"] != "answer" || w.id != "A/B" || w.in != (api.Answer{Text: "x"}) {
				t.Errorf("do: %v %+v %v", row, w, err)
			}
			if done, err := client.Do(t.Context(), c, off, "", api.None{}); err != nil || !done.OK || w.act != string(off) {
				t.Errorf("do on one: %q %v", w.act, err)
			}
			if _, err := client.Do(t.Context(), c, remove, "a/b", api.None{}); err != nil || w.id != "a/b" || w.act != string(remove) {
				t.Errorf("rm: %q %q %v", w.act, w.id, err)
			}
			if sent, err := client.Do(t.Context(), c, api.SendText, "", api.Outgoing{To: "owner", Text: "hi"}); err != nil || w.in != "hi" || sent != (api.Sent{Outbox: 4, To: "owner"}) {
				t.Errorf("send: %+v %v %v", sent, w.in, err)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	dir, _ := home(t, false)
	c := find(t, dir)
	_, err := c.Post(t.Context(), client.Message{Text: "x", Session: "gone"})
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != 404 || p.Kind != event.Missing || p.Hint != "hob sessions list" {
		t.Errorf("got %#v", err)
	}
	text, hint, kind := client.Explain(err)
	if text != "there is no session gone" || hint != "hob sessions list" || kind != "not_found" {
		t.Errorf("%q %q %q", text, hint, kind)
	}
	text, hint, kind = client.Explain(event.NewFault(event.Clash, "h", "t"))
	if text != "t" || hint != "h" || kind != "conflict" {
		t.Errorf("%q %q %q", text, hint, kind)
	}
	text, hint, kind = client.Explain(&os.PathError{Op: "open", Path: "/f", Err: os.ErrPermission})
	if text != "open /f: permission denied" || !strings.Contains(hint, "chmod") || kind != "" {
		t.Errorf("%q %q %q", text, hint, kind)
	}
}

func TestTool(t *testing.T) {
	dir, _ := home(t, false)
	c := find(t, dir)
	call := client.ToolCall{Input: json.RawMessage(`{"path":"a"}`), Workdir: "/w"}
	_, err := client.Do(t.Context(), c, api.CallTool, "read", call)
	var p *client.Problem
	if !errors.As(err, &p) || p.Kind != event.Pending || p.Hash != "h" || p.Code != "AB" {
		t.Fatalf("got %#v", err)
	}
	call.Approve = p.Hash
	o, err := client.Do(t.Context(), c, api.CallTool, "read", call)
	if err != nil || !o.Success || o.Message != "text" || string(o.Result) != `{"workdir":"/w"}` {
		t.Errorf("%+v %v", o, err)
	}
}

func TestFollow(t *testing.T) {
	dir, w := home(t, false)
	c := find(t, dir)
	var got []string
	err := c.Follow(t.Context(), 1, false, func(f client.Frame) error {
		got = append(got, f.Event.Type)
		return nil
	})
	if err != nil || strings.Join(got, " ") != "b c" {
		t.Errorf("replay: %v %v", got, err)
	}
	var start []int64
	err = c.Follow(t.Context(), 99, false, func(f client.Frame) error {
		start = append(start, f.Start)
		return nil
	})
	if err != nil || len(start) != 1 || start[0] != 3 {
		t.Errorf("beyond the newest: %v %v", start, err)
	}
	enough := errors.New("enough")
	err = c.Follow(t.Context(), 2, true, func(f client.Frame) error {
		if f.Event != nil { // the stream stands: now a piece can be published
			w.feed.Publish(event.Piece{Turn: 7, Offset: 2, Text: "h\né"})
			return nil
		}
		if f.Piece.Turn != 7 || f.Piece.Offset != 2 || f.Piece.Text != "h\né" {
			t.Errorf("piece %+v", f.Piece)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Errorf("follow: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err = c.Follow(ctx, 2, true, func(client.Frame) error {
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	empty := t.TempDir()
	stale := t.TempDir()
	if err := os.MkdirAll(filepath.Join(stale, "state", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"address": free + "\n", "token": "t\n", "run/hob.sock": ""} {
		if err := os.WriteFile(filepath.Join(stale, "state", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	emptied := t.TempDir() // by a power failure
	if err := errors.Join(os.Mkdir(filepath.Join(emptied, "state"), 0o700), os.WriteFile(filepath.Join(emptied, "state", "address"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, stale, emptied, filepath.Join(empty, "missing")} {
		if _, err := client.Find(t.Context(), dir, false); !errors.Is(err, client.ErrNoDaemon) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestGone: a daemon that stops behind the client's back is one that is not running.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	daemon := httptest.NewServer(http.NotFoundHandler())
	for name, text := range map[string]string{"address": daemon.Listener.Addr().String(), "token": "t"} {
		if err := os.WriteFile(filepath.Join(dir, "state", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := find(t, dir)
	daemon.Close()
	if _, err := c.Post(t.Context(), client.Message{Text: "hi"}); !errors.Is(err, client.ErrNoDaemon) || err.Error() != "hob is not running" {
		t.Errorf("got %v", err)
	}
}

// TestForeignAddress: the token is not carried to another machine, whatever the file says.
func TestForeignAddress(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:80", "example.com:80", "nonsense", "http://192.0.2.1:80"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"address": addr, "token": "t"} {
			if err := os.WriteFile(filepath.Join(dir, "state", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.Find(t.Context(), dir, false); err == nil || errors.Is(err, client.ErrNoDaemon) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
