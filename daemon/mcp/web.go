package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
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
	g := &limited{base: v.svc.Recorder.Web(subjectOf(v.name), base), headers: headers, in: newGauge(io.NopCloser(nil), v.svc), stray: &v.stray, frame: v.svc.Limits.Frame, most: v.svc.Limits.Write}
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
	return &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: w.client, OAuthHandler: w.auth, MaxRetries: 2, MaxEventSize: -1} // counted has the limit
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
	stray   *strays
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
	cancel, sent := func() {}, sentBy(req)
	if sent.ID != nil && sent.Method == "" {
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
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		l.note(fmt.Errorf("%w: it answered %s", errLogin, resp.Status))
	case req.Method != http.MethodPost: // a service need not have the other methods
	case resp.StatusCode >= http.StatusMultipleChoices:
		l.note(fmt.Errorf("it answered %s", quoted(resp.Status, 80)))
	case resp.StatusCode == http.StatusOK && (err != nil || kind != "text/event-stream" && kind != "application/json"):
		l.note(fmt.Errorf("it answered with content of the type %s, not with JSON", quoted(cmp.Or(kind, "(none)"), 80)))
	default:
		l.note(nil)
	}
	body := &counted{ReadCloser: resp.Body, in: l.in, frame: l.frame, left: l.frame, over: cancel}
	if err == nil && kind == "text/event-stream" {
		body.left, body.events = -1, true
	}
	if resp.Body = body; resp.StatusCode == http.StatusOK && (body.events || kind == "application/json") {
		resp.Header.Set("Content-Type", "text/event-stream") // which may have several messages
		resp.Body = &answers{ReadCloser: body, from: bufio.NewReader(body), body: body, stray: l.stray, sent: sent}
	}
	return resp, nil
}

// sentMessage is what a request carries. It is an answer to a request of the service if it has an id and no method.
type sentMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func sentBy(req *http.Request) (m sentMessage) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return m
	}
	body, err := req.GetBody()
	if err != nil {
		return m
	}
	defer func() { _ = body.Close() }() // it is in memory
	if json.NewDecoder(body).Decode(&m) != nil {
		return sentMessage{}
	}
	return m
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
	event  int  // bytes of the event that comes
}

// Close ends the request.
func (c *counted) Close() error {
	defer c.over()
	return c.ReadCloser.Close()
}

// Read reads within the limits.
func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, c.tooLarge()
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
	if c.event >= c.frame {
		return 0, c.tooLarge()
	}
	return n, err
}

// tooLarge ends the connection, with the limit as its reason.
func (c *counted) tooLarge() error {
	c.in.stop(tooLarge(c.frame))
	return c.in.fault()
}

// ends counts the ends of events.
func (c *counted) ends(p []byte) (n int) {
	if !c.events {
		return 0
	}
	for _, b := range p {
		c.event++
		if b == '\n' && c.blank {
			c.event = 0
			n++
		}
		if b != '\r' {
			c.blank = b == '\n'
		}
	}
	return n
}

// answers is the body of an answer as a stream of events, with one message in each, in the form that the SDK reads. What is no message is skipped.
type answers struct {
	io.ReadCloser
	from  *bufio.Reader
	body  *counted
	stray *strays
	sent  sentMessage
	out   bytes.Buffer
	data  []byte // of the event that comes
	other bool   // it is no message
	err   error
}

// Read reads the stream.
func (a *answers) Read(p []byte) (int, error) {
	for a.out.Len() == 0 && a.err == nil {
		var line []byte
		line, a.err = a.from.ReadBytes('\n')
		text := bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(text, []byte(":"))
		switch {
		case !a.body.events:
			a.data = append(a.data, line...)
		case string(name) == "data":
			a.data = append(append(a.data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		case string(name) == "event":
			a.other = !slices.Contains([]string{"", "message"}, string(bytes.TrimSpace(value)))
		case string(name) == "id", string(name) == "retry":
			a.out.Write(append(text, '\n'))
		}
		if errors.Is(a.err, io.EOF) || a.body.events && len(text) == 0 {
			a.end()
		}
	}
	if a.out.Len() > 0 {
		return a.out.Read(p)
	}
	return 0, a.err
}

// end adds the messages of an event.
func (a *answers) end() {
	text := bytes.TrimSpace(bytes.TrimPrefix(a.data, []byte("\ufeff")))
	list := messages(text, a.body.in, func(id int64) string {
		if string(a.sent.ID) != strconv.FormatInt(id, 10) {
			return ""
		}
		return a.sent.Method
	})
	if list == nil && len(text) > 0 && !a.other {
		a.stray.add(text)
	}
	for _, m := range list {
		if !a.other {
			a.out.WriteString("data: ")
			_ = json.Compact(&a.out, m.text) // it is valid
			a.out.WriteString("\n\n")
		}
	}
	if len(list) == 0 {
		a.out.WriteByte('\n')
	}
	a.data, a.other = nil, false
}
