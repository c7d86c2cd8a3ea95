package anthropic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/anthropic"
	"hob/daemon/llm/llmtest"
)

// canned is a transport that answers every request with the same stream, with no network between.
type canned struct {
	body   string
	status int
	header http.Header
	err    error // how the body ends, instead of io.EOF
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	h := c.header
	if h == nil {
		h = http.Header{"Content-Type": {"text/event-stream"}}
	}
	var body io.Reader = strings.NewReader(c.body)
	if c.err != nil {
		body = io.MultiReader(body, failing{c.err})
	}
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(body), ContentLength: -1, Request: r,
	}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// recorder is a transport that keeps what was sent, and answers each request with the next body; the last one again and again.
type recorder struct {
	bodies  []string
	sent    []string
	headers []http.Header
	url     string
	status  int // of the first answer; 0: 200
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, req.Body); err != nil {
		return nil, err
	}
	c := canned{body: r.bodies[min(len(r.sent), len(r.bodies)-1)]}
	if len(r.sent) == 0 {
		c.status = r.status
	}
	r.sent, r.headers, r.url = append(r.sent, b.String()), append(r.headers, req.Header.Clone()), req.URL.String()
	return c.RoundTrip(req)
}

// last is the newest request.
func (r *recorder) last() string { return r.sent[len(r.sent)-1] }

// config is a model at an address that nobody listens at, with the transport in its place.
func config(rt http.RoundTripper) llm.Config {
	return llm.Config{
		Provider: "anthropic", Model: "claude-sonnet-4-6", BaseURL: "http://model.test/v1", APIKey: "sk-secret",
		HTTP: &http.Client{Transport: rt},
	}
}

func open(t testing.TB, c llm.Config) llm.Model {
	t.Helper()
	m, err := anthropic.New(c)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return m
}

func serve(t testing.TB, turns ...llmtest.Turn) *llmtest.Server {
	t.Helper()
	s := llmtest.NewServer(turns...)
	t.Cleanup(s.Close)
	return s
}

func at(t testing.TB, s *llmtest.Server) llm.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := config(transport)
	c.BaseURL = s.URL
	return open(t, c)
}

func user(text string) llm.Message { return llm.Message{Role: llm.User, Parts: event.Say(text)} }

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.ToolRole, CallID: id, Parts: event.Say(text)}
}

func hello() llm.Request {
	return llm.Request{System: "be kind", Messages: []llm.Message{user("hello")}}
}

// spoken is an answer as the next request has it.
func spoken(a llm.Answer) llm.Message {
	m := llm.Message{Role: llm.Assistant, Calls: a.Calls, Raw: a.Raw}
	if a.Text != "" {
		m.Parts = event.Say(a.Text)
	}
	return m
}

// faultIn asserts that an error is an *llm.Error of a kind.
func faultIn(t testing.TB, err error, want llm.Fault) llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("want an *llm.Error, got %v", err)
	}
	if e.Fault != want {
		t.Fatalf("want %s, got %v", want, e)
	}
	return *e
}

// answer is the answer to a stream.
func answer(t testing.TB, body string) llm.Answer {
	t.Helper()
	a, err := open(t, config(canned{body: body})).Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	return a
}

// data are events, each named as its type.
func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, e)
	}
	return b.String()
}

const (
	started = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`
	stopped = `{"type":"message_stop"}`
)

func starts(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func grows(index int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta)
}

func ends(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func says(index int, text string) string {
	return grows(index, fmt.Sprintf(`{"type":"text_delta","text":%q}`, text))
}

func input(index int, piece string) string {
	return grows(index, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, piece))
}

func finished(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":5}}`, reason)
}

const text = `{"type":"text","text":""}`

func tool(id, name string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name)
}

// turnOf is a turn of a server with these bytes, or with a refusal.
func turnOf(body string, status int, h http.Header) llmtest.Turn {
	if status != http.StatusOK {
		t := llmtest.Failed(status, "no")
		t.Header = h
		return t
	}
	return llmtest.Turn{Raw: body}
}

// artifacts maps the name of an artifact to its bytes.
type artifacts map[string]string

func (a artifacts) Bytes(_ context.Context, name string) ([]byte, error) {
	if data, ok := a[name]; ok {
		return []byte(data), nil
	}
	return nil, errors.New("no such file")
}
