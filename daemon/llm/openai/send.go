package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"hob/daemon/llm"

	"github.com/openai/openai-go/v3/option"
)

// errIdle is the cause with which a silent request is given up.
var errIdle = errors.New("nothing came for too long")

// maxFault is how much of an error's body is read, in bytes.
const maxFault = 64 << 10

// lastWait is how long to look for what follows the finish reason (usage, the end mark) before the answer is taken
// as it is. Reading to the end lets the connection serve the next request.
const lastWait = 5 * time.Second

// stream takes the events of an answer.
type stream interface {
	// readAll takes events to the end of the stream, which is io.EOF, or to the first that is wrong.
	readAll(in *events) error
	// complete reports whether the server has said that, and why, the answer ended.
	complete() bool
}

// Answer sends one request and reads the stream to its end. When ctx ends, its error is returned as it is, wrapped;
// every other error is an *llm.Error.
func (m chat) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	body, shows, err := m.encode(ctx, r)
	if err != nil {
		return llm.Answer{}, err
	}
	a := m.newAssembly(delta, m.most(r))
	err = m.exchange(ctx, "chat/completions", body, a)
	if err != nil && shows {
		err = m.unsighted(err)
	}
	if err != nil {
		return llm.Answer{}, err
	}
	return m.finish(a, len(body))
}

// exchange posts a body and reads the stream that answers it, both with a watch on the server's silences.
func (m *server) exchange(ctx context.Context, path string, body []byte, a stream, more ...option.RequestOption) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(m.cfg.First, func() { cancel(errIdle) })
	defer alarm.Stop()

	res, err := m.send(inner, path, body, more)
	if err != nil {
		return m.fault(ctx, inner, llm.Network, err)
	}
	defer func() { _ = res.Body.Close() }() // all that matters of it has been read by then
	if res.StatusCode != http.StatusOK {
		return m.refusal(ctx, inner, res)
	}
	err = a.readAll(newEvents(&watched{r: res.Body, alarm: alarm, wait: func() time.Duration { return m.patience(a) }}))
	return m.streamFault(ctx, inner, a, err)
}

// send posts the body. Any answer with a head is a response, whatever its status; an error means that there was none.
func (m *server) send(ctx context.Context, path string, body []byte, more []option.RequestOption) (*http.Response, error) {
	var res *http.Response
	options := append([]option.RequestOption{option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&res)}, more...)
	err := m.api.Post(ctx, path, nil, nil, options...)
	if res != nil {
		return res, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
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

type bounded struct {
	io.Reader
	io.Closer
}

// watched sets the alarm anew for every piece behind the first, for which it has been running since the request.
// It does not run while nobody reads.
type watched struct {
	r     io.Reader
	alarm *time.Timer
	wait  func() time.Duration
	going bool
}

func (w *watched) Read(p []byte) (int, error) {
	if w.going {
		w.alarm.Reset(w.wait())
	}
	n, err := w.r.Read(p)
	w.alarm.Stop()
	w.going = true
	return n, err
}

// patience is how long the next piece may take.
func (m *server) patience(a stream) time.Duration {
	if a.complete() {
		return min(m.cfg.Idle, lastWait)
	}
	return m.cfg.Idle
}

// streamFault sorts what ended the stream. A complete answer stays one when only its end mark is lost.
func (m *server) streamFault(ctx, inner context.Context, a stream, err error) error {
	var known *llm.Error
	switch {
	case ctx.Err() != nil:
		return m.fault(ctx, inner, llm.Broken, err)
	case errors.As(err, &known):
		known.Text = m.clean(known.Text)
		return known
	case a.complete():
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return &llm.Error{Fault: llm.Broken, Text: "the stream ended without a finish reason"}
	default:
		return m.fault(ctx, inner, llm.Broken, err)
	}
}

// fault names the cause of an error: the caller gave up, the server was silent, or else.
func (m *server) fault(ctx, inner context.Context, otherwise llm.Fault, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask the model %s: %w", m.cfg.Model, context.Cause(ctx))
	}
	if errors.Is(context.Cause(inner), errIdle) {
		return &llm.Error{Fault: llm.Idle, Err: errIdle}
	}
	return &llm.Error{Fault: otherwise, Err: err}
}
