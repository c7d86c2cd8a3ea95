// Package client speaks hob's local API: it finds the daemon of a home and turns the API's
// answers into values and errors. It starts nothing, retries nothing and never opens hob's database.
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
	"strconv"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
)

// The home and the socket of a system-wide service.
const (
	SystemHome   = "/var/lib/hob"
	systemSocket = "/run/hob/hob.sock"
)

// maxSocketPath is the longest socket path, in bytes, that the daemon uses.
const maxSocketPath = 100

// ErrNoDaemon says that no hob answers for the home.
var ErrNoDaemon = errors.New("hob is not running")

// ErrClosed says that somebody answers whom the caller may not speak to.
var ErrClosed = errors.New("you may not speak to this hob")

// Client speaks to one daemon. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token string // "" on the socket, which its file mode guards
	// System is true when nothing answered for the caller's home and the system-wide service does.
	System bool
}

// Find looks for the daemon of a home: its socket, then its loopback port. When orSystem is set and
// neither answers, it looks for the system-wide service. The error is ErrNoDaemon when nobody answers.
func Find(ctx context.Context, home string, orSystem bool) (*Client, error) {
	state := filepath.Join(home, "state")
	if c, err := open(ctx, filepath.Join(state, "run", "hob.sock"), state); !errors.Is(err, ErrNoDaemon) {
		return c, err
	}
	if !orSystem {
		return nil, ErrNoDaemon
	}
	c, err := onSocket(ctx, systemSocket) // its home, with the port and the token, is closed to callers
	if err != nil {
		return nil, err
	}
	c.System = true
	return c, nil
}

func open(ctx context.Context, socket, state string) (*Client, error) {
	c, err := onSocket(ctx, socket)
	if !errors.Is(err, ErrNoDaemon) {
		return c, err
	}
	return onPort(ctx, state)
}

func onSocket(ctx context.Context, path string) (*Client, error) {
	if runtime.GOOS == "windows" || len(path) > maxSocketPath {
		return nil, ErrNoDaemon
	}
	if err := knock(ctx, "unix", path); err != nil {
		return nil, err
	}
	return &Client{http: over("unix", path), base: "http://hob"}, nil
}

func onPort(ctx context.Context, state string) (*Client, error) {
	addr, err := line(filepath.Join(state, "address"))
	if err != nil {
		return nil, err
	}
	token, err := line(filepath.Join(state, "token"))
	if err != nil {
		return nil, err
	}
	addr = strings.TrimPrefix(addr, "http://")
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s does not hold an address of this machine", filepath.Join(state, "address"))
	}
	if err := knock(ctx, "tcp", addr); err != nil {
		return nil, err
	}
	return &Client{http: over("tcp", addr), base: "http://" + addr, token: token}, nil
}

// knock tells whether anybody answers. A door that the caller may not open is an error of its own.
func knock(ctx context.Context, network, addr string) error {
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

// line reads a file of one line; a file that is not there means that no daemon is.
func line(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoDaemon
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// over makes an HTTP client that dials one address only and no proxy. It has no overall timeout: streams
// and tools last as long as they last; the caller's context ends them.
func over(network, addr string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true}}
}

// Problem is an error that the daemon answered with.
type Problem = api.Problem

// do sends one request and decodes its JSON answer into out; nil drops it.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end, or given up
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read hob's answer: %w", err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("hob's answer is not understood: %w", err)
	}
	return nil
}

// send returns an answer with a status below 300; everything else is an error.
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
		defer res.Body.Close() //nolint:errcheck // nothing more is wanted from it
		return nil, problem(res)
	}
	return res, nil
}

// unreached says what became of a request without an answer; the user knows of no address, so it names none.
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

func problem(res *http.Response) error {
	p := &Problem{}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || json.Unmarshal(body, p) != nil || p.Detail == "" {
		p.Detail = "hob answered " + res.Status
	}
	p.Status = res.StatusCode
	return p
}

// List fetches the rows of a resource into out, a pointer to a slice or to a json.RawMessage.
func (c *Client) List(ctx context.Context, resource string, f event.Filter, out any) error {
	q := url.Values{}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if f.Name != "" {
		q.Set("name", f.Name)
	}
	path := "/v1/" + resource
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Show fetches one row into out. The resources status and budget take the id "".
func (c *Client) Show(ctx context.Context, resource, id string, out any) error {
	path := "/v1/" + resource
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Act asks for a change: a verb on a row, or on a thing that exists once (id ""). out may be nil.
func (c *Client) Act(ctx context.Context, resource, id, verb string, args map[string]string, out any) error {
	path := "/v1/" + resource
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return c.do(ctx, http.MethodPost, path+"/"+verb, args, out)
}

// Send queues a text with files for an address. No model reads it.
func (c *Client) Send(ctx context.Context, to, text string, files ...Attachment) (api.Sent, error) {
	return Do(ctx, c, api.SendText, "", api.Outgoing{To: to, Text: text, Attachments: files})
}

// Message is what somebody writes to hob.
type Message = api.Message

// Post commits a message with its attachments. After it returns, they are safe.
func (c *Client) Post(ctx context.Context, m Message) (event.Receipt, error) {
	return Do(ctx, c, api.PostMessage, "", m)
}

// Filter narrows a list of rows.
type Filter = event.Filter

// NamesOnly is the state of a filter that asks for the names of rows only.
const NamesOnly = event.NamesOnly

// Explain takes an error apart for people: a sentence, a hint ("" when there is none) and its kind
// (an event.FaultKind, "" for anything else).
func Explain(err error) (text, hint, kind string) {
	var p *Problem
	if errors.As(err, &p) {
		return p.Detail, p.Hint, string(p.Kind)
	}
	if f, ok := event.AsFault(err); ok {
		return f.Text, f.Hint, string(f.Kind)
	}
	return err.Error(), "", ""
}
