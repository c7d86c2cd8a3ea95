package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/tools"
)

// Limits of a session.
const (
	closeTime = 5 * time.Second        // for its end in order
	hurry     = 200 * time.Millisecond // for the same, if it does not read
	maxPages  = 50                     // of the list of tools
)

// olderProtocol is offered to a server that does not answer the newest version's first message at all.
const olderProtocol = "2025-11-25"

// Causes of the end of a context.
var (
	errSlow  = errors.New("it did not answer in time")
	errEnded = errors.New("it ended")
)

// errPanic is the error of a request at which the SDK panics.
var errPanic = errors.New("the request failed inside hob")

// session is a connection to a server.
type session struct {
	server *server
	conn   *sdk.ClientSession
	wire   wire
	last   offered // its list of tools as it was read last

	mu      sync.Mutex
	calls   map[string]*running // by progress token
	changed bool                // the server says that its tools have changed
	left    bool                // no further call may use it: it ends with those that run
	over    string              // why the session has ended; "": it has not
	idle    *time.Timer
	once    sync.Once
}

// wire is what a session runs over: a program or a service.
type wire interface {
	// transport returns the SDK's transport, once.
	transport() sdk.Transport
	// ended is closed when nothing more can come; nil: it is not known.
	ended() <-chan struct{}
	// charge counts bytes as if the server had sent them. After an error no more can be read.
	charge(bytes int) error
	// why says in words why nothing more comes, with what a program has written to its stderr.
	why() string
	// close ends the program or the connections.
	close()
}

// offered is what a server offers.
type offered struct {
	name     string // as it calls itself
	protocol string
	list     Pinned
	raw      []byte // list, encoded
	hash     string
}

// offered starts the server apart from the session that calls use, and returns what it offers.
func (v *server) offered(ctx context.Context) (offered, error) {
	s, got, err := v.start(ctx)
	if err != nil {
		return got, err
	}
	s.end("that was all")
	return got, nil
}

// start connects to the server and reads its list of tools.
func (v *server) start(ctx context.Context) (*session, offered, error) {
	most := v.svc.Limits.Start
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%w: its start took more than %s", errSlow, most))
	defer cancel()
	s, err := v.connect(ctx, "")
	if errors.Is(err, errSlow) && ctx.Err() == nil {
		s, err = v.connect(ctx, olderProtocol) // it ignores messages that it does not know
	}
	if err != nil {
		return nil, offered{}, err
	}
	got, err := s.offered(ctx)
	if err != nil {
		s.end("its list of tools could not be read")
		return nil, got, s.explained(ctx, err)
	}
	s.last = got
	return s, got, nil
}

// connect makes a session in a version of the protocol; "": the newest that both sides have.
func (v *server) connect(ctx context.Context, protocol string) (*session, error) {
	v.stray.reset()
	w, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{server: v, wire: w, calls: map[string]*running{}}
	client := sdk.NewClient(&sdk.Implementation{Name: "hob", Title: "hob", Version: v.svc.Version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{Elicitation: elicitation()}, // no roots, no sampling
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.markChanged() },
		ProgressNotificationHandler: s.progress,
	})
	client.AddReceivingMiddleware(s.received)
	client.AddSendingMiddleware(s.rounds)
	if protocol == "" {
		var stop context.CancelFunc
		most := v.svc.Limits.Hello
		ctx, stop = context.WithTimeoutCause(ctx, most, fmt.Errorf("%w: it said nothing for %s", errSlow, most))
		defer stop()
	}
	closing := func(c *sdk.ClientSession) { _ = c.Close() } // the wire is closed too
	s.conn, err = within(ctx, v.svc.Spawn, closing, func() (*sdk.ClientSession, error) {
		return client.Connect(ctx, w.transport(), &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	})
	if err != nil {
		err = s.explained(ctx, err)
		s.end("it could not be connected")
		return nil, err
	}
	v.svc.Spawn.Once("MCP session", s.follow)
	return s, nil
}

// received filters what a server sends by itself. Only progress, changes of the list of tools and requests reach the SDK: version 1.8.0 panics
// when a notification has no parameters, and keeps a lock then. Requests are counted, because each is answered by a message of its own.
func (s *session) received(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if rest, ok := strings.CutPrefix(method, "notifications/"); ok {
			wanted := rest == "progress" || rest == "tools/list_changed" || rest == "elicitation/complete"
			if p := reflect.ValueOf(req.GetParams()); !wanted || p.Kind() == reflect.Pointer && p.IsNil() && rest != "tools/list_changed" {
				return nil, nil //nolint:nilnil // a notification has no answer
			}
			return next(ctx, method, req)
		}
		if err := s.wire.charge(requestCost); err != nil {
			return nil, err
		}
		if asked, ok := req.(*sdk.ElicitRequest); ok {
			return s.elicit(ctx, asked.Params)
		}
		return next(ctx, method, req)
	}
}

// within runs f, but waits no longer than ctx: a library that waits for something else than its context must not hold up a call. A value that comes
// after ctx has ended is given to late, which closes what nobody else will; nil: it needs no closing.
func within[T any](ctx context.Context, spawn *sys.Group, late func(T), f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done, gone := make(chan result), make(chan struct{})
	defer close(gone)
	spawn.Once("MCP request", func() error {
		r := result{err: errPanic}
		defer func() {
			select {
			case done <- r:
			case <-gone:
				if r.err == nil && late != nil {
					late(r.value)
				}
			}
		}()
		r.value, r.err = f()
		return nil
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// explained adds to an error why the session is over, or why its time is.
func (s *session) explained(ctx context.Context, err error) error {
	p, program := s.wire.(*program)
	if skipped := s.server.stray.said(); program && s.conn == nil && skipped != "" && p.service.Over() == "" && p.in.fault() == nil {
		return &event.Fault{
			Kind: event.Unavailable, Err: err, Hint: "a server must write its log to standard error; its standard output is for messages only",
			Text: "it wrote something that is not JSON-RPC to its standard output: " + skipped,
		}
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), errSlow) && !errors.Is(err, errSlow) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	if errors.Is(err, sdk.ErrConnectionClosed) {
		select {
		case <-s.wire.ended():
			err = errEnded
		case <-time.After(time.Second):
		}
	}
	why := s.wire.why()
	if _, ok := s.wire.(*web); ok && why != "" && !isAnswer(err) {
		return &event.Fault{Kind: event.Unavailable, Text: why, Err: err} // err tells the same once more, as the libraries say it
	}
	if why != "" {
		return fmt.Errorf("%w: %s", err, why)
	}
	return err
}

// offered reads the list of tools, page by page.
func (s *session) offered(ctx context.Context) (offered, error) {
	got := offered{protocol: s.conn.InitializeResult().ProtocolVersion}
	if info := s.conn.InitializeResult().ServerInfo; info != nil {
		got.name = quoted(info.Name+" "+info.Version, 80)
	}
	var list []*sdk.Tool
	cursor := ""
	for page := 0; ; page++ {
		if page == maxPages {
			return got, fmt.Errorf("its list of tools has more than %d pages", maxPages)
		}
		r, err := within(ctx, s.server.svc.Spawn, nil, func() (*sdk.ListToolsResult, error) {
			return s.conn.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		})
		if err != nil {
			return got, fmt.Errorf("read its list of tools: %w", err)
		}
		if list = append(list, r.Tools...); len(list) > maxTools {
			return got, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		if cursor = r.NextCursor; cursor == "" {
			break
		}
	}
	reach := reachOf(s.server.conf, s.server.free)
	if p, ok := s.wire.(*program); ok {
		reach.Runs = p.file
	}
	var err error
	if got.list, err = pin(s.server.name, reach, list); err != nil {
		return got, err
	}
	if got.raw, err = tools.Canonical(got.list); err != nil {
		return got, err
	}
	got.hash = hashOf(got.raw)
	return got, nil
}

// follow waits for the end of the session and forgets it then, so that the next call starts another one.
func (s *session) follow() error {
	over := make(chan struct{})
	s.server.svc.Spawn.Once("MCP session end", func() error {
		defer close(over)
		_ = s.conn.Wait() // the error is that of the calls
		return nil
	})
	select {
	case <-over:
	case <-s.wire.ended():
	}
	s.server.drop(s)
	s.end("it ended")
	return nil
}

// end closes the session. Calls that wait get an error.
func (s *session) end(why string) {
	s.mu.Lock()
	s.over = cmp.Or(s.over, why)
	if s.idle != nil {
		s.idle.Stop()
	}
	for _, r := range s.calls {
		r.cancel(fmt.Errorf("%w: %s", errEnded, why))
	}
	s.mu.Unlock()
	s.once.Do(func() {
		s.server.svc.Spawn.Once("end MCP session", func() error {
			s.closeConn()
			s.wire.close()
			return nil
		})
	})
}

// closeConn ends the protocol in order, unless that takes too long.
func (s *session) closeConn() {
	if s.conn == nil {
		return
	}
	closed := make(chan struct{})
	s.server.svc.Spawn.Once("close MCP session", func() error {
		defer close(closed)
		_ = s.conn.Close() // the wire is closed next, whatever comes of it
		return nil
	})
	most := closeTime
	if w, ok := s.wire.(interface{ blocked() bool }); ok && w.blocked() {
		most = hurry
	}
	select {
	case <-closed:
	case <-time.After(most):
	}
}

// markChanged notes that the server has changed its tools.
func (s *session) markChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// recheck returns the list of tools. It reads it again if the server says that it has changed.
func (s *session) recheck(ctx context.Context) (got offered, again bool, err error) {
	s.mu.Lock()
	again, s.changed = s.changed, false
	s.mu.Unlock()
	if again {
		most := s.server.svc.Limits.Start
		ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%w: its list took more than %s", errSlow, most))
		defer cancel()
		if got, err = s.offered(ctx); err != nil {
			return got, again, err
		}
		s.last = got
	}
	return s.last, again, nil
}

// leave ends the session when the calls that run are done.
func (s *session) leave(why string) {
	s.mu.Lock()
	s.left = len(s.calls) > 0
	left := s.left
	s.mu.Unlock()
	if !left {
		s.end(why)
	}
}

// ended reports whether the session is over.
func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over != ""
}

// busy reports whether calls are under way.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0
}

// begin registers a call.
func (s *session) begin(token string, r *running) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != "" {
		return fmt.Errorf("%w: %s", errEnded, s.over)
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	s.calls[token] = r
	return nil
}

// finish removes a call. The last one starts the time after which an unused server is ended.
func (s *session) finish(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, token)
	if len(s.calls) > 0 || s.over != "" {
		return
	}
	if s.left {
		s.idle = time.AfterFunc(0, s.expire)
		return
	}
	s.idle = time.AfterFunc(s.server.svc.Limits.Idle, s.expire)
}

// expire ends a session that nobody uses.
func (s *session) expire() {
	if !s.busy() {
		s.server.drop(s)
		s.end("nobody used it")
	}
}
