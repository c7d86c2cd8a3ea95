package netguard

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"golang.org/x/net/proxy"
)

// Proxy is a proxy server. It looks up names and dials itself, so hob cannot check what it dials. It is therefore used only for servers
// that the config names and for accounts: a Client that requests addresses found in texts has none. The zero Proxy means direct connections.
type Proxy struct{ at *url.URL }

// NewProxy parses the address of a proxy, for example "http://user:password@proxy.example.org:3128". "", "none" and "direct" mean no
// proxy. Errors contain no credentials.
func NewProxy(address string) (Proxy, error) {
	if slices.Contains([]string{"", "none", "direct"}, address) {
		return Proxy{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || proxyPort(u.Scheme) == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return Proxy{}, errors.New("this is not the address of a proxy; want one like http://proxy.example.org:3128, https://… or socks5://…, or none")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), proxyPort(u.Scheme))
	}
	return Proxy{u}, nil
}

// proxyPort returns the default port of a scheme; "": hob does not support the scheme.
func proxyPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	case "socks5", "socks5h":
		return "1080"
	}
	return ""
}

// Password finds the password in a proxy address. It may be a reference to a secret; put returns the address with another password.
func Password(address string) (password string, put func(string) string) {
	// A reference is not valid in a URL: env:NAME has a colon, cmd:… may contain anything. So the URL parser cannot be used.
	m := regexp.MustCompile(`^([a-z0-9]+://[^/@:]*:)(.+)(@[^@]*)$`).FindStringSubmatch(address)
	if m == nil {
		return "", nil
	}
	return m[2], func(value string) string { return m[1] + url.PathEscape(value) + m[3] }
}

// String returns the address of the proxy without credentials.
func (p Proxy) String() string {
	if p.at == nil {
		return "none"
	}
	return p.at.Host
}

// None reports whether there is no proxy.
func (p Proxy) None() bool { return p.at == nil }

// Transport returns an HTTP transport, through the proxy if there is one. It takes nothing from the environment.
func (p Proxy) Transport() http.RoundTripper {
	t := &http.Transport{ForceAttemptHTTP2: true}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		t = usual.Clone()
	}
	t.Proxy = nil
	if p.at == nil {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return conn, unreachable(network, address, err)
		}
		return t
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == p.at.Host { // for a request that the proxy forwards
			conn, err := direct(ctx, network, address)
			return conn, p.failed(err)
		}
		return p.DialContext(ctx, network, address)
	}
	if p.at.Scheme == "http" || p.at.Scheme == "https" {
		t.Proxy = func(req *http.Request) (*url.URL, error) {
			if req.URL.Scheme == "http" && req.Header.Get("Upgrade") == "" { // proxies forward these, and often allow tunnels to port 443 only (RFC 9110, sections 3.7 and 9.3.6)
				return p.at, nil
			}
			return nil, nil
		}
	}
	return &passing{t, p}
}

// passing is a transport through a proxy.
type passing struct {
	*http.Transport
	proxy Proxy
}

// RoundTrip turns the proxy's own refusal (407) into an error, so that it is not taken for the server's answer.
func (t *passing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusProxyAuthRequired {
		return nil, errors.Join(t.proxy.failed(errCredentials), resp.Body.Close())
	}
	return resp, err
}

var errCredentials = errors.New("it does not accept the credentials (407); check user and password in proxy")

// direct connects without a proxy.
func direct(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connecting, KeepAlive: 15 * time.Second}).DialContext(ctx, network, address)
	return conn, unreachable(network, address, err)
}

// Unreachable is the error of a connection that could not be made: nothing was sent. Its text is that of Err. If there is a proxy, it
// is about the connection to the proxy.
type Unreachable struct {
	network, address string
	Err              error
}

// unreachable returns an error of the dialer as an Unreachable, and no error as none.
func unreachable(network, address string, err error) error {
	if err == nil {
		return nil
	}
	return &Unreachable{network, address, err}
}

func (u *Unreachable) Error() string { return u.Err.Error() }

func (u *Unreachable) Unwrap() error { return u.Err }

// Timeout reports whether the server did not answer in time. url.Error asks the error that it holds, and looks no deeper.
func (u *Unreachable) Timeout() bool {
	slow, ok := errors.AsType[net.Error](u.Err)
	return ok && slow.Timeout()
}

// Again makes the connection and closes it: the cheapest way to find out whether the server is back. Its error is an Unreachable too.
func (u *Unreachable) Again(ctx context.Context) error {
	conn, err := direct(ctx, u.network, u.address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// ProxyError is the error of a connection through a proxy.
type ProxyError struct {
	Proxy string // without a password
	Err   error
}

// Error names the proxy, because the address in the cause may be the proxy's.
func (e *ProxyError) Error() string { return fmt.Sprintf("through the proxy %s: %v", e.Proxy, e.Err) }

// Unwrap returns the cause.
func (e *ProxyError) Unwrap() error { return e.Err }

// failed marks an error as one of the connection through the proxy.
func (p Proxy) failed(err error) error {
	if err == nil {
		return nil
	}
	return &ProxyError{Proxy: p.String(), Err: err}
}

// DialContext connects to an address "host:port" over TCP, through the proxy if there is one. The proxy looks up the name.
func (p Proxy) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	if p.at == nil {
		return direct(ctx, network, address)
	}
	if p.at.Scheme == "http" || p.at.Scheme == "https" {
		conn, err = p.tunnel(ctx, address)
	} else {
		conn, err = p.socks(ctx, network, address)
	}
	return conn, p.failed(err)
}

// socks connects through a SOCKS server (RFC 1928; RFC 1929 for the password).
func (p Proxy) socks(ctx context.Context, network, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if u := p.at.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", p.at.Host, auth, &net.Dialer{Timeout: connecting})
	if err != nil {
		return nil, err
	}
	through, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("the SOCKS library cannot dial with a context")
	}
	return through.DialContext(ctx, network, address)
}

// tunnel requests a tunnel from an HTTP proxy (RFC 9110, section 9.3.6).
func (p Proxy) tunnel(ctx context.Context, address string) (net.Conn, error) {
	conn, err := direct(ctx, "tcp", p.at.Host)
	if err != nil {
		return nil, err
	}
	called := context.AfterFunc(ctx, func() { _ = conn.Close() }) // a read or write that waits for the proxy fails then
	through, err := p.ask(ctx, conn, address)
	if !called() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // the first error is returned
		return nil, err
	}
	return through, nil
}

// ask requests the tunnel on a connection to the proxy.
func (p Proxy) ask(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if p.at.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: p.at.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn = secure
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := p.at.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("ask for a tunnel: %w", err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req) //nolint:bodyclose // what follows is the tunnel, or the connection is closed
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask for a tunnel: %w", err)
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, errCredentials
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("it refuses a tunnel to %s: %d %s", address, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return &tunnelled{conn, in}, nil
}

// tunnelled is a connection through a tunnel. Its reader may already hold the first bytes after the proxy's answer.
type tunnelled struct {
	net.Conn
	in *bufio.Reader
}

// Read reads the bytes after the proxy's answer.
func (t *tunnelled) Read(b []byte) (int, error) { return t.in.Read(b) }
