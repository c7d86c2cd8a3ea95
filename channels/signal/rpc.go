package signal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"hob/channels/wire"
	"hob/daemon/sys"
)

// client calls methods of the daemon (JSON-RPC 2.0, POST /api/v1/rpc).
type client struct {
	base, account string
	http          *http.Client
	clock         sys.Clock
}

// Limits of a call.
const (
	callTime  = time.Minute // sending to a large group takes long
	maxAnswer = 64 << 20    // bytes; a file of 20 MB has 27 MB in base64
)

// Error codes of the daemon; those below -32000 are defined by JSON-RPC.
const (
	userError   = -1
	untrusted   = -4
	rateLimited = -5
	noMethod    = -32601
	badParams   = -32602
	badRequest  = -32600
)

// refused is an error answer: the daemon's own, or one with an HTTP Status.
type refused struct {
	Status  int           `json:"-"`
	After   time.Duration `json:"-"` // with Status: the Retry-After header
	Code    int           `json:"code"`
	Message string        `json:"message"`
	Data    struct {
		Response outcome `json:"response"`
	} `json:"data"`
}

// Error names the daemon's own code, or the HTTP status.
func (e *refused) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("signal-cli's address answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("signal-cli says %d (%.200s)", e.Code, e.Message)
}

// unread wraps the error of a successful answer that cannot be read.
func unread(err error) error {
	return &wire.Unread{Check: "not that of signal-cli (check url)", Err: err}
}

// call calls a method and reads its result; result may be nil. The daemon may serve several accounts, so
// params name the account. Errors: *refused, *wire.Unread; any other error means that the connection failed.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	// Each call is a separate HTTP request, so one id is enough.
	request := map[string]any{"jsonrpc": "2.0", "id": "1", "method": method}
	if params != nil {
		request["params"] = params // null is not allowed (section 4.2)
	}
	req, err := wire.NewJSON(ctx, http.MethodPost, c.base+"/api/v1/rpc", request)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, wire.WithoutAddress(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // everything was read, or the rest is not needed
	if err := answer(resp, c.clock.Wall(), result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// own returns the params of a method with hob's account, and more params.
func (c *client) own(more map[string]any) map[string]any {
	params := map[string]any{"account": c.account}
	maps.Copy(params, more)
	return params
}

// answer reads the daemon's answer.
func answer(resp *http.Response, now time.Time, result any) error {
	if resp.StatusCode != http.StatusOK {
		return status(resp, now)
	}
	var a struct {
		Result json.RawMessage `json:"result"`
		Error  *refused        `json:"error"`
	}
	err := wire.ReadJSON(resp.Body, maxAnswer, &a)
	switch {
	case err != nil:
		return unread(err)
	case a.Error != nil:
		return a.Error
	case len(a.Result) == 0:
		return unread(errors.New("neither a result nor an error"))
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return unread(err)
	}
	return nil
}

// status returns an error from an HTTP status, of the daemon or of a proxy in between.
func status(resp *http.Response, now time.Time) *refused {
	return &refused{Status: resp.StatusCode, After: wire.After(resp.Header, now)}
}

// check reports whether the daemon answers (GET /api/v1/check).
func (c *client) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, fmt.Errorf("no answer within %s", checkTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v1/check", nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return wire.WithoutAddress(ctx, err)
	}
	_ = resp.Body.Close() // only the status is needed
	if resp.StatusCode != http.StatusOK {
		return status(resp, c.clock.Wall())
	}
	return nil
}

// checkTime is how long a running daemon may take to answer a check.
const checkTime = 5 * time.Second

// file fetches an attachment that the daemon has stored (getAttachment). Newer versions require the chat.
func (c *client) file(ctx context.Context, id string, at target) (io.ReadCloser, error) {
	var f struct {
		Data string `json:"data"`
	}
	params := c.own(map[string]any{"id": id})
	if at.Group != "" {
		params["groupId"] = at.Group
	} else {
		params["recipient"] = at.Person
	}
	if err := c.call(ctx, "getAttachment", params, &f); err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(f.Data)
	if err != nil {
		return nil, fmt.Errorf("getAttachment: %w", unread(err))
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}
