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
	maxBody  = 16 << 20 // of a request, and of an answer
	maxFault = 64 << 10 // of an error's body that is read
)

// newServer makes the part that both protocols share.
func newServer(c llm.Config) *server {
	// The service of the library's smallest package that has one: the root package's client makes the program 13 MB larger
	// (docs/decisions/0004). Unlike that client's constructor it takes nothing from OPENAI_* variables.
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

// withoutRedirects copies a client, so that a redirect, which would carry the whole conversation to another address, becomes an answer that
// is told to the user.
func withoutRedirects(given *http.Client) *http.Client {
	c := *given
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &c
}

// errIdle is the cause with which a silent request is given up.
var errIdle = errors.New("nothing came for too long")

// lastWait is how long to look for what follows the finish reason (usage, the end mark) before the answer is taken
// as it is. Reading to the end lets the connection serve the next request.
const lastWait = 5 * time.Second

// stream takes the events of an answer.
type stream interface {
	// ReadAll takes events to the end of the stream, which is io.EOF, or to the first that is wrong.
	ReadAll(in *events) error
	// Complete reports whether the server has said that, and why, the answer ended.
	Complete() bool
}

// exchange posts a body and reads the stream that answers it, both with a watch on the server's silences.
func (s *server) exchange(ctx context.Context, path string, body []byte, a stream, more ...option.RequestOption) error {
	var sent atomic.Bool
	inner, cancel := context.WithCancelCause(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) },
	}))
	defer cancel(nil)
	start, alarm := time.Now(), time.AfterFunc(s.cfg.First, func() { cancel(errIdle) })
	defer alarm.Stop()

	res, err := s.send(inner, path, body, more)
	if err != nil {
		return begun(s.fault(ctx, inner, llm.Network, err), sent.Load())
	}
	defer func() { _ = res.Body.Close() }() // all that matters of it has been read by then
	if res.StatusCode != http.StatusOK {
		return s.refusal(ctx, inner, res)
	}
	var late time.Time // when the rest of a complete answer is given up
	in := newEvents(&watched{
		r: res.Body, alarm: alarm, idle: s.cfg.Idle, left: s.cfg.First - time.Since(start),
		wait: func(left time.Duration) time.Duration { return s.patience(a, left, &late) },
	})
	return begun(s.streamFault(ctx, inner, a, a.ReadAll(in)), in.given > 1) // the one event may be the error itself
}

// begun marks an error of a request that may have been billed.
func begun(err error, yes bool) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && yes {
		e.Begun = true
	}
	return err
}

// send posts the body. Any answer with a head is a response, whatever its status; an error means that there was none.
func (s *server) send(ctx context.Context, path string, body []byte, more []option.RequestOption) (*http.Response, error) {
	var res *http.Response
	options := append([]option.RequestOption{option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&res), option.WithMiddleware(to(path))}, more...)
	_, err := s.api.New(ctx, api.ResponseNewParams{}, options...)
	if res != nil {
		return res, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// own is the path that the library's service adds to the base address.
const own = "responses"

// to leads a request to the path of a protocol, as the library's own azure package leads requests to a deployment's.
func to(path string) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		req.URL.Path = strings.TrimSuffix(req.URL.Path, own) + path
		req.URL.RawPath = ""
		return next(req)
	}
}

// tidy keeps the library from telling the server about this machine, and bounds what it reads of an error.
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

// bounded is a body of which not everything is read.
type bounded struct {
	io.Reader
	io.Closer
}

// watched sets the alarm anew for every piece with something in it; for the first one it has been running since the request. Comments,
// with which servers keep a connection open, are nothing. It does not run while nobody reads.
type watched struct {
	r     io.Reader
	alarm *time.Timer
	idle  time.Duration
	left  time.Duration // until something must come
	wait  func(left time.Duration) time.Duration

	within, empty bool // a line, which holds no data
}

func (w *watched) Read(p []byte) (int, error) {
	began := time.Now()
	w.alarm.Reset(w.wait(w.left))
	n, err := w.r.Read(p)
	w.alarm.Stop()
	if w.left = max(w.left-time.Since(began), 0); w.says(p[:n]) {
		w.left = w.idle
	}
	return n, err
}

// says reports whether a piece holds more than comments, and the names and numbers of events (HTML Living Standard, section 9.2.6).
func (w *watched) says(piece []byte) (something bool) {
	for _, c := range piece {
		switch {
		case c == '\n' || c == '\r':
			w.within = false
		case !w.within:
			w.within, w.empty = true, strings.IndexByte(":eir", c) >= 0
		}
		something = something || w.within && !w.empty
	}
	return something
}

// patience is how long the next piece may take; behind a complete answer, all that follows together.
func (s *server) patience(a stream, left time.Duration, late *time.Time) time.Duration {
	if !a.Complete() {
		return left
	}
	if late.IsZero() {
		*late = time.Now().Add(min(s.cfg.Idle, lastWait))
	}
	return max(time.Until(*late), 0)
}

// streamFault sorts what ended the stream. A complete answer stays one when only its end mark is lost.
func (s *server) streamFault(ctx, inner context.Context, a stream, err error) error {
	var known *llm.Error
	switch {
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

// Fault names the cause of an error: the caller gave up, the server was silent, or else.
func (s *server) fault(ctx, inner context.Context, otherwise llm.Fault, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask the model %s: %w", s.cfg.Model, context.Cause(ctx))
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Fault: llm.Idle, Err: errIdle}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address is the owner's own, and long
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		otherwise = llm.Untrusted
	}
	if text := err.Error(); s.clean(text) != text {
		err = errors.New(s.clean(text)) // it quotes what the server has sent
	}
	return &llm.Error{Fault: otherwise, Err: err}
}
