package openai

import (
	"context"
	"crypto/tls"
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

	"github.com/openai/openai-go/v3/option"
	api "github.com/openai/openai-go/v3/responses"
)

// Limits, in bytes.
const (
	maxBody  = 16 << 20 // of a request and of an answer
	maxFault = 64 << 10 // of an error's body; the rest is not read
)

// newServer builds the part that both protocols share.
func newServer(c llm.Config) *server {
	// The library's root client would make the program 13 MB larger, so this uses the smallest package with a service of its own
	// (docs/decisions/0004). Unlike the root client's constructor, it reads no OPENAI_* variables.
	return &server{cfg: c, api: api.NewResponseService(
		option.WithBaseURL(c.BaseURL),
		option.WithAPIKey(c.APIKey),
		option.WithHTTPClient(withoutRedirects(c.HTTP)),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "hob"),
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(tidy),
	)}
}

// withoutRedirects returns a copy of the client that follows no redirect. A redirect would send the whole conversation to another address;
// instead the user sees the server's answer.
func withoutRedirects(given *http.Client) *http.Client {
	c := *given
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &c
}

// errIdle is the cause of a request that is cancelled because the server sends nothing.
var errIdle = errors.New("nothing came for too long")

// lastWait is the time to wait for data after the finish reason: the usage and the end mark. After that, the answer is used as it is.
// Reading to the end lets the next request reuse the connection.
const lastWait = 5 * time.Second

// stream assembles an answer from events. Each protocol has its own implementation.
type stream interface {
	// ReadAll reads events to the end of the stream and returns io.EOF, or the error of the first bad event.
	ReadAll(in *events) error
	// Complete reports whether the server has sent the reason that the answer ended.
	Complete() bool
}

// exchange posts a body and feeds the response to a. One timer guards the silences: first until the response starts, then between pieces.
// more adds a protocol's own headers.
func (s *server) exchange(ctx context.Context, path string, body []byte, a stream, more ...option.RequestOption) error {
	// The trace sets sent when the request has left this machine. From then on an error may have been billed.
	var sent atomic.Bool
	inner, cancel := context.WithCancelCause(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	}))
	defer cancel(nil)
	start, alarm := time.Now(), time.AfterFunc(s.cfg.First, func() { cancel(errIdle) })
	defer alarm.Stop()

	// Until the response begins, the alarm cancels inner after Config.First.
	res, err := s.send(inner, path, body, more)
	if err != nil {
		return begun(s.fault(ctx, inner, llm.Network, err), sent.Load())
	}
	defer func() { _ = res.Body.Close() }() // everything needed has been read
	if res.StatusCode != http.StatusOK {
		return s.refusal(ctx, inner, res)
	}
	// From here on, watched restarts the same timer. It begins with the time that the wait for the response has left over.
	var late time.Time // when to stop waiting for the rest of a complete answer
	in := newEvents(&watched{
		r: res.Body, alarm: alarm, idle: s.cfg.Idle, left: s.cfg.First - time.Since(start),
		wait: func(left time.Duration) time.Duration { return s.patience(a, left, &late) },
	})
	return begun(s.streamFault(ctx, inner, a, a.ReadAll(in)), in.given > 1) // a single event may be the error itself
}

// begun marks the error of a request that may have been billed.
func begun(err error, yes bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && yes {
		e.Begun = true
	}
	return err
}

// send posts the body. An HTTP response with any status is a result; an error means that there was no response.
func (s *server) send(ctx context.Context, path string, body []byte, more []option.RequestOption) (*http.Response, error) {
	// The library decodes no answer here: it hands over the response, whose body hob reads itself.
	var res *http.Response
	options := append([]option.RequestOption{option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&res), option.WithMiddleware(to(path))}, more...)
	_, err := s.api.New(ctx, api.ResponseNewParams{}, options...)
	if res != nil {
		return res, nil
	}
	// The library returned neither a response nor an error; the caller needs one of them.
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// own is the path that the library's service appends to the base address.
const own = "responses"

// to replaces that path by the path of a protocol. The library's azure package changes paths in the same way.
func to(path string) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		req.URL.Path = strings.TrimSuffix(req.URL.Path, own) + path
		req.URL.RawPath = ""
		return next(req)
	}
}

// tidy is a middleware that removes the library's headers about this machine, and limits how much of an error's body is read.
func tidy(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			req.Header.Del(name)
		}
	}
	res, err := next(req)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		res.Body = bounded{Reader: io.LimitReader(res.Body, maxFault), Closer: res.Body}
	}
	return res, err
}

// bounded is a body that is read only in part.
type bounded struct {
	io.Reader
	io.Closer
}

// watched reads a body and restarts the timer for every piece with content. The first wait started with the request. Comments, which
// servers send to keep a connection open, do not count. The timer runs only during a Read, so a slow reader is not a silent server.
type watched struct {
	r     io.Reader
	alarm *time.Timer
	idle  time.Duration
	left  time.Duration // time until data must arrive
	wait  func(left time.Duration) time.Duration

	within, empty bool // inside a line; that line holds no data
}

// Read reads with a time limit. Only bytes that matter restart it: a server that just keeps the connection alive, but sends no answer, is
// given up.
func (w *watched) Read(p []byte) (int, error) {
	began := time.Now()
	w.alarm.Reset(w.wait(w.left))
	n, err := w.r.Read(p)
	w.alarm.Stop()
	// Without content, less time is left for the next piece. After content, it may take Config.Idle.
	if w.left = max(w.left-time.Since(began), 0); w.says(p[:n]) {
		w.left = w.idle
	}
	return n, err
}

// says reports whether a piece holds more than comments, event names and event ids (HTML Living Standard, section 9.2.6).
func (w *watched) says(piece []byte) (something bool) {
	for _, c := range piece {
		switch {
		case c == '\n' || c == '\r':
			w.within = false
		// The first byte of a line shows its kind: a comment (:), event or id (e, i), or retry (r).
		case !w.within:
			w.within, w.empty = true, strings.IndexByte(":eir", c) >= 0
		}
		something = something || w.within && !w.empty
	}
	return something
}

// patience returns how long the next piece may take. After a complete answer, one limit covers everything that follows.
func (s *server) patience(a stream, left time.Duration, late *time.Time) time.Duration {
	if !a.Complete() {
		return left
	}
	// The limit begins with the first call after the finish reason, and later data do not extend it.
	if late.IsZero() {
		*late = time.Now().Add(min(s.cfg.Idle, lastWait))
	}
	return max(time.Until(*late), 0)
}

// streamFault turns the end of a stream into its error. A complete answer is valid even when its end mark is lost.
func (s *server) streamFault(ctx, inner context.Context, a stream, err error) error {
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
func (s *server) fault(ctx, inner context.Context, otherwise llm.Fault, err error) error {
	// The contexts are asked first: after a cancellation, the error of the connection only describes its consequence.
	if ctx.Err() != nil {
		return fmt.Errorf("ask the model %s: %w", s.cfg.Model, context.Cause(ctx))
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Fault: llm.Idle, Err: errIdle}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the error repeats the address, which the owner knows and which is long
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		otherwise = llm.Untrusted
	}
	if text := err.Error(); s.clean(text) != text {
		err = errors.New(s.clean(text)) // the error quotes data of the server
	}
	return &llm.Error{Fault: otherwise, Err: err}
}
