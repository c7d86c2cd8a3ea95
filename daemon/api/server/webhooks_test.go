package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
)

// Admit knows the webhooks ci, busy, full and broken; a body may have ten bytes.
func (w *fakeDaemon) Admit(_ context.Context, name string) (int64, api.WebhookReply, error) {
	switch name {
	case "ci", "full", "broken":
		return 10, api.WebhookReply{}, nil
	case "busy":
		return 0, api.WebhookReply{Status: 429, Detail: "too many requests", Hint: "later", Retry: 1500 * time.Millisecond}, nil
	}
	return 0, api.WebhookReply{Status: 404, Detail: "there is no such webhook"}, nil
}

func (w *fakeDaemon) Receive(_ context.Context, d api.WebhookRequest) (api.WebhookReply, error) {
	switch d.Name {
	case "full":
		return api.WebhookReply{}, event.NewFault(event.Unavailable, "free some space", "the disk is full")
	case "broken":
		return api.WebhookReply{}, errors.New("secret detail of the database")
	}
	w.add("hook", map[string]any{"name": d.Name, "body": string(d.Body), "header": d.Header.Get("X-Test")})
	return api.WebhookReply{Status: 202, Doc: event.Receipt{Event: 3, Inbox: 5}}, nil
}

func TestHookRoute(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		want               int
		retry, says        string
	}{
		{"POST", "/hooks/ci", "0123456789", 202, "", `{"event":3,"inbox":5}`},
		{"POST", "/hooks/ci?source=x&source=y", "", 202, "", `{"event":3,"inbox":5}`}, // senders add what they like
		{"POST", "/hooks/ci", "0123456789a", 413, "", "over 10 bytes"},
		{"POST", "/hooks/nobody", "{}", 404, "", "there is no such webhook"},
		{"POST", "/hooks/", "{}", 404, "", "there is no such webhook"},
		{"POST", "/hooks/ci/more", "{}", 404, "", "there is no such webhook"},
		{"POST", "/hooks/../v1/messages", `{"text":"hi"}`, 404, "", "there is no such webhook"},
		{"POST", "/hooks/busy", "{}", 429, "2", "too many requests"},
		{"POST", "/hooks/full", "{}", 503, "5", "the disk is full"},
		{"POST", "/hooks/broken", "{}", 500, "", "something inside hob went wrong"},
		{"GET", "/hooks/ci", "", 405, "", "it takes POST"},
		{"PUT", "/hooks/nobody", "{}", 405, "", "it takes POST"},
		{"OPTIONS", "/hooks/ci", "", 405, "", "it takes POST"},
	} {
		w := newFakeDaemon()
		got := do(t, server.New(w.deps()), c.method, c.path, c.body)
		if got.status != c.want || got.header.Get("Retry-After") != c.retry || !strings.Contains(got.raw, c.says) || strings.Contains(got.raw, "secret") {
			t.Errorf("%s %s %q: %d %q %s", c.method, c.path, c.body, got.status, got.header.Get("Retry-After"), got.raw)
		}
		if got.status == 405 && got.header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", c.method, got.header.Get("Allow"))
		}
		if stored := len(w.events) == 1; stored != (c.want == 202) {
			t.Errorf("%s %s: %d, and %d were taken", c.method, c.path, got.status, len(w.events))
		}
	}
}

// TestHooksPassTheGuard: webhooks come with any Host and Origin and without a token, and reach nothing else that way.
func TestHooksPassTheGuard(t *testing.T) {
	paths := map[string]int{
		"/hooks/ci": 202, "/hooks/nobody": 404, "/hooks/": 404,
		"/hooks/../v1/messages": 404, "/hooks/%2e%2e/v1/messages": 404, "/hooks/ci/../../v1/messages": 404, "/hooks//v1/messages": 404, "/hooks/ci%2f..%2f..%2fv1%2fmessages": 404,
		"/hooks": 403, "//hooks/ci": 403, "/Hooks/ci": 403, "/v1/hooks": 403, "/v1/messages": 403, "/v1/hooks/ci/test": 403, "/v1/../hooks/ci": 403, "/healthz": 403, "/": 403,
		"http://hob.example/hooks/ci": 202, "http://hob.example/v1/messages": 403,
	}
	for path, want := range paths {
		for _, host := range []string{"hob.example", "evil.example:4620", "abc.tunnel.example"} {
			w := newFakeDaemon()
			h := server.Guard(server.New(w.deps()), secret, 4620)
			req := httptest.NewRequest("POST", path, strings.NewReader(`{"a":1}`))
			req.Host = host
			req.Header.Set("Origin", "https://"+host)
			req.Header.Set("X-Forwarded-Host", "127.0.0.1:4620")
			if got := serve(t, h, req); got.status != want {
				t.Errorf("%s with Host %s: %d, want %d", path, host, got.status, want)
			}
			if len(w.posts) > 0 || len(w.acts) > 0 {
				t.Errorf("%s with Host %s reached the API", path, host)
			}
		}
	}
}

// TestHookBodyAsItCame: the bytes that were signed arrive, with the headers.
func TestHookBodyAsItCame(t *testing.T) {
	w := newFakeDaemon()
	req := httptest.NewRequest("POST", "/hooks/ci", strings.NewReader(" {\"a\" :\x00"))
	req.Header.Set("X-Test", "yes")
	serve(t, server.New(w.deps()), req)
	if got := fmt.Sprint(w.events[0].Data); got != "map[body: {\"a\" :\x00 header:yes name:ci]" {
		t.Errorf("%q", got)
	}
}

// TestSlowHookSender: a sender that does not finish its request in time is cut off, also if the webhook does not exist.
func TestSlowHookSender(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&impatient{ResponseWriter: rw}, r)
	}))
	defer srv.Close()
	for name, want := range map[string]string{"ci": "408", "nobody": "404"} {
		conn := dial(t, srv.Listener.Addr().String())
		if _, err := conn.Write([]byte("POST /hooks/" + name + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%s: %q, %v", name, line, err)
		}
		for err == nil { // up to the end of the connection
			_, err = in.ReadString('\n')
		}
		if err.Error() != "EOF" {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
}

// TestLargeHookBody: a body over the cap is refused by its length alone, before a byte of it is read.
func TestLargeHookBody(t *testing.T) {
	w := newFakeDaemon()
	req := httptest.NewRequest("POST", "/hooks/ci", failing{t})
	req.ContentLength = 11
	if got := serve(t, server.New(w.deps()), req); got.status != 413 {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

// failing is a body that must not be read.
type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("the body was read")
	return 0, errors.New("read")
}
