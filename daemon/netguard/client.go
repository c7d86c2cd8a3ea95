package netguard

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"

	"hob/daemon/text"
)

// Request is one HTTP request.
type Request struct {
	Method  string // GET when ""
	Link    string // any form that Canonical accepts
	Header  http.Header
	Body    []byte
	Private bool      // the owner approved this very host although it is in a private network
	Into    io.Writer // receives the body as it arrives; Answer.Body is then empty, and after an error the written part is worthless. nil: Answer.Body
}

// Answer is a complete response.
type Answer struct {
	Link   string // the address that answered, after redirects
	Status int
	Header http.Header
	Body   []byte // decoded
	Moved  string // the target of a redirect that was not followed; "": none
}

// Do makes a request and reads the whole response, within the limits of the client.
//
// It checks each IP address at the moment of dialling, after the DNS lookup. A name that changes its address between two lookups
// therefore gains nothing. Private allows the private networks for the host of Link. Cloud metadata services, multicast and reserved
// networks are never dialled.
//
// It follows a redirect of GET or HEAD only to the same host and port, or from http to https on the same host. Any other redirect is the
// answer, with Moved. Errors are *Error with the kinds above, or the end of ctx.
func (c *Client) Do(ctx context.Context, req Request) (Answer, error) {
	link, host, err := Canonical(req.Link)
	if err != nil {
		return Answer{}, &Error{Link: req.Link, Err: err}
	}
	if err := CheckHeader(req.Header); err != nil {
		return Answer{}, &Error{Link: link, Err: err}
	}
	req.Method = cmp.Or(req.Method, http.MethodGet)
	inner, cancel := context.WithTimeoutCause(ctx, c.conf.Timeout, ErrTimeout)
	defer cancel()
	// Transport and connections serve one exchange only, so an approved connection cannot serve another request.
	t := c.transport(host, req.Private)
	defer t.CloseIdleConnections()
	x := exchange{client: c, transport: t, req: req}
	answer, err := x.follow(inner, link)
	if err == nil {
		return answer, nil
	}
	// The caller's own end of ctx is not a timeout of the exchange.
	if ctx.Err() == nil && inner.Err() != nil {
		err = fmt.Errorf("%w: more than %s", ErrTimeout, c.conf.Timeout)
	} else if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrTimeout, err) // a connection or a DNS lookup
	}
	return Answer{}, &Error{Link: x.link, Sent: x.sent.Load(), Err: err}
}

// transport makes the transport of one exchange. It dials one host only.
func (c *Client) transport(host string, private bool) *http.Transport {
	check := func(_ context.Context, network, address string, _ syscall.RawConn) error {
		return c.check(network, address, private)
	}
	dialer := net.Dialer{Timeout: connecting, Resolver: c.conf.Resolver, ControlContext: check}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		// A second line of defence: no redirect can make this transport dial another host.
		if to, _, err := net.SplitHostPort(address); err != nil || !strings.EqualFold(to, host) {
			return nil, fmt.Errorf("%w: %s is not the host that was asked for", ErrForbidden, address)
		}
		if c.conf.Proxy != nil && !Private(host) {
			p, err := c.conf.Proxy(ctx, host)
			if err != nil {
				return nil, err
			}
			if !p.None() {
				return p.DialContext(ctx, network, address)
			}
		}
		return dialer.DialContext(ctx, network, address)
	}
	// HTTP/1 only: a request then has its connection to itself.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: nil, DialContext: dial, Protocols: protocols,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.conf.Roots},
		TLSHandshakeTimeout: connecting, MaxResponseHeaderBytes: maxHeader,
	}
}

// check decides whether an IP address may be dialled. It runs after the DNS lookup.
func (c *Client) check(network, address string, private bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s over %s", ErrForbidden, address, network)
	}
	a := at.Addr().WithZone("")
	// The owner's networks come first, because they may be parts of a special one.
	for _, p := range c.conf.Allow {
		if p.Contains(a) {
			return nil
		}
	}
	n := special(a)
	if n.name == "" || n.local && private {
		return nil
	}
	return forbidden(a, n.name)
}

// exchange is one request including the redirects that it follows.
type exchange struct {
	client    *Client
	transport *http.Transport
	req       Request
	link      string
	sent      atomic.Bool
}

// follow requests a link, then the redirects from it.
func (x *exchange) follow(ctx context.Context, link string) (Answer, error) {
	for hops := 0; ; hops++ {
		x.link = link
		answer, err := x.ask(ctx)
		if err != nil || answer.Moved == "" {
			return answer, err
		}
		safe := x.req.Method == http.MethodGet || x.req.Method == http.MethodHead
		if !safe || !samePlace(link, answer.Moved) {
			return answer, nil
		}
		if hops == x.client.conf.MaxRedirects {
			return Answer{}, fmt.Errorf("%w: more than %d", ErrRedirects, x.client.conf.MaxRedirects)
		}
		link = answer.Moved
	}
}

// ask makes one request and reads its response.
func (x *exchange) ask(ctx context.Context) (Answer, error) {
	// With a connection, bytes may have been sent. Before that, the request had certainly no effect.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), x.req.Method, x.link, bytes.NewReader(x.req.Body))
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	for name, values := range x.req.Header {
		// CheckHeader has refused the fields that the transport sets itself.
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", x.client.conf.Agent)
	}
	// RoundTrip, unlike http.Client, follows no redirect and keeps no cookies.
	resp, err := x.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	answer, err := x.read(resp)
	return answer, errors.Join(err, resp.Body.Close())
}

// read reads a response. The body of a redirect is not read.
func (x *exchange) read(resp *http.Response) (Answer, error) {
	answer := Answer{Link: x.link, Status: resp.StatusCode, Header: resp.Header}
	moved, err := x.leads(resp)
	if err != nil || moved != "" {
		answer.Moved = moved
		return answer, err
	}
	if x.req.Method == http.MethodHead {
		return answer, nil
	}
	// The transport decodes gzip itself and then removes this field. Any other encoding was not requested.
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return Answer{}, fmt.Errorf("%w: %q", ErrEncoding, packed)
	}
	limit := x.client.conf.MaxBytes
	if resp.ContentLength > limit {
		return Answer{}, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, resp.ContentLength, limit)
	}
	var whole bytes.Buffer
	into := x.req.Into
	if into == nil {
		into = &whole
	}
	// The limit counts decoded bytes, so a small packed answer cannot fill the memory.
	n, err := io.Copy(into, io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return Answer{}, err
	}
	if n > limit {
		return Answer{}, fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit)
	}
	answer.Body = whole.Bytes()
	return answer, nil
}

// leads returns the target of a redirect; "": the response is none (RFC 9110 section 15.4).
func (x *exchange) leads(resp *http.Response) (string, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return "", nil
	}
	// Check the text before parsing: the parser would percent-encode some of what Canonical refuses.
	if err := readable(location); err != nil {
		return "", fmt.Errorf("it leads to %q: %w", text.Shorten(location, mostShown), err)
	}
	base, err := url.Parse(x.link)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrAddress, err)
	}
	to, err := base.Parse(location)
	if err != nil {
		return "", fmt.Errorf("it leads to %q: %w", text.Shorten(location, mostShown), ErrAddress)
	}
	link, _, err := Canonical(to.String())
	if err != nil {
		return "", fmt.Errorf("it leads to %q: %w", text.Shorten(to.Redacted(), mostShown), err)
	}
	return link, nil
}

// mostShown limits a foreign text in an error, in characters.
const mostShown = 200

// samePlace reports whether two canonical addresses belong to one server: the same host and port, and not a step from https to http.
func samePlace(from, to string) bool {
	a, errA := url.Parse(from)
	b, errB := url.Parse(to)
	if errA != nil || errB != nil || a.Hostname() != b.Hostname() || a.Port() != b.Port() {
		return false
	}
	return a.Scheme == b.Scheme || b.Scheme == "https" && b.Port() == ""
}
