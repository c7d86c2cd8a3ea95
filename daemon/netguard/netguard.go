// Package netguard is hob's way out to the web: one guarded client that looks at the address which is really dialled, and
// pure functions that read addresses. It keeps no cookie and no connection, takes no proxy from the environment, and decides
// nothing about permission.
package netguard

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// The kinds of errors of Do, beside ErrAddress and the caller's own cancellation.
var (
	ErrForbidden = errors.New("the address is not of the public internet")
	ErrTooLarge  = errors.New("the answer is too large")
	ErrTimeout   = errors.New("the answer took too long")
	ErrRedirects = errors.New("too many redirects")
	ErrEncoding  = errors.New("the answer is packed in a way that was not asked for")
	ErrHeader    = errors.New("a header that may not be set")
)

// Error is why there is no answer.
type Error struct {
	Link string // what was asked for last
	Sent bool   // the request may have reached the server, so that it may have had its effect
	Err  error
}

func (e *Error) Error() string { return e.Link + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// forbidden is an ErrForbidden that says what was not dialled.
func forbidden(a netip.Addr, name string) error {
	return fmt.Errorf("%w: %s is %s", ErrForbidden, a, name)
}

// Config is what a client is made of. Zero values mean the defaults.
type Config struct {
	Timeout      time.Duration  // of a whole exchange, redirects and body included; 30 s
	MaxBytes     int64          // of an answer's body, unpacked; 10 MB
	MaxRedirects int            // followed in one exchange; 5
	Allow        []netip.Prefix // networks that may be dialled although they are private; none
	Resolver     *net.Resolver  // the system's
	Roots        *x509.CertPool // certificates that are trusted; the system's
	Agent        string         // the User-Agent; "Mozilla/5.0 (compatible; hob)"
}

// Limits that no caller sets.
const (
	maxHeader  = 256 << 10 // of an answer, in bytes
	maxSent    = 32 << 10  // of a request's headers, in bytes
	connecting = 10 * time.Second
)

// NewClient makes a client; it is safe for concurrent use.
func NewClient(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 10 << 20
	}
	if c.MaxRedirects == 0 {
		c.MaxRedirects = 5
	}
	if c.Agent == "" {
		c.Agent = "Mozilla/5.0 (compatible; hob)"
	}
	return &Client{c}
}

// Client asks the public web. See Do.
type Client struct{ conf Config }
