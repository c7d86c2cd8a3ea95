// Package transcribetest is a scripted transcription endpoint for tests. It implements the real wire format of OpenAI's
// createTranscription.
package transcribetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Reply is the server's reaction to one request.
type Reply struct {
	Status int            // 0: 200
	Header http.Header    //
	Text   string         // the transcription, or the error message
	Usage  map[string]any // as on the wire; nil: none
	Raw    string         // replaces the whole body
	Cut    bool           // true: the connection is dropped after the request was read
	Hang   bool           // true: no answer until the caller closes the connection
}

// Request is a received request.
type Request struct {
	Path, Key, Model, Language, Format string
	Name, MIME, Data                   string // of the file
}

// Server is the fake endpoint. All methods are safe for concurrent use.
type Server struct {
	URL string // the value for base_url

	http   *httptest.Server
	closed chan struct{}
	mu     sync.Mutex
	script []Reply
	seen   []Request
}

// NewServer starts a server that gives the replies in order and then repeats the last one. The caller closes it.
func NewServer(script ...Reply) *Server {
	s := &Server{script: script, closed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/v1"
	return s
}

// Close ends all calls and the server.
func (s *Server) Close() {
	close(s.closed)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests lists the received requests, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// serve reads the multipart form as it arrives and answers with the next reply.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	req := Request{Path: r.URL.Path, Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	form, err := r.MultipartReader()
	for err == nil {
		p, nerr := form.NextPart()
		if nerr != nil {
			break
		}
		data, rerr := io.ReadAll(io.LimitReader(p, 25<<20))
		err = rerr
		req.take(p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(data))
	}
	if err != nil {
		http.Error(w, `{"error":{"message":"the form cannot be read"}}`, http.StatusBadRequest)
		return
	}
	s.answer(w, r, s.next(req))
}

// take stores one field of the form.
func (r *Request) take(field, name, mime, data string) {
	switch field {
	case "model":
		r.Model = data
	case "language":
		r.Language = data
	case "response_format":
		r.Format = data
	case "file":
		r.Name, r.MIME, r.Data = name, mime, data
	}
}

// next records a request and returns its scripted reply.
func (s *Server) next(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	if len(s.script) == 0 {
		return Reply{Text: "nothing was scripted", Status: http.StatusNotImplemented}
	}
	reply := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return reply
}

// answer carries a reply out: an answer, silence or a cut connection.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, reply Reply) {
	switch {
	case reply.Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	case reply.Cut:
		panic(http.ErrAbortHandler)
	}
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	body := map[string]any{"text": reply.Text}
	if reply.Usage != nil {
		body["usage"] = reply.Usage
	}
	w.Header().Set("Content-Type", "application/json")
	if reply.Status != 0 {
		body = map[string]any{"error": map[string]any{"message": reply.Text, "type": "invalid_request_error"}}
		w.WriteHeader(reply.Status)
	}
	if reply.Raw != "" {
		_, _ = io.WriteString(w, reply.Raw) // a caller that is gone needs no answer
		return
	}
	_ = json.NewEncoder(w).Encode(body) // the same
}
