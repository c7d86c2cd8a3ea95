package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/channels/wire"
	"hob/daemon/sys"
)

// client calls the Client-Server API ("API standards"): JSON in both directions; an error is an object with
// "errcode".
type client struct {
	base, token string
	http        *http.Client
	clock       sys.Clock
}

// Limits of a call.
const (
	callTime  = 30 * time.Second // for each call except a sync
	maxAnswer = 64 << 20         // bytes
)

// noToken says what to do about a refused token.
const noToken = "the server does not accept the token: set token to a new access token of hob's account"

// unread wraps the error of a successful answer that cannot be read.
func unread(err error) error {
	return &wire.Unread{Check: "not that of a Matrix server (check homeserver)", Err: err}
}

// path joins the segments of a path below /_matrix/client, each escaped.
func path(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/_matrix/client/" + strings.Join(parts, "/")
}

// call makes a call and reads its result; params and result may be nil. Errors: *wire.Refusal, *wire.Unread;
// any other error means that the connection failed.
func (c *client) call(ctx context.Context, method, at string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	return c.within(ctx, method, at, params, result)
}

// within is call without its own timeout.
func (c *client) within(ctx context.Context, method, at string, params, result any) error {
	req, err := wire.NewJSON(ctx, method, c.base+at, params)
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
	defer func() { _ = resp.Body.Close() }() // everything was read, or the rest is not needed
	if err := wire.ReadJSON(resp.Body, maxAnswer, result); err != nil {
		return unread(wire.WithoutAddress(ctx, err))
	}
	return nil
}

// data reads account data of a type ("Client config"). Without such data, into stays unchanged.
func (c *client) data(ctx context.Context, me, kind string, into any) error {
	err := c.call(ctx, http.MethodGet, path("v3", "user", me, "account_data", kind), nil, into)
	if wire.HasCode(err, "M_NOT_FOUND") {
		return nil
	}
	return err
}

// keep writes account data of a type.
func (c *client) keep(ctx context.Context, me, kind string, data any) error {
	return c.call(ctx, http.MethodPut, path("v3", "user", me, "account_data", kind), data, nil)
}

// send sends a request with the token. Any status but 200 is an error.
func (c *client) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+c.token)
	// The client follows no redirects, so the token stays at the homeserver.
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, wire.WithoutAddress(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // the error object is small
	var said struct {
		Code    string `json:"errcode"`
		Text    string `json:"error"`
		AfterMS int64  `json:"retry_after_ms"`
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || json.Unmarshal(raw, &said) != nil || said.Code == "" {
		said.Code, said.Text, said.AfterMS = "", http.StatusText(resp.StatusCode), 0 // a proxy's page, or an empty body
	}
	no := &wire.Refusal{
		Says: "the homeserver says", Status: resp.StatusCode, Code: said.Code, Own: said.Code != "" && said.Code != "M_UNRECOGNIZED",
		Detail: fmt.Sprintf("%.200s", strings.TrimSpace(said.Code+" "+said.Text)), After: time.Duration(said.AfterMS) * time.Millisecond,
	}
	// A redirect is useful for files only: download follows it.
	if resp.StatusCode/100 == http.StatusMultipleChoices/100 {
		no.Moved = resp.Header.Get("Location")
	}
	if after := wire.After(resp.Header, c.clock.Wall()); after > 0 { // takes precedence over the body ("Rate limiting")
		no.After = after
	}
	return nil, no
}

// statuses classifies a homeserver's refusals. A gateway timeout comes from a proxy that passed the request
// on and got no answer. A permanent refusal must come from the homeserver itself, not from a proxy.
func statuses() wire.Statuses {
	return wire.Statuses{
		Credentials: []int{http.StatusUnauthorized}, Hint: noToken,
		Unsure:   []int{http.StatusGatewayTimeout},
		Never:    []int{http.StatusRequestEntityTooLarge},
		NeverOwn: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound},
	}
}

// explain explains a refusal, and says what to do about it.
func explain(err error) error {
	if wire.HasStatus(err, http.StatusNotFound) && !wire.Refused(err).Own {
		return fmt.Errorf("%w; check homeserver: it must be the address of the client API, as in https://SERVER/.well-known/matrix/client", err)
	}
	return statuses().Received(err)
}
