// Package wire is the network code that channels share: an HTTP client that follows no redirects, whether a request has left, what refusals
// mean, what errors may say of an address, files that are fetched, and how a TLS server proves who it is. It knows no platform.
package wire

import (
	"bytes"
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

	"hob/channels"
	"hob/daemon/fail"
)

// Client is a copy of base that follows no redirects, because a token would go along and a POST would silently become a GET. limit
// bounds each call, with the reading of its answer; 0: each call brings its own bound.
func Client(base *http.Client, limit time.Duration) *http.Client {
	c := *base
	c.Timeout = limit
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Written watches whether a request has reached the wire. It is for one request.
type Written struct{ headers, failed atomic.Bool }

// Watch returns the context with which the request is made.
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

// Maybe tells whether the server may have the whole request. Headers are buffered before the first byte leaves, so without them nothing has
// left; a failed write left too little. In between it cannot be told: the callback for the whole request may come after the error.
func (w *Written) Maybe() bool { return w.headers.Load() && !w.failed.Load() }

// Bare is an error of a call without the address that net/http puts into it, because a token may stand there. Where the call's time was
// over it is the context's cause, which says so in words.
func Bare(ctx context.Context, err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// After reads a header's Retry-After (RFC 9110, section 10.2.3): seconds or a date. 0: none, or not to be understood.
func After(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < math.MaxInt32 { // fractions are against the rule, and in use
		return time.Duration(n * float64(time.Second))
	}
	if t, err := http.ParseTime(value); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// How a file is fetched.
const (
	FileTime  = time.Minute // of one try, until the file is read to its end
	fileTries = 3
)

// Fetch opens a file that came with a message, for which open makes the requests. The message comes only once, so that it is tried again,
// unless lost says of an error that it will not go away.
func Fetch(ctx context.Context, open func(context.Context) (io.ReadCloser, error), lost func(error) bool) (io.ReadCloser, error) {
	for try := 1; ; try++ {
		own, done := context.WithTimeoutCause(ctx, FileTime, fmt.Errorf("the file did not come within %s", FileTime))
		body, err := open(own)
		if err == nil {
			return &file{body, done}, nil
		}
		err = Bare(own, err)
		done()
		if try == fileTries || ctx.Err() != nil || lost(err) {
			return nil, err
		}
		channels.Pause(ctx, time.Duration(try)*time.Second)
	}
}

// Open opens what is at an address, for Fetch. refusal makes an error of a status other than 200. Errors do not name the address.
func Open(ctx context.Context, client *http.Client, address string, refusal func(status int) error) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, Bare(ctx, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, Bare(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // only the status counts
		return nil, refusal(resp.StatusCode)
	}
	return resp.Body, nil
}

// file is a file's body, which ends the time that it was given.
type file struct {
	io.ReadCloser
	done context.CancelFunc
}

// Close ends the download.
func (f *file) Close() error {
	defer f.done()
	return f.ReadCloser.Close()
}

// Server is a key of the config that holds the address of a platform's server.
type Server struct {
	Key      string
	Like     string // an example, and the default where the key is Optional
	Optional bool
	Login    string // what is enough to log in, as "the bot's token is"
}

// Read checks an address and returns it without a slash at its end.
func (s Server) Read(value string) (*url.URL, error) {
	hint := ""
	if s.Optional {
		hint = ", or leave it out"
		if value == "" {
			value = s.Like
		}
	}
	u, err := url.Parse(strings.TrimRight(value, "/"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: %q is no address; want something like %s%s", s.Key, value, s.Like, hint)
	case u.User != nil:
		return nil, fmt.Errorf("%s: no user name or password in the address; %s all that is needed", s.Key, s.Login)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: %q has something after the path; want only the server, like %s", s.Key, value, s.Like)
	}
	return u, nil
}

// NewJSON makes a request whose body is a JSON document, or empty where document is nil. Errors do not name the address.
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
		return nil, fmt.Errorf("make a request: %w", Bare(ctx, err))
	}
	if document != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// ReadJSON reads a body of so many bytes at most into result, which may be nil.
func ReadJSON(body io.Reader, most int64, result any) error {
	raw, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}
