package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/netguard"
)

// errLogin is the error of a service that wants a sign-in.
var errLogin = errors.New("it wants a sign-in")

// web is a connection to a service on the network.
type web struct {
	url    string
	auth   auth.OAuthHandler // nil: none
	client *http.Client
	guard  *limited
	done   chan struct{}
	once   sync.Once
}

// service makes the connection to a service. It sends nothing yet.
func (v *server) service(ctx context.Context) (wire, error) {
	headers, err := v.values(ctx, "headers", v.conf.Headers)
	if err != nil {
		return nil, err
	}
	base, err := v.svc.Ways.ServerWeb(v.svc.Config(), v.conf)
	if err != nil {
		return nil, err
	}
	g := &limited{base: base, headers: headers, in: newGauge(io.NopCloser(nil), v.svc), frame: v.svc.Limits.Frame, most: v.svc.Limits.Write}
	client := &http.Client{Transport: g, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect could carry the headers elsewhere
	}}
	w := &web{url: v.conf.URL, client: client, guard: g, done: make(chan struct{})}
	if v.account != nil {
		w.auth = authorizer{v.account}
	}
	g.late = w.close
	return w, nil
}

func (w *web) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: w.client, OAuthHandler: w.auth, MaxRetries: 2, MaxEventSize: w.guard.frame}
}

func (w *web) charge(bytes int) error { return w.guard.in.take(bytes) }

func (w *web) ended() <-chan struct{} { return w.done }

func (w *web) why() string {
	err := w.guard.fault()
	if err == nil {
		return ""
	}
	if p, ok := errors.AsType[*netguard.ProxyError](err); ok {
		return p.Error()
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		return "there is no host " + d.Name
	}
	if n, ok := errors.AsType[*net.OpError](err); ok && n.Op == "dial" && n.Addr != nil {
		cause := n.Err
		if call, ok := errors.AsType[*os.SyscallError](cause); ok {
			cause = call.Err
		}
		return fmt.Sprintf("nothing answers at %s (%v)", n.Addr, cause)
	}
	return err.Error()
}

func (w *web) close() {
	w.once.Do(func() { close(w.done) })
	w.client.CloseIdleConnections()
}

// limited adds the headers of the config to each request and limits what comes back.
type limited struct {
	base    http.RoundTripper
	headers map[string]string
	in      *gauge
	frame   int           // bytes of one answer or event
	most    time.Duration // until the service takes hob's answer to a request of its own
	late    func()        // is called when it takes longer: what waits to be sent takes memory

	mu  sync.Mutex
	err error // of the last answer that was a refusal
}

// RoundTrip makes one request.
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range l.headers {
		req.Header.Set(name, value)
	}
	cancel := func() {}
	if isReply(req) {
		ctx, stop := context.WithTimeout(req.Context(), l.most)
		req, cancel = req.WithContext(ctx), stop
	}
	resp, err := l.base.RoundTrip(req)
	if err != nil {
		if errors.Is(req.Context().Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it has not read for %s what hob sends", l.most)
			l.in.stop(err)
			l.late()
		}
		cancel()
		l.note(err)
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		l.note(fmt.Errorf("%w: it answered %s", errLogin, resp.Status))
	default:
		l.note(nil)
	}
	body := &counted{ReadCloser: resp.Body, in: l.in, frame: l.frame, left: l.frame, over: cancel}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		body.left, body.events = -1, true // each event is limited by the SDK
	}
	resp.Body = body
	return resp, nil
}

// isReply reports whether a request carries hob's answer to a request of the service.
func isReply(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }() // it is in memory
	var m struct {
		Method *string `json:"method"`
	}
	return json.NewDecoder(body).Decode(&m) == nil && m.Method == nil
}

func (l *limited) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *limited) fault() error {
	if err := l.in.fault(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// counted is a body within the limits of a server.
type counted struct {
	io.ReadCloser
	in    *gauge
	frame int // bytes that the body may have
	left  int // of these; -1: as many as it likes
	over  context.CancelFunc

	events bool // it is a stream of events, which end with an empty line
	blank  bool // nothing came since the last end of a line
}

// Close ends the request.
func (c *counted) Close() error {
	defer c.over()
	return c.ReadCloser.Close()
}

// Read reads within the limits.
func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, fmt.Errorf("%w: an answer of more than %d MB", errFlood, c.frame>>20)
	}
	if c.left > 0 && len(p) > c.left {
		p = p[:c.left]
	}
	n, err := c.ReadCloser.Read(p)
	if c.left > 0 {
		c.left -= n
	}
	if over := c.in.take(n + messageCost*c.ends(p[:n])); over != nil {
		return 0, over
	}
	return n, err
}

// ends counts the ends of events.
func (c *counted) ends(p []byte) (n int) {
	if !c.events {
		return 0
	}
	for _, b := range p {
		if b == '\n' && c.blank {
			n++
		}
		if b != '\r' {
			c.blank = b == '\n'
		}
	}
	return n
}
