package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/llm"
)

// Server is a model server on the loopback interface that streams Chat Completions, Responses and Messages. It adds up what it would bill. All
// methods are safe for concurrent use.
type Server struct {
	URL string // the base_url for clients

	http   *httptest.Server
	closed chan struct{}

	mu        sync.Mutex
	came      *sync.Cond
	turns     []Turn
	otherwise func(Request) Turn
	seen      []Request
	billed    llm.Usage
}

// Request is a request as received.
type Request struct {
	Body     []byte // the unchanged bytes
	Header   http.Header
	Model    string    // as requested
	Messages []Message // as sent
	Tools    []string  // names, in order
}

// Message is one message on the wire.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	CallID  string `json:"tool_call_id"`
	Calls   []Call `json:"tool_calls"`
}

// UnmarshalJSON accepts a content that is a text or a list of parts. Of a list it keeps the texts; any other part becomes its type.
func (m *Message) UnmarshalJSON(b []byte) error {
	type plain Message
	var shape struct {
		plain
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(b, &shape); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	*m = Message(shape.plain)
	if len(shape.Content) == 0 || shape.Content[0] != '[' {
		return unmarshalText(shape.Content, &m.Content)
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(shape.Content, &parts); err != nil {
		return fmt.Errorf("parts of a message: %w", err)
	}
	for _, p := range parts {
		if p.Type != "text" {
			p.Text = "<" + p.Type + ">"
		}
		m.Content += p.Text
	}
	return nil
}

// unmarshalText decodes a content that is a text, or missing.
func unmarshalText(b json.RawMessage, to *string) error {
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("content of a message: %w", err)
	}
	return nil
}

// Call is a tool call as sent.
type Call struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Last returns the content of the newest message, "" if there is none. The notes that hob adds after an input, such as that a file of the workspace
// has changed, do not count.
func (r Request) Last() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != "user" || !strings.HasPrefix(m.Content, "[hob] ") && !strings.HasPrefix(m.Content, "[memory] ") {
			return m.Content
		}
	}
	return ""
}

// NewServer starts a server that serves the turns in order. Close it.
func NewServer(turns ...Turn) *Server {
	s := newServer(turns)
	s.http = httptest.NewServer(s.handler())
	s.URL = s.http.URL + "/v1"
	return s
}

// NewServerOn is NewServer on the caller's listener, which closes with the server.
func NewServerOn(l net.Listener, turns ...Turn) *Server {
	s := newServer(turns)
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}}
	s.http.Start()
	s.URL = s.http.URL + "/v1"
	return s
}

func newServer(turns []Turn) *Server {
	s := &Server{turns: turns, closed: make(chan struct{})}
	s.came = sync.NewCond(&s.mu)
	return s
}

// handler serves the protocols and the list of models.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(parse, Turn.Wire))
	mux.HandleFunc("POST /v1/responses", s.serve(parseResponses, Turn.ResponsesWire))
	mux.HandleFunc("POST /v1/messages", s.serve(parseMessages, Turn.MessagesWire))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`) // the client may be gone
	})
	return mux
}

// Push appends turns to the script.
func (s *Server) Push(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Otherwise sets the turn for requests after the script's end; without it they get status 400.
func (s *Server) Otherwise(f func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = f
}

// Requests returns the requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Await blocks until n requests have arrived or ctx ends.
func (s *Server) Await(ctx context.Context, n int) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.came.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.seen) < n {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d requests came: %w", len(s.seen), n, ctx.Err())
		}
		s.came.Wait()
	}
	return nil
}

// Billed returns the usage of every stream that was begun, even if the client did not receive it.
func (s *Server) Billed() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.billed
}

// Close releases hanging requests and stops the server.
func (s *Server) Close() {
	close(s.closed)
	s.http.CloseClientConnections()
	s.http.Close()
}

// CloseClientConnections breaks all connections, as a crash of the server would. The server keeps serving.
func (s *Server) CloseClientConnections() { s.http.CloseClientConnections() }

// serve returns the handler of one protocol: it records the request, waits if the turn says so, and sends the error status or the stream.
func (s *Server) serve(parse func([]byte, http.Header) (Request, error), wire func(Turn, int) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		if err != nil {
			return // the client is gone
		}
		req, err := parse(body, r.Header)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		t := s.take(req)
		if !s.hold(r.Context(), t) {
			return
		}
		if t.Status != 0 && t.Status != http.StatusOK {
			s.refuse(w, t)
			return
		}
		s.bill(t, len(body))
		s.stream(w, r, t, wire(t, len(body)))
	}
}

// take records the request and returns its turn.
func (s *Server) take(req Request) Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	s.came.Broadcast()
	if len(s.turns) > 0 {
		t := s.turns[0]
		s.turns = s.turns[1:]
		return t
	}
	if s.otherwise != nil {
		return s.otherwise(req)
	}
	return Failed(http.StatusBadRequest, "the script has no more turns")
}

// hold waits until the turn may begin; false if it never does.
func (s *Server) hold(ctx context.Context, t Turn) bool {
	wait := t.Hold
	if t.Break == Hang && t.At == 0 {
		wait = make(chan struct{})
	}
	if wait == nil {
		return true
	}
	select {
	case <-wait:
		return true
	case <-ctx.Done():
	case <-s.closed:
	}
	return false
}

// refuse sends the turn's error status.
func (s *Server) refuse(w http.ResponseWriter, t Turn) {
	w.Header().Set("Content-Type", "application/json")
	for name, values := range t.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(t.Status)
	_, _ = io.WriteString(w, t.Body) // the client may be gone
}

// bill adds the usage of a turn.
func (s *Server) bill(t Turn, sent int) {
	if t.Raw != "" || t.RawMessages != "" {
		return
	}
	u := completed(t.Answer, sent).Usage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.billed.Input += u.Input
	s.billed.Cached += u.Cached
	s.billed.Written += u.Written
	s.billed.Output += u.Output
	s.billed.Reasoning += u.Reasoning
	s.billed.Cost += u.Cost
	s.billed.Priced = s.billed.Priced || u.Priced
}

// stream sends the bytes, or as many as the turn allows before it breaks.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t Turn, wire string) {
	if t.Break == Cut || t.Break == Reset {
		breakOff(w, t, wire)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for name, values := range t.Header {
		w.Header()[name] = values
	}
	if t.Break != Whole {
		wire = wire[:min(t.At, len(wire))]
	}
	if err := emit(w, http.NewResponseController(w).Flush, wire); err != nil {
		return // the client is gone
	}
	switch t.Break {
	case Drop:
		panic(http.ErrAbortHandler) // net/http's way to break off a response
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
}

// emit writes and flushes the events one by one, so that they arrive one by one.
func emit(w io.Writer, flush func() error, wire string) error {
	for _, event := range strings.SplitAfter(wire, "\n\n") {
		if _, err := io.WriteString(w, event); err != nil {
			return fmt.Errorf("send an event: %w", err)
		}
		if err := flush(); err != nil {
			return fmt.Errorf("send an event: %w", err)
		}
	}
	return nil
}

// breakOff writes part of a response without a length, so that the end of the connection is its end, and closes the connection or resets
// it.
func breakOff(w http.ResponseWriter, t Turn, wire string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }() // the error does not matter
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, head+wire[:min(t.At, len(wire))]); err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && t.Break == Reset {
		_ = tcp.SetLinger(0) // a failure leads to a regular close, which the test notices
	}
}

// parse decodes a request of Chat Completions.
func parse(body []byte, h http.Header) (Request, error) {
	var shape struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []Message `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &shape); err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	if !shape.Stream {
		return Request{}, fmt.Errorf("request: only streams are served, stream is %v", shape.Stream)
	}
	r := Request{Body: body, Header: h.Clone(), Model: shape.Model, Messages: shape.Messages}
	for _, t := range shape.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	return r, nil
}
