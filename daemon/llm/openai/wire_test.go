package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/llm/openai"
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

// config is a model at an address that nobody listens at, with the transport in its place.
func config(rt http.RoundTripper) llm.Config {
	return llm.Config{
		Provider: "compatible", Model: "m", BaseURL: "http://model.test/v1", APIKey: "sk-secret",
		HTTP: &http.Client{Transport: rt},
	}
}

func open(t testing.TB, c llm.Config) llm.Model {
	t.Helper()
	m, err := openai.New(c)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return m
}

func at(t testing.TB, s *llmtest.Server, provider string) llm.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return open(t, llm.Config{Provider: provider, Model: "m", BaseURL: s.URL, APIKey: "sk-secret", HTTP: &http.Client{Transport: transport}})
}

func serve(t testing.TB, turns ...llmtest.Turn) *llmtest.Server {
	t.Helper()
	s := llmtest.NewServer(turns...)
	t.Cleanup(s.Close)
	return s
}

func user(text string) llm.Message { return llm.Message{Role: llm.User, Parts: event.Say(text)} }

func hello() llm.Request {
	return llm.Request{System: "be kind", Messages: []llm.Message{user("hello")}}
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

func data(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "data: %s\n\n", c)
	}
	return b.String()
}

const stopped = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func says(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

func callsTool(pieces string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + pieces + `]},"finish_reason":null}]}`
}
