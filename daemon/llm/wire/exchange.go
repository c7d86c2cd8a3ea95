package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/llm"
)

// errIdle is the cause of a request that is cancelled because the server sends nothing.
var errIdle = errors.New("nothing came for too long")

// lastWait is the time to wait for data after the finish reason: the usage and the end mark. After that, the answer is used as it is.
// Reading to the end lets the next request reuse the connection.
const lastWait = 5 * time.Second

// Stream assembles an answer from events. Each protocol has its own implementation.
type Stream interface {
	// ReadAll reads events to the end of the stream and returns io.EOF, or the error of the first bad event.
	ReadAll(in *Events) error
	// Complete reports whether the server has sent the reason that the answer ended.
	Complete() bool
	// Left returns the room that the answer has left. It gets smaller with each piece of text, reasoning or arguments, and with nothing else.
	Left() Room
}

// Post is one request: a JSON document to a path below the server's address.
type Post struct {
	Path   string
	Body   []byte
	Header http.Header // in addition to the server's

	// Refused sees the body of a response with an error status, 64 KB at most, and returns what the error is made of; nil changes nothing.
	Refused func(body []byte) []byte
}

// Encode writes the JSON document of a request, with what the server's refusals have changed. Errors are *llm.Error.
func (s *Server) Encode(document any) ([]byte, error) {
	// The default encoding would write <, > and & as six bytes each, which makes requests with code and pages larger.
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, &llm.Error{Fault: llm.BadRequest, Err: fmt.Errorf("write the request: %w", err)}
	}
	if b.Len() > MaxBody {
		return nil, &llm.Error{Fault: llm.TooLarge, Text: fmt.Sprintf("the request has %d MB, at most %d MB are sent", b.Len()>>20, MaxBody>>20)}
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	s.Config.Learned.Lock()
	defer s.Config.Learned.Unlock()
	for _, c := range s.Config.Learned.Changes {
		body, _ = apply(c, body)
	}
	return body, nil
}

// Exchange posts p and feeds the response to a. One timer guards the time without content: Config.First until the first piece, then Config.Idle
// between pieces, whatever else the server sends. When ctx ends, the error wraps its cause; every other error is an *llm.Error.
func (s *Server) Exchange(ctx context.Context, p Post, a Stream) error {
	// The trace sets sent when the request has left this machine. From then on an error may have been billed.
	var sent atomic.Bool
	inner, cancel := context.WithCancelCause(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	}))
	defer cancel(nil)
	start, alarm := time.Now(), time.AfterFunc(s.Config.First, func() { cancel(errIdle) })
	defer alarm.Stop()

	// Until the response begins, the alarm cancels inner after Config.First.
	res, err := s.send(inner, p)
	if err != nil {
		return begun(s.fault(ctx, inner, llm.Network, err), sent.Load())
	}
	defer func() { _ = res.Body.Close() }() // everything needed has been read
	if res.StatusCode != http.StatusOK {
		return s.named(res, s.refusal(ctx, inner, res, p))
	}
	if kind := res.Header.Get("Content-Encoding"); kind != "" && kind != "identity" { // http.Client decodes what it has asked for
		text := fmt.Sprintf("the server has compressed its answer (%s), although hob did not ask for that", llm.Printable(kind, maxID))
		return s.named(res, begun(&llm.Error{Fault: llm.Malformed, Text: text}, true))
	}
	// From here on, watched restarts the same timer. It begins with the time that the wait for the response has left over.
	var late time.Time // when to stop waiting for the rest of a complete answer
	in := newEvents(&watched{
		r: res.Body, alarm: alarm, idle: s.Config.Idle, left: s.Config.First - time.Since(start), rest: a.Left, had: a.Left(),
		wait: func(left time.Duration) time.Duration { return s.patience(a, left, &late) },
	})
	return s.named(res, begun(s.streamFault(ctx, inner, a, a.ReadAll(in)), in.given > 1)) // a single event may be the error itself
}

// named adds the id that the server gave the request to an error, so that the server's people can find it.
func (s *Server) named(res *http.Response, err error) error {
	id := ""
	if s.RequestID != "" {
		id = llm.Printable(res.Header.Get(s.RequestID), maxID)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && id != "" {
		e.Text = strings.TrimSpace(s.clean(e.Text) + " (request " + id + ")")
	}
	return err
}

// begun marks the error of a request that may have been billed.
func begun(err error, yes bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && yes {
		e.Begun = true
	}
	return err
}

// send posts the body. An HTTP response with any status is a result; an error means that there was no response.
func (s *Server) send(ctx context.Context, p Post) (*http.Response, error) {
	if s.Send != nil {
		return s.Send(ctx, s.web, p)
	}
	u, err := url.Parse(s.Config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.JoinPath(p.Path).String(), bytes.NewReader(p.Body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	for _, h := range []http.Header{{"User-Agent": {"hob"}, "Accept": {"text/event-stream"}, "Content-Type": {"application/json"}}, s.Header, p.Header} {
		for name, values := range h {
			req.Header[name] = values
		}
	}
	return s.web.Do(req)
}

// watched reads a body and restarts the timer for every piece of content. The first wait started with the request. Comments, pings, empty deltas
// and parts of an event do not count. The timer runs only during a Read, so a slow reader is not a silent server.
type watched struct {
	r     io.Reader
	alarm *time.Timer
	idle  time.Duration
	left  time.Duration // time until content must arrive
	rest  func() Room   // of the answer; it gets smaller with content
	had   Room          // rest at the last Read
	wait  func(left time.Duration) time.Duration
}

// Read reads with a time limit. A server that just keeps the connection alive, but sends no answer, is given up.
func (w *watched) Read(p []byte) (int, error) {
	// All events of the piece before this one have been read by now.
	if rest := w.rest(); rest < w.had {
		w.had, w.left = rest, w.idle
	}
	began := time.Now()
	w.alarm.Reset(w.wait(w.left))
	n, err := w.r.Read(p)
	w.alarm.Stop()
	w.left = max(w.left-time.Since(began), 0)
	return n, err
}

// patience returns how long the next piece may take. After a complete answer, one limit covers everything that follows.
func (s *Server) patience(a Stream, left time.Duration, late *time.Time) time.Duration {
	if !a.Complete() {
		return left
	}
	// The limit begins with the first call after the finish reason, and later data do not extend it.
	if late.IsZero() {
		*late = time.Now().Add(min(s.Config.Idle, lastWait))
	}
	return max(time.Until(*late), 0)
}

// streamFault turns the end of a Stream into its error. A complete answer is valid even when its end mark is lost.
func (s *Server) streamFault(ctx, inner context.Context, a Stream, err error) error {
	var known *llm.Error
	switch {
	// An error with a known cause wins, except when the caller has left: then the cause is the end of ctx.
	case errors.As(err, &known) && ctx.Err() == nil:
		return known
	case a.Complete() && known == nil:
		return nil
	case ctx.Err() != nil:
		return s.fault(ctx, inner, llm.Broken, err)
	case err == nil || errors.Is(err, io.EOF):
		return &llm.Error{Fault: llm.Broken, Text: "the stream ended without a finish reason"}
	default:
		return s.fault(ctx, inner, llm.Broken, err)
	}
}

// fault names the cause of an error: the caller cancelled, the server was silent, or otherwise.
func (s *Server) fault(ctx, inner context.Context, otherwise llm.Fault, err error) error {
	// The contexts are asked first: after a cancellation, the error of the connection only describes its consequence.
	if ctx.Err() != nil {
		return fmt.Errorf("ask the model %s: %w", s.Config.Model, context.Cause(ctx))
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Fault: llm.Idle, Err: errIdle}
	}
	err = cause(err)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		otherwise = llm.Untrusted
	}
	if text := err.Error(); s.clean(text) != text {
		err = errors.New(s.clean(text)) // the error quotes data of the server
	}
	return &llm.Error{Fault: otherwise, Err: err}
}
