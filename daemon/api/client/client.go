// Package client is the client of hob's local API: it finds the daemon of a home, sends requests and turns the answers into values and
// errors.
//
// Find tries the socket of the home, then the port of its loopback address, then the socket of the system-wide service. The client starts
// no daemon, repeats no request and never opens hob's database. Its user is the command line, with package console.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// The home and the socket of a system-wide service.
const (
	SystemHome   = "/var/lib/hob"
	systemSocket = "/run/hob/hob.sock"
)

// maxSocketPath is the longest path of a socket that the daemon uses, in bytes. Kernels allow little more.
const maxSocketPath = 100

// ErrNoDaemon is returned when no daemon answers for the home.
var ErrNoDaemon = errors.New("hob is not running")

// ErrClosed is returned when a daemon answers, but the caller has no right to use it.
var ErrClosed = errors.New("you may not speak to this hob")

// ErrSilent is returned when a daemon accepts connections and answers none, as one does whose process is stopped.
var ErrSilent = errors.New("hob does not answer: its process is stopped, or stuck")

// Client sends requests to one daemon. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token string // "" on the socket, which its file mode protects
	// System is true when only the system-wide service answered, and not a daemon of the caller's home.
	System bool
}

// Find connects to the daemon of a home: through its socket, then its loopback port, then, if orSystem is set, the socket of the
// system-wide service. It returns ErrNoDaemon when none answers.
func Find(ctx context.Context, home string, orSystem bool) (*Client, error) {
	// An answer that forbids the use (ErrClosed) ends the search: a daemon is there.
	state := filepath.Join(home, "state")
	if c, err := open(ctx, filepath.Join(state, "run", "hob.sock"), state); !errors.Is(err, ErrNoDaemon) {
		return c, err
	}
	if !orSystem {
		return nil, ErrNoDaemon
	}
	c, err := onSocket(ctx, systemSocket) // callers cannot read its home, so they have neither port nor token
	if err != nil {
		return nil, err
	}
	c.System = true
	return c, nil
}

// open tries the socket, and the port where no socket answers.
func open(ctx context.Context, socket, state string) (*Client, error) {
	c, err := onSocket(ctx, socket)
	if !errors.Is(err, ErrNoDaemon) {
		return c, err
	}
	return onPort(ctx, state)
}

// onSocket connects through a socket. There are none on Windows, and none with long paths.
func onSocket(ctx context.Context, path string) (*Client, error) {
	if runtime.GOOS == "windows" || len(path) > maxSocketPath {
		return nil, ErrNoDaemon
	}
	if err := probe(ctx, "unix", path); err != nil {
		return nil, err
	}
	return awake(ctx, &Client{http: over("unix", path), base: "http://hob"})
}

// signOfLife is how long a daemon may take to answer whether it lives. Other requests may take any time.
const signOfLife = 10 * time.Second

// awake waits for an answer of a daemon that has accepted a connection; any will do.
func awake(ctx context.Context, c *Client) (*Client, error) {
	within, stop := context.WithTimeout(ctx, signOfLife)
	defer stop()
	req, err := http.NewRequestWithContext(within, http.MethodHead, c.base+"/healthz", nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Close = true // the next request finds out by itself whether the daemon is still there
	res, err := c.http.Do(req)
	switch {
	case err == nil:
		return c, res.Body.Close()
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, ErrSilent
	}
	return c, nil // the request that follows says what is wrong
}

// onPort connects through the loopback port. Only its user can read the address and the token in the daemon's home.
func onPort(ctx context.Context, state string) (*Client, error) {
	addr, err := line(filepath.Join(state, "address"))
	if err != nil {
		return nil, err
	}
	token, err := line(filepath.Join(state, "token"))
	if err != nil {
		return nil, err
	}
	// The file holds host:port; a scheme is accepted too.
	addr = strings.TrimPrefix(addr, "http://")
	// The token must not leave the machine, whatever the file holds.
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s does not hold an address of this machine", filepath.Join(state, "address"))
	}
	if err := probe(ctx, "tcp", addr); err != nil {
		return nil, err
	}
	return awake(ctx, &Client{http: over("tcp", addr), base: "http://" + addr, token: token})
}

// probe reports whether a daemon answers, as nil or ErrNoDaemon. A socket that the caller may not open is ErrClosed.
func probe(ctx context.Context, network, addr string) error {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, network, addr)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: %s is closed to you", ErrClosed, addr)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return ErrNoDaemon
}

// line reads a file with one line. A missing or empty file means that no daemon runs: a power failure may have emptied the address.
func line(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoDaemon
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", ErrNoDaemon
	}
	return text, nil
}

// over returns an HTTP client that dials one address and uses no proxy. It has no timeout, because streams and tools take any time; the
// caller's context ends them.
func over(network, addr string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true}}
}

// Problem is an error that the daemon answered with.
type Problem = api.Problem

// do sends a request and decodes the JSON answer into out; nil ignores it.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end, or no longer needed
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read hob's answer: %w", err)
	}
	// The body is read all the same, so that the connection can be used again.
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("hob's answer is not understood: %w", err)
	}
	return nil
}

// send returns an answer with a status below 300; any other status is a *Problem.
func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unreached(ctx, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		defer res.Body.Close() //nolint:errcheck // no longer needed
		return nil, problem(res)
	}
	return res, nil
}

// unreached describes a request that got no answer. It omits the address, which the user does not know.
// A dial that fails means that the daemon has ended since Find, so the error is ErrNoDaemon.
func unreached(ctx context.Context, err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" && ctx.Err() == nil && !errors.Is(err, os.ErrPermission) {
		return ErrNoDaemon
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("hob went away before it answered: %w", err)
}

// problem decodes an error answer. An answer that is not one of hob's still has its status.
func problem(res *http.Response) error {
	p := &Problem{}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || json.Unmarshal(body, p) != nil || p.Detail == "" {
		p.Detail = "hob answered " + res.Status
	}
	p.Status = res.StatusCode
	return p
}

// ToolCall is one call of a tool. If it needs approval, api.CallTool answers with a *Problem of kind event.Pending.
type ToolCall = api.ToolCall

// Message is a message to hob.
type Message = api.Message

// Post stores a message with its attachments. When it returns, they are committed.
// The same id again returns the first receipt, so a message without an answer can be posted again.
func (c *Client) Post(ctx context.Context, m Message) (event.Receipt, error) {
	return Do(ctx, c, api.PostMessage, "", m)
}

// Filter narrows a list of rows.
type Filter = event.Filter

// NamesOnly is the filter's state that selects only the names of rows.
const NamesOnly = event.NamesOnly

// Explain splits an error into a sentence, a hint ("" for none) and its kind (an event.FaultKind, "" for other errors).
func Explain(err error) (text, hint, kind string) {
	var p *Problem
	if errors.As(err, &p) {
		return p.Detail, p.Hint, string(p.Kind)
	}
	if f, ok := event.AsFault(err); ok {
		return f.Text, f.Hint, string(f.Kind)
	}
	_, hint = sys.DiskProblem(err)
	return err.Error(), hint, ""
}

// Socket returns an HTTP client for the daemon's socket and the address that its requests have. False: there is no socket, and the address is that of the
// port.
func (c *Client) Socket() (to *http.Client, base string, ok bool) {
	return c.http, c.base, c.token == ""
}
