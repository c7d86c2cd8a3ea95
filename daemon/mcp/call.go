package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/event"
	"hob/tools"
	host "hob/tools/mcp"
)

// running is a call that waits for its answer.
type running struct {
	call     tools.Call
	cancel   context.CancelCauseFunc
	reported time.Duration // monotonic time of the last progress event
	over     <-chan struct{}
	asking   atomic.Int32 // questions of the server to the owner that are open: its time stands still
	asked    atomic.Int32 // how many there were
	one      sync.Mutex   // held while one of them is open
}

// progressEvery is the shortest time between two progress events of one call.
const progressEvery = time.Second

// progress makes an event of a progress notification. Notifications about calls that do not run are ignored.
func (s *session) progress(ctx context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	now := s.server.svc.Clock.Mono()
	s.mu.Lock()
	r := s.calls[token]
	due := r != nil && (r.reported == 0 || now-r.reported >= progressEvery)
	if due {
		r.reported = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	s.server.svc.Event(ctx, event.Event{Type: "tool.progress", Session: r.call.Key, Turn: r.call.Turn, Data: map[string]any{
		"call": r.call.ID, "server": s.server.name, "progress": req.Params.Progress, "total": req.Params.Total, "message": quoted(req.Params.Message, 200),
	}})
}

// request sends one request over a session of a server, and waits at most the server's time for the answer.
func request[T any](ctx context.Context, v *server, call tools.Call, hash string, send func(ctx context.Context, s *session, token string) (T, error)) (out T, sent bool, err error) {
	s, err := v.ready(ctx, hash)
	if err != nil {
		return out, false, err
	}
	r := &running{call: call}
	ctx, r.cancel = context.WithCancelCause(context.WithValue(ctx, callKey{}, r))
	r.over = ctx.Done()
	defer r.cancel(nil)
	token := call.ID + "-" + fmt.Sprint(v.svc.Clock.Mono().Nanoseconds())
	if err := s.begin(token, r); err != nil {
		return out, false, err
	}
	defer s.finish(token)
	defer r.limit(v.conf.Timeout)()
	out, err = within(ctx, v.svc.Spawn, nil, func() (T, error) { return send(ctx, s, token) })
	no, isRefusal := refused(err)
	switch {
	case isRefusal: // the session can still be used
		return out, false, no
	case err == nil, isAnswer(err):
		v.worked()
	case errors.Is(context.Cause(ctx), errSlow): // it hangs: it is started anew for the next call
		v.drop(s)
		s.end(errSlow.Error())
		err = v.failed(ctx, fmt.Errorf("%w: more than %s", errSlow, v.conf.Timeout))
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errEnded): // the caller was stopped; the SDK has told the server
		err = ctx.Err()
	case s.sound(err): // nobody can use its answer, but it can be asked again
		v.worked()
		err = &event.Fault{Kind: event.Unavailable, Text: "its answer does not have the form of the protocol", Err: err}
	default:
		v.drop(s)
		s.end(errEnded.Error())
		err = v.failed(context.WithoutCancel(ctx), s.reason(err))
	}
	return out, true, err
}

// sound reports whether the connection is as good as before, although a call over it had this error.
func (s *session) sound(err error) bool {
	for _, end := range []error{sdk.ErrConnectionClosed, io.EOF, errEnded, errPanic, context.Canceled} {
		if errors.Is(err, end) {
			return false
		}
	}
	select {
	case <-s.wire.ended():
		return false
	default:
	}
	_, service := s.wire.(*web)
	return !s.ended() && s.wire.charge(0) == nil && (!service || s.wire.why() == "")
}

// reason says why a call got no answer that can be used.
func (s *session) reason(err error) error {
	why := s.wire.why()
	_, service := s.wire.(*web)
	switch {
	case why != "" && (service || s.wire.charge(0) != nil): // hob has ended it, or it has answered something else
		return errors.New(why)
	}
	return fmt.Errorf("%w before it answered%s", errEnded, because(why))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// limit cancels the call after its time, which stands still while the server waits for the owner.
func (r *running) limit(most time.Duration) (stop func()) {
	var t *time.Timer
	t = time.AfterFunc(most, func() {
		if r.asking.Load() > 0 {
			t.Reset(most)
			return
		}
		r.cancel(errSlow)
	})
	return func() { t.Stop() }
}

// isAnswer reports whether an error is the server's own answer: it is alive.
func isAnswer(err error) bool { return wrongCall(err) != nil }

// Codes of the SDK's own errors, which are jsonrpc.Error values too (its internal/jsonrpc2/wire.go).
const (
	clientClosing = -32003
	serverClosing = -32004
	notSent       = -32005 // or its connection broke before the answer
)

// wrongCall returns the error of JSON-RPC that a server answered with; nil: it did not.
func wrongCall(err error) *jsonrpc.Error {
	wrong, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wrong.Code == clientClosing || wrong.Code == serverClosing || wrong.Code == notSent {
		return nil
	}
	return wrong
}

// source is the source of foreign text that a server's answer is.
func source(server string) string { return "the MCP server " + server }

// Call calls a tool of a server.
func (s *Service) Call(ctx context.Context, d host.Def, call tools.Call, args json.RawMessage) (tools.Result, error) {
	v, err := s.find(d.Server)
	if err != nil {
		return tools.Fail(tools.NotFound, "", "%v", err), nil
	}
	res, sent, err := request(ctx, v, call, d.Hash, func(ctx context.Context, s *session, token string) (*sdk.CallToolResult, error) {
		p := &sdk.CallToolParams{Name: d.Name, Arguments: args}
		p.SetProgressToken(token)
		return s.conn.CallTool(ctx, p)
	})
	if err != nil {
		return s.fault(call, d.Server, d.Name, sent && !d.ReadOnly, err), nil
	}
	return s.result(ctx, d, res), nil
}

// fault makes the result of a request without an answer. lost means that the request may have had an effect.
func (s *Service) fault(call tools.Call, server, what string, lost bool, err error) tools.Result {
	r := tools.Result{}
	if no, ok := refused(err); ok {
		if r, ok := askSignIn(call, server, no); ok {
			return r
		}
	}
	wrong := wrongCall(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if r = tools.ErrorResult(err); lost {
			r.Content += fmt.Sprintf("; it is not known whether %s of the MCP server %s took effect", what, server)
		}
	case wrong != nil && wrong.Code == jsonrpc.CodeInvalidParams:
		r = tools.Fail(tools.Validation, "the input is wrong; tool with action describe shows the parameters", "%s of the MCP server %s: %s", what, server, quoted(wrong.Message, 2000))
	case wrong != nil:
		r = tools.Fail(tools.Unknown, "permanent: the same call will fail again", "%s of the MCP server %s failed: %s", what, server, quoted(wrong.Message, 2000))
	case errors.Is(err, errLogin):
		r = tools.Fail(tools.Denied, "auth: the owner signs in with hob mcp login "+server, "the MCP server %s wants a sign-in: %s", server, firstLine(err.Error()))
	case errors.Is(err, errChanged):
		return tools.Fail(tools.Conflict, "the owner decides about it", "the MCP server %s is off: %v", server, err)
	case lost:
		r = tools.Fail(tools.OutcomeUnknown, "find out what happened before you call it again", "the MCP server %s gave no answer that can be used, so it is not known whether %s took effect: %s", server, what, firstLine(err.Error()))
	default:
		r = tools.Fail(tools.IO, "retryable: later; hob mcp test "+server+" tries it", "the MCP server %s could not be used: %s", server, firstLine(err.Error()))
	}
	// The message may hold what the server or its program has said.
	r.Foreign = source(server)
	return r
}

// Resources lists the resources of a server, and its patterns of addresses.
func (s *Service) Resources(ctx context.Context, call tools.Call, name string) (tools.Result, error) {
	v, err := s.find(name)
	if err != nil {
		return tools.Fail(tools.NotFound, "", "%v", err), nil
	}
	out, _, err := request(ctx, v, call, "", func(ctx context.Context, s *session, _ string) (host.ResourcesOutput, error) { return s.resources(ctx) })
	if err != nil {
		return s.fault(call, name, "mcp_resources", false, err), nil
	}
	var b strings.Builder
	for _, r := range out.Resources {
		b.WriteString(r.URI + ": " + r.Name)
		if r.Description != "" {
			b.WriteString(", " + r.Description)
		}
		if r.MIME != "" {
			b.WriteString(" (" + r.MIME + ")")
		}
		b.WriteString("\n")
	}
	if len(out.Resources) == 0 {
		b.WriteString("the server " + name + " lists no resources")
	}
	if out.More {
		b.WriteString("(the list was cut)")
	}
	return tools.Result{Content: b.String(), Data: out, Foreign: source(name)}, nil
}

// maxResources limits a list of resources.
const maxResources = 500

// resources reads the lists of resources and of patterns, page by page.
func (s *session) resources(ctx context.Context) (out host.ResourcesOutput, err error) {
	out.Resources = []host.Resource{}
	if caps := s.conn.InitializeResult().Capabilities; caps == nil || caps.Resources == nil {
		return out, nil
	}
	add := func(r host.Resource) (full bool) {
		if out.More = len(out.Resources) == maxResources; !out.More {
			out.Resources = append(out.Resources, r)
		}
		return out.More
	}
	for r, err := range s.conn.Resources(ctx, nil) {
		if err != nil || add(host.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIME: r.MIMEType}) {
			return out, err
		}
	}
	for r, err := range s.conn.ResourceTemplates(ctx, nil) {
		if isAnswer(err) {
			return out, nil // a server need not have patterns
		}
		if err != nil || add(host.Resource{URI: r.URITemplate, Name: r.Name, Description: r.Description, MIME: r.MIMEType}) {
			return out, err
		}
	}
	return out, nil
}

// Read reads a resource of a server.
func (s *Service) Read(ctx context.Context, call tools.Call, name, uri string) (tools.Result, error) {
	v, err := s.find(name)
	if err != nil {
		return tools.Fail(tools.NotFound, "", "%v", err), nil
	}
	res, _, err := request(ctx, v, call, "", func(ctx context.Context, s *session, _ string) (*sdk.ReadResourceResult, error) {
		return s.conn.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	})
	if err != nil {
		return s.fault(call, name, uri, false, err), nil
	}
	c := converter{s, ctx, name, tools.Result{Foreign: source(name)}, nil}
	for _, one := range res.Contents {
		c.resource(one)
	}
	c.out.Data = host.ReadOutput{Parts: len(res.Contents)}
	return c.done("the resource is empty"), nil
}
