// Package mcpserver offers hob's tools by the Model Context Protocol (modelcontextprotocol.io), over HTTP and, for hob mcp serve, over standard input and
// output. It decides nothing: which tools a client sees, and whether a call runs, is said by what it is given. It never calls a client back.
//
// Clients of protocol 2026-07-28 need no session. Those of older protocols get one, which only the client that began it can use.
package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/tools"
)

// Limits.
const (
	idleSession   = 10 * time.Minute // a session of an older protocol ends then
	maxSessions   = 32               // of one client
	progressEvery = 5 * time.Second
	maxPicture    = 8 << 20 // bytes; what is larger is named in the text only
)

// sessionless is the first protocol without sessions.
const sessionless = "2026-07-28"

// Tools are what clients are offered.
type Tools interface {
	// Offered lists the tools that a client may see.
	Offered(client api.Endpoint) []tools.Spec
	// CallFor judges and runs a call of a client. The error is *api.Approval if the owner has to agree first.
	CallFor(ctx context.Context, client api.Endpoint, name string, args json.RawMessage) (tools.Result, error)
}

// Server serves the clients. It is safe for concurrent use.
type Server struct {
	Tools   Tools
	Version string
	Hide    func(string) string                                                   // replaces the values of secrets; every text that a client gets passes through it
	Open    func(ctx context.Context, artifact string) (io.ReadSeekCloser, error) // the bytes of a picture
	Log     *slog.Logger

	mu      sync.Mutex
	clients map[offerKey]*offer
}

// offerKey names a client as far as it is trusted now.
type offerKey struct {
	id    int64
	trust event.Trust
}

// offer is what one client gets. No other client reaches its sessions.
type offer struct {
	server              *mcp.Server
	sessions, stateless http.Handler
	ended               chan struct{} // closed when the client is removed

	mu    sync.Mutex
	sum   [sha256.Size]byte // of the tools as they are offered
	names []string
}

// Serve answers a request of a client at /mcp. The body must have arrived whole.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, client api.Endpoint) {
	o := s.offerTo(client)
	if err := o.update(s, client); err != nil {
		s.Log.ErrorContext(r.Context(), "offer the tools", "err", err)
		http.Error(w, "hob cannot list its tools", http.StatusInternalServerError)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the request's body could not be read", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r = asClient(r, client)
	if newer(r, body) {
		o.stateless.ServeHTTP(w, r)
		return
	}
	if r.Header.Get("Mcp-Session-Id") == "" && o.count() >= maxSessions {
		http.Error(w, fmt.Sprintf("this client has %d sessions already", maxSessions), http.StatusServiceUnavailable)
		return
	}
	o.sessions.ServeHTTP(w, r)
}

// Close ends the sessions.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range s.clients {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}

// End ends the sessions and the calls of a client that is removed.
func (s *Server) End(id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for key, o := range s.clients {
		if key.id == id {
			delete(s.clients, key)
			close(o.ended)
			errs = append(errs, o.close())
		}
	}
	return errors.Join(errs...)
}

// close ends the sessions of a client.
func (o *offer) close() error {
	var errs []error
	for one := range o.server.Sessions() {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// clientKey finds the client in the context of a request, and in what the SDK knows of its token.
type clientKey struct{}

// asClient is a request with its client, which has shown its token before.
func asClient(r *http.Request, client api.Endpoint) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), clientKey{}, client))
	r.Header = r.Header.Clone()
	r.Header.Set("Authorization", "Bearer known")
	return r
}

// known passes the client of a request to the handlers of its calls. A session lives longer than a request, and what is known of the client may change.
func known(next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		client, ok := ctx.Value(clientKey{}).(api.Endpoint)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: client.Name, Extra: map[string]any{"client": client}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// clientOf returns the client of a call's request.
func clientOf(req *mcp.CallToolRequest) api.Endpoint {
	client, ok := req.Extra.TokenInfo.Extra["client"].(api.Endpoint)
	if !ok {
		panic("mcp: a call without its client") // known has put it there
	}
	if client.ID == 0 {
		client.Session = cmp.Or(req.Extra.Header.Get(bridgeHeader), req.Session.ID())
	}
	return client
}

// newer reports whether a request is of a protocol without sessions.
func newer(r *http.Request, body []byte) bool {
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" {
		return v >= sessionless
	}
	return bytes.Contains(body, []byte(`"io.modelcontextprotocol/protocolVersion"`))
}

// offerTo returns what a client gets, made at its first request.
func (s *Server) offerTo(client api.Endpoint) *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := offerKey{client.ID, client.Trust}
	if o, ok := s.clients[key]; ok {
		return o
	}
	log := slog.New(quiet{s.Log.Handler()})
	o := &offer{server: newServer(s.Version, log), ended: make(chan struct{})}
	of := func(*http.Request) *mcp.Server { return o.server }
	// Guard has checked Host and Origin already, and the body is bounded.
	o.sessions = known(mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Logger: log, SessionTimeout: idleSession, DisableLocalhostProtection: true}))
	o.stateless = known(mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true}))
	if s.clients == nil {
		s.clients = map[offerKey]*offer{}
	}
	s.clients[key] = o
	return o
}

// quiet logs as details what the SDK reports: a program decides how much that is.
type quiet struct{ slog.Handler }

// Enabled reports whether details are logged.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle logs a record as a detail.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

// WithAttrs keeps it quiet.
func (q quiet) WithAttrs(list []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(list)} }

// WithGroup keeps it quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// newServer makes a server without tools.
func newServer(version string, log *slog.Logger) *mcp.Server {
	opts := options(log)
	opts.Capabilities = &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	s := mcp.NewServer(&mcp.Implementation{Name: "hob", Title: "hob", Version: version}, &opts)
	fixtures(s)
	return s
}

// count counts the sessions of the client.
func (o *offer) count() (n int) {
	for range o.server.Sessions() {
		n++
	}
	return n
}

// update offers the tools of the config in force. A change is told to the sessions.
func (o *offer) update(s *Server, client api.Endpoint) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	specs := s.Tools.Offered(client)
	raw, err := json.Marshal(specs)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	if sum == o.sum {
		return nil
	}
	o.server.RemoveTools(o.names...)
	o.names = nil
	for _, spec := range specs {
		o.names = append(o.names, spec.Name)
		o.server.AddTool(described(spec), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, o, clientOf(req), req)
		})
	}
	o.sum = sum
	return nil
}

// described describes a tool. The output schema is left out where it is no object: older clients refuse others.
func described(spec tools.Spec) *mcp.Tool {
	t := &mcp.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.Parameters}
	if structured(spec.Output) {
		t.OutputSchema = spec.Output
	}
	if spec.ReadOnly {
		t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	return t
}

// structured reports whether a schema is that of an object.
func structured(schema json.RawMessage) bool {
	var s struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// call runs a call, and reports that it goes on while it takes long.
func (s *Server) call(ctx context.Context, o *offer, client api.Endpoint, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := req.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	g := sys.NewGroup(s.Log, nil)
	g.Once("mcp call", func() error {
		select {
		case <-over:
		case <-o.ended:
			cancel()
		}
		return nil
	})
	if token := req.Params.GetProgressToken(); token != nil {
		g.Once("mcp progress", func() error { return report(ctx, req, token, over) })
	}
	r, err := s.Tools.CallFor(ctx, client, req.Params.Name, args)
	close(over)
	g.Wait()
	return s.answer(ctx, r, err)
}

// report tells the client each few seconds for how long a call has been running.
func report(ctx context.Context, req *mcp.CallToolRequest, token any, over <-chan struct{}) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		took := time.Duration(n) * progressEvery
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: took.Seconds(), Message: req.Params.Name + " has been running for " + took.String()}); err != nil {
			return nil //nolint:nilerr // the client does not listen; the call goes on
		}
	}
}

// answer converts a result. A call that needs an approval names the question by its number: the code is for the owner only.
func (s *Server) answer(ctx context.Context, r tools.Result, err error) (*mcp.CallToolResult, error) {
	var asks *api.Approval
	if errors.As(err, &asks) {
		r = tools.Fail(tools.NeedsApproval, fmt.Sprintf("the owner decides: hob approvals show %d; afterwards make the same call again", asks.Question), "question %d: hob's owner has to agree first (%s)", asks.Question, asks.Summary)
		err = nil
	}
	if f, ok := event.AsFault(err); ok {
		r, err = tools.Fail(tools.Conflict, f.Hint, "%s", f.Text), nil
	}
	if err != nil {
		return nil, errors.New("something inside hob went wrong; its log has the details")
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.Hide(r.Content)}}, IsError: r.IsError}
	pictures, err := s.pictures(ctx, r.Parts)
	if err != nil {
		return nil, err
	}
	out.Content = append(out.Content, pictures...)
	if r.Data != nil && !r.IsError {
		raw, err := json.Marshal(r.Data)
		if err == nil {
			raw, err = secret.JSON(raw, s.Hide)
		}
		if err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		if len(raw) > 0 && raw[0] == '{' {
			out.StructuredContent = json.RawMessage(raw)
		}
	}
	return out, nil
}

// pictures reads the pictures of a result.
func (s *Server) pictures(ctx context.Context, parts []event.Part) (list []mcp.Content, err error) {
	for _, p := range parts {
		if p.Kind != event.Image || p.Artifact == "" || p.Size > maxPicture {
			continue
		}
		data, err := s.read(ctx, p.Artifact)
		if err != nil {
			return nil, fmt.Errorf("read picture %s: %w", p.Artifact, err)
		}
		list = append(list, &mcp.ImageContent{MIMEType: p.MIME, Data: data})
	}
	return list, nil
}

// read reads an artifact.
func (s *Server) read(ctx context.Context, artifact string) (data []byte, err error) {
	f, err := s.Open(ctx, artifact)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxPicture))
}
