// Package wire is the network code that the adapters share: an HTTP client without redirects, whether a
// request was written, the meaning of refusals, errors without addresses, file downloads, and the identity of
// TLS servers.
//
// It knows no platform. An adapter makes a request with it, and turns the error into one for the host
// (Statuses.Received) or for the pump (Statuses.Sent).
package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Client returns a copy of base that follows no redirects: a redirect would take a token along, and silently
// turn a POST into a GET. limit bounds each call including the reading of its answer; 0: each call has its
// own limit.
func Client(base *http.Client, limit time.Duration) *http.Client {
	c := *base
	c.Timeout = limit
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Written records whether a request has left. It is used for one request.
type Written struct{ headers, failed atomic.Bool }

// Watch returns the context for the request.
func (w *Written) Watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { w.headers.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				w.failed.Store(true)
				return
			}
			fail.Point("sending.written")
		},
	})
}

// Maybe reports whether the server may have the whole request. The transport buffers the headers, so that
// nothing has left before they are written; after a failed write, too little has left. In between it cannot
// be known: the callback for the whole request may come after the error.
func (w *Written) Maybe() bool { return w.headers.Load() && !w.failed.Load() }

// WithoutAddress returns the error of a call without the address that net/http adds, because the address may contain a
// token. After a timeout it returns the context's cause, which describes the timeout.
func WithoutAddress(ctx context.Context, err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// After reads the Retry-After header (RFC 9110, section 10.2.3): seconds or a date. 0: missing or malformed.
func After(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < math.MaxInt32 { // fractions are not allowed, but used
		return time.Duration(n * float64(time.Second))
	}
	if t, err := http.ParseTime(value); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// Limits of a download.
const (
	FileTime  = time.Minute // for one try, until the file was read completely
	fileTries = 3
)

// Fetch downloads a file of a message; open makes the request. The message comes only once, so that a failure
// is retried, unless lost reports that it is permanent.
func Fetch(ctx context.Context, open func(context.Context) (io.ReadCloser, error), lost func(error) bool) (io.ReadCloser, error) {
	for try := 1; ; try++ {
		own, done := context.WithTimeoutCause(ctx, FileTime, fmt.Errorf("the file did not come within %s", FileTime))
		body, err := open(own)
		if err == nil {
			return &file{body, done}, nil
		}
		err = WithoutAddress(own, err)
		done()
		if try == fileTries || ctx.Err() != nil || lost(err) {
			return nil, err
		}
		sys.Sleep(ctx, time.Duration(try)*time.Second)
	}
}

// Open requests an address, for Fetch. refusal makes the error for a status other than 200. Errors do not
// contain the address.
func Open(ctx context.Context, client *http.Client, address string, refusal func(status int) error) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, WithoutAddress(ctx, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, WithoutAddress(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // only the status is needed
		return nil, refusal(resp.StatusCode)
	}
	return resp.Body, nil
}

// file is a body that also ends the timeout of its download.
type file struct {
	io.ReadCloser
	done context.CancelFunc
}

// Close ends the download.
func (f *file) Close() error {
	defer f.done()
	return f.ReadCloser.Close()
}

// Server describes a config key that holds the address of a platform's server.
type Server struct {
	Key      string
	Like     string // an example, and the default if the key is Optional
	Optional bool
	Login    string // completes an error: what is enough to log in, as "the bot's token is"
}

// Read checks an address, and returns it without a slash at its end.
func (s Server) Read(value string) (*url.URL, error) {
	hint := ""
	if s.Optional {
		hint = ", or leave it out"
		value = cmp.Or(value, s.Like)
	}
	u, err := url.Parse(strings.TrimRight(value, "/"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: %q is not an address; want something like %s%s", s.Key, value, s.Like, hint)
	case u.User != nil:
		return nil, fmt.Errorf("%s: want no user name or password in the address; %s all that is needed", s.Key, s.Login)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: %q has something after the path; want only the server, like %s", s.Key, value, s.Like)
	}
	return u, nil
}

// NewJSON makes a request with a JSON body, or without a body if document is nil. Errors do not contain the
// address.
func NewJSON(ctx context.Context, method, address string, document any) (*http.Request, error) {
	var body io.Reader
	if document != nil {
		raw, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", WithoutAddress(ctx, err))
	}
	if document != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// ReadJSON parses a body of at most most bytes into result, which may be nil.
func ReadJSON(body io.Reader, most int64, result any) error {
	raw, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}
