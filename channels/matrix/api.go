package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// client calls the Client-Server API ("API standards": JSON both ways, an object with "errcode" when it says no).
type client struct {
	base, token string
	http        *http.Client
	clock       sys.Clock
}

// Times and sizes of calls.
const (
	callTime  = 30 * time.Second // any call but a sync
	maxAnswer = 64 << 20         // bytes
)

// noToken says what to do about a token that is not taken.
const noToken = "the token is not taken (any more): take a new access token of hob's account, and set token to it"

// refused is an answer that says no.
type refused struct {
	Status  int
	Code    string `json:"errcode"`
	Text    string `json:"error"`
	AfterMS int64  `json:"retry_after_ms"`
	after   time.Duration
	leads   string // where a redirect leads
}

func (e *refused) Error() string {
	text := fmt.Sprintf("the homeserver says %d", e.Status)
	if e.Code != "" || e.Text != "" {
		text += fmt.Sprintf(" (%.200s)", strings.TrimSpace(e.Code+" "+e.Text))
	}
	return text
}

// is tells whether an error is a refusal with one of these codes.
func is(err error, codes ...string) bool {
	var no *refused
	if !errors.As(err, &no) {
		return false
	}
	for _, code := range codes {
		if no.Code == code {
			return true
		}
	}
	return false
}

// unread is an answer of success that cannot be read: what was asked for may have been done.
type unread struct{ err error }

func (e *unread) Error() string {
	return "the answer is none of a Matrix server (check homeserver): " + e.err.Error()
}

func (e *unread) Unwrap() error { return e.err }

// path joins the parts of a path below /_matrix/client, each escaped.
func path(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/_matrix/client/" + strings.Join(parts, "/")
}

// call makes a call, and reads its result; params and result may be nil. Errors: *refused, *unread; any other is of the connection.
func (c *client) call(ctx context.Context, method, at string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	return c.within(ctx, method, at, params, result)
}

// within is call without a time of its own.
func (c *client) within(ctx context.Context, method, at string, params, result any) error {
	var body io.Reader
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := c.request(ctx, method, at, body)
	if err != nil {
		return err
	}
	return c.do(ctx, req, result)
}

// do sends a request and reads its result, which may be nil.
func (c *client) do(ctx context.Context, req *http.Request, result any) error {
	resp, err := c.send(ctx, req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or of no use
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		return &unread{wire.Bare(ctx, err)}
	}
	return nil
}

// data reads account data of a type into a value, which stays as it is where there is none.
func (c *client) data(ctx context.Context, me, kind string, into any) error {
	err := c.call(ctx, http.MethodGet, path("v3", "user", me, "account_data", kind), nil, into)
	if is(err, "M_NOT_FOUND") {
		return nil
	}
	return err
}

// keep writes account data of a type.
func (c *client) keep(ctx context.Context, me, kind string, data any) error {
	return c.call(ctx, http.MethodPut, path("v3", "user", me, "account_data", kind), data, nil)
}

// request makes a request, whose body is JSON where there is one.
func (c *client) request(ctx context.Context, method, at string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+at, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", wire.Bare(ctx, err))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// send sends a request. An answer that is no success is an error.
func (c *client) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, wire.Bare(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it counts
	no := &refused{}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || json.Unmarshal(raw, no) != nil || no.Code == "" {
		no = &refused{Text: http.StatusText(resp.StatusCode)} // a proxy's page, or none
	}
	if resp.StatusCode/100 == http.StatusMultipleChoices/100 {
		no.leads = resp.Header.Get("Location")
	}
	no.Status, no.after = resp.StatusCode, time.Duration(no.AfterMS)*time.Millisecond
	if after := wire.After(resp.Header, c.clock.Wall()); after > 0 { // it counts more than the body ("Rate limiting")
		no.after = after
	}
	return nil, no
}

// trouble says what is wrong when the server refuses, and what to do about it.
func trouble(err error) error {
	var no *refused
	switch {
	case !errors.As(err, &no):
		return err
	case no.Status == http.StatusUnauthorized:
		return channels.Refused(fmt.Errorf("%w; %s", err, noToken))
	case no.Status == http.StatusTooManyRequests:
		return &channels.RetryAfter{After: no.after, Err: err}
	case no.Status == http.StatusNotFound && (no.Code == "" || no.Code == "M_UNRECOGNIZED"):
		return fmt.Errorf("%w; check homeserver: it is the address of the client API, which https://SERVER/.well-known/matrix/client names", err)
	}
	return err
}
