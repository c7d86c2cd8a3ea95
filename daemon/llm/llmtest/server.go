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

// Server is a model server on the loopback interface that speaks Chat Completions and Responses with streaming. It keeps a
// ledger of what it would bill. All methods are safe for concurrent use.
type Server struct {
	URL string // what base_url is set to

	http   *httptest.Server
	closed chan struct{}

	mu        sync.Mutex
	came      *sync.Cond
	turns     []Turn
	otherwise func(Request) Turn
	seen      []Request
	billed    llm.Usage
}

// Request is one request as it came.
type Request struct {
	Body     []byte // the very bytes
	Header   http.Header
	Model    string    // as asked for
	Messages []Message // as on the wire
	Tools    []string  // names, in order
}

// Message is one message on the wire.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	CallID  string `json:"tool_call_id"`
	Calls   []Call `json:"tool_calls"`
}

// UnmarshalJSON takes a content that is a text or a list of parts, of which it keeps the texts, with the type of every other one.
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

func unmarshalText(b json.RawMessage, to *string) error {
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("content of a message: %w", err)
	}
	return nil
}

// Call is one call on the wire.
type Call struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Last is the content of the newest message, empty when there is none.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// NewServer starts a server that takes the turns one after the other. Close it.
func NewServer(turns ...Turn) *Server {
	s := newServer(turns)
	s.http = httptest.NewServer(s.handler())
	s.URL = s.http.URL + "/v1"
	return s
}

// NewServerOn is NewServer at a listener of the caller's, which is closed with the server.
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

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(parse, Turn.Wire))
	mux.HandleFunc("POST /v1/responses", s.serve(parseResponses, Turn.ResponsesWire))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`) // a caller that has gone is its own affair
	})
	return mux
}

// Push adds turns to the script.
func (s *Server) Push(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Otherwise sets what is done with requests for which the script has no turn; without it they get the status 400.
func (s *Server) Otherwise(f func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = f
}

// Requests are the requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Await blocks until n requests have come, or until ctx ends.
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

// Billed is the ledger: the usage of every stream that was begun, whether or not it arrived.
func (s *Server) Billed() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.billed
}

// Close lets go of hanging requests and stops the server.
func (s *Server) Close() {
	close(s.closed)
	s.http.CloseClientConnections()
	s.http.Close()
}

// CloseClientConnections breaks off whatever is under way, as a server that crashes does; it goes on serving.
func (s *Server) CloseClientConnections() { s.http.CloseClientConnections() }

// serve answers requests of one protocol.
func (s *Server) serve(parse func([]byte, http.Header) (Request, error), wire func(Turn, int) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		if err != nil {
			return // the client has gone
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

// take notes the request and picks its turn.
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

// hold waits until the turn may begin; false when it never does.
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

func (s *Server) refuse(w http.ResponseWriter, t Turn) {
	w.Header().Set("Content-Type", "application/json")
	for name, values := range t.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(t.Status)
	_, _ = io.WriteString(w, t.Body) // a caller that has gone is its own affair
}

func (s *Server) bill(t Turn, sent int) {
	if t.Raw != "" {
		return
	}
	u := completed(t.Answer, sent).Usage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.billed.Input += u.Input
	s.billed.Cached += u.Cached
	s.billed.Output += u.Output
	s.billed.Reasoning += u.Reasoning
	s.billed.Cost += u.Cost
	s.billed.Priced = s.billed.Priced || u.Priced
}

// stream sends the bytes, or as many of them as the turn lets through.
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
		return // the client has gone
	}
	switch t.Break {
	case Drop:
		panic(http.ErrAbortHandler) // the way in which net/http lets a handler break the transfer
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
}

// emit writes the events one by one, so that they arrive one by one.
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

// breakOff writes part of a response whose end is the end of the connection, and ends it: with a proper close, or a reset.
func breakOff(w http.ResponseWriter, t Turn, wire string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }() // closing is all that is wanted of it
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, head+wire[:min(t.At, len(wire))]); err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && t.Break == Reset {
		_ = tcp.SetLinger(0) // without it the end would be a proper one: the test that asked for a reset fails then
	}
}

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
