package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"hob/daemon/api/server"
	"hob/daemon/event"
	vault "hob/daemon/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReplay(t *testing.T) {
	w := newFakeDaemon()
	w.add("event.accepted", map[string]any{"text": "a\nb"})
	w.add("turn.started", nil)
	w.add("turn.finished", nil)
	h := server.New(w.deps())
	for _, c := range []struct {
		query, last string
		want        []string
		start       string
	}{
		{"after=0", "", []string{"1", "2", "3"}, "0"},
		{"after=2", "", []string{"3"}, "2"},
		{"after=3", "", nil, "3"},
		{"after=99", "", nil, "3"}, // beyond the newest
		{"", "", nil, "3"},
		{"after=0", "2", []string{"3"}, "2"}, // a follower that comes back
		{"", "99", nil, "3"},
	} {
		req := httptest.NewRequest("GET", "/v1/events?follow=0&"+c.query, nil)
		req.Header.Set("Last-Event-ID", c.last)
		got := serve(t, h, req)
		var ids []string
		for _, line := range strings.Split(got.raw, "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				ids = append(ids, id)
			}
		}
		if fmt.Sprint(ids) != fmt.Sprint(c.want) || got.kind != "text/event-stream" {
			t.Errorf("%q, Last-Event-ID %q: %v of type %q, want %v", c.query, c.last, ids, got.kind, c.want)
		}
		if start := got.header.Get("Hob-After"); start != c.start {
			t.Errorf("%q, Last-Event-ID %q: it begins after %s, want %s", c.query, c.last, start, c.start)
		}
	}
	first := serve(t, h, httptest.NewRequest("GET", "/v1/events?follow=0&after=0", nil))
	want := "id: 1\nevent: event.accepted\ndata: {\"seq\":1,\"type\":\"event.accepted\",\"at\":\"0001-01-01T00:00:00Z\",\"data\":{\"text\":\"a\\nb\"}}\n\n"
	if !strings.HasPrefix(first.raw, want) {
		t.Errorf("frame\n%q\nwant\n%q", first.raw, want)
	}
}

// TestResume cuts a stream at any place and goes on behind the last id: nothing is lost, nothing comes twice.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newFakeDaemon()
		n := rapid.IntRange(0, 450).Draw(t, "events")
		for range n {
			w.add("e", nil)
		}
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		h := server.New(w.deps())
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", fmt.Sprintf("/v1/events?follow=0&after=%d", cut), nil))
		want := cut
		for _, line := range strings.Split(rec.Body.String(), "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				want++
				if id != fmt.Sprint(want) {
					t.Fatalf("id %s, want %d", id, want)
				}
			}
		}
		if want != n {
			t.Fatalf("it ended at %d of %d", want, n)
		}
	})
}

// pipe is a response writer that hands each write to a channel.
type pipe struct {
	header http.Header
	frames chan string
	part   strings.Builder
}

func (p *pipe) Header() http.Header { return p.header }
func (p *pipe) WriteHeader(int)     {}
func (p *pipe) Write(b []byte) (int, error) {
	p.part.Write(b)
	return len(b), nil
}

func (p *pipe) Flush() {
	if p.part.Len() > 0 {
		p.frames <- p.part.String()
		p.part.Reset()
	}
}

// rest reads all that there is to read.
func (p *pipe) rest() (text string) {
	for {
		synctest.Wait()
		select {
		case f := <-p.frames:
			text += f
		default:
			return text
		}
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeDaemon()
		ctx, stop := context.WithCancel(t.Context())
		p := &pipe{header: http.Header{}, frames: make(chan string)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d := w.deps()
			d.Hide = func(text string) string { return strings.ReplaceAll(text, "canary", "[hidden]") }
			server.New(d).ServeHTTP(p, httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil))
		}()
		synctest.Wait()
		w.add("turn.started", nil)
		expect(t, p, "event: turn.started")
		w.feed.Publish(event.Piece{Turn: 1, Text: "hel"})
		expect(t, p, "event: text.delta\ndata: {\"turn\":1,\"step\":0,\"offset\":0,\"text\":\"hel\"")
		w.feed.Publish(event.Piece{Turn: 1, Output: "the key is canary"})
		expect(t, p, "event: tool.output\ndata: {\"turn\":1,\"step\":0,\"offset\":0,\"text\":\"\",\"session\":\"\",\"output\":\"the key is [hidden]\"")
		for range 20 { // the stream is held up until a call, the text after it and the end are there
			pause := w.add("pause", nil)
			synctest.Wait()
			w.feed.Publish(event.Piece{Turn: 1, Offset: 3, Text: "before", After: pause})
			call := w.add("tool.finished", nil)
			w.feed.Publish(event.Piece{Turn: 1, Step: 1, Text: "behind", After: call})
			w.add("turn.finished", nil)
			text := p.rest()
			at := -1
			for _, part := range []string{"before", "tool.finished", "behind", "turn.finished"} {
				if i := strings.Index(text, part); i <= at {
					t.Fatalf("%q is not in its place:\n%s", part, text)
				} else {
					at = i
				}
			}
		}
		time.Sleep(16 * time.Second) // in the bubble
		expect(t, p, ": still here\n\n")
		stop()
		<-ended
	})
}

// A secret whose value looks like a part of the JSON, or that the JSON writes with escapes, is taken out of an event and of a piece of text, and the stream
// goes on.
func TestFollowWithHostileSecrets(t *testing.T) {
	for _, value := range []string{`","turn":`, `":"","type":"`, `"quoted"`, `ABCDEF\`, "first\nsecond", `\u0041BCDE`, "<a&b>\u2028c", "type\":\"note", `{"text":"`, "10000001"} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeDaemon()
			ctx, stop := context.WithCancel(t.Context())
			p := &pipe{header: http.Header{}, frames: make(chan string)}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				d, known := w.deps(), vault.Redactor{}
				known.Add("x", value)
				d.Hide = known.Text
				server.New(d).ServeHTTP(p, httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil))
			}()
			synctest.Wait()
			w.add("note", map[string]any{"args": map[string]string{"key": "it has " + value, value: "x"}, "number": 10000001})
			w.feed.Publish(event.Piece{Turn: 1, Text: "it is " + value})
			w.feed.Publish(event.Piece{Turn: 1, Output: value + " was printed"})
			w.add("turn.finished", nil)
			text := p.rest()
			for _, want := range []string{"event: note\n", `"it has [secret x]"`, `"it is [secret x]"`, `"[secret x] was printed"`, "event: turn.finished\n"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q: %q is missing in\n%s", value, want, text)
				}
			}
			for line := range strings.Lines(text) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					var e struct{ Text, Output, Data any }
					if err := json.Unmarshal([]byte(data), &e); err != nil || strings.Contains(fmt.Sprint(e), value) {
						t.Errorf("%q: %v in %s", value, err, data)
					}
				}
			}
			stop()
			<-ended
		})
	}
}

func expect(t *testing.T, p *pipe, prefix string) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-p.frames:
		if !strings.Contains(got, prefix) {
			t.Errorf("frame %q, want %q in it", got, prefix)
		}
	default:
		t.Errorf("no frame, want %q", prefix)
	}
}

// TestSlowFollower: one that does not read is let go, and hob does not wait for it.
func TestSlowFollower(t *testing.T) {
	w := newFakeDaemon()
	big := strings.Repeat("x", 64<<10)
	for range 400 {
		w.add("e", map[string]any{"text": big})
	}
	served := make(chan struct{})
	h := server.New(w.deps())
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer close(served)
		h.ServeHTTP(&hurried{ResponseWriter: rw}, r)
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL + "/v1/events?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	<-served // without a reader
}

// hurried makes the time that a follower may take short.
type hurried struct{ http.ResponseWriter }

func (h *hurried) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *hurried) SetWriteDeadline(time.Time) error {
	return http.NewResponseController(h.ResponseWriter).SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
}

// TestSlowSender: a body that does not arrive is given up, and no handler waits for it.
func TestSlowSender(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&impatient{ResponseWriter: rw}, r)
	}))
	defer srv.Close()
	conn := dial(t, srv.Listener.Addr().String())
	if _, err := conn.Write([]byte("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "408") {
		t.Errorf("got %q, %v", line, err)
	}
}

type impatient struct{ http.ResponseWriter }

func (i *impatient) Unwrap() http.ResponseWriter { return i.ResponseWriter }

func (i *impatient) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(50 * time.Millisecond)
	}
	return http.NewResponseController(i.ResponseWriter).SetReadDeadline(at)
}
