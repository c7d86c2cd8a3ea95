// Package netguard is hob's way to the web. It has one guarded client and pure functions that parse addresses.
//
// The flow: a tool parses an address with Canonical, the permission rules decide about it, and Client.Do requests it. Do checks each IP address that
// is really dialled, because a name can point anywhere. Defang and Links handle addresses in texts; Proxy serves connections to servers
// that the config names.
//
// The client keeps no cookies and no connections and takes no proxy from the environment. The package decides nothing about permission.
package netguard

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// The kinds of errors of Do, besides ErrAddress and the cancellation by the caller.
var (
	ErrForbidden = errors.New("the address is not in the public internet")
	ErrTooLarge  = errors.New("the answer is too large")
	ErrTimeout   = errors.New("the answer took too long")
	ErrRedirects = errors.New("too many redirects")
	ErrEncoding  = errors.New("the answer has an encoding that was not requested")
	ErrHeader    = errors.New("a header that may not be set")
)

// Error says why a request got no answer.
type Error struct {
	Link string // the last requested address
	Sent bool   // the request may have reached the server and had its effect
	Err  error
}

func (e *Error) Error() string { return e.Link + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// forbidden makes an ErrForbidden that names the refused network.
func forbidden(a netip.Addr, name string) error {
	return fmt.Errorf("%w: %s is %s", ErrForbidden, a, name)
}

// Config configures a client. Zero values mean the defaults, which are given last.
type Config struct {
	Timeout      time.Duration  // limit of a whole exchange, including redirects and body; 30 s
	MaxBytes     int64          // limit of a decoded body; 10 MB
	MaxRedirects int            // redirects that one exchange follows; 5
	Allow        []netip.Prefix // private networks that may be dialled; none
	Resolver     *net.Resolver  // DNS resolver; the system's
	Roots        *x509.CertPool // trusted certificates; the system's
	Agent        string         // the User-Agent header; "Mozilla/5.0 (compatible; hob)"
	// Proxy returns the proxy for a host that is not Private. It is for servers that the owner chose, because hob cannot check what a proxy dials; none
	Proxy func(ctx context.Context, host string) (Proxy, error)
}

// Limits that no caller can change.
const (
	maxHeader  = 256 << 10 // headers of an answer, in bytes
	maxSent    = 32 << 10  // headers of a request, in bytes
	connecting = 10 * time.Second
)

// NewClient makes a client. It is safe for concurrent use.
func NewClient(c Config) *Client {
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxBytes = cmp.Or(c.MaxBytes, 10<<20)
	c.MaxRedirects = cmp.Or(c.MaxRedirects, 5)
	if c.Agent == "" {
		c.Agent = "Mozilla/5.0 (compatible; hob)"
	}
	return &Client{c}
}

// Client makes requests to the public web. See Do.
type Client struct{ conf Config }
