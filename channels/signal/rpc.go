package signal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Times and sizes of calls.
const (
	callTime  = time.Minute // sending to a large group takes its time
	maxAnswer = 64 << 20    // bytes; a file of 20 MB has 27 in base64
)

// What the daemon's errors mean; those below -32000 are JSON-RPC's own.
const (
	userError   = -1
	untrusted   = -4
	rateLimited = -5
	noMethod    = -32601
	badParams   = -32602
	badRequest  = -32600
)

// refused is an answer that says no: of the daemon, or with a Status of HTTP.
type refused struct {
	Status  int           `json:"-"`
	After   time.Duration `json:"-"` // with Status: Retry-After
	Code    int           `json:"code"`
	Message string        `json:"message"`
	Data    struct {
		Response outcome `json:"response"`
	} `json:"data"`
}

func (e *refused) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("signal-cli's address answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("signal-cli says %d (%.200s)", e.Code, e.Message)
}

// unread is an answer of success that cannot be read.
func unread(err error) error {
	return &wire.Unread{Check: "none of signal-cli's (check url)", Err: err}
}

// call calls a method and reads its result; result may be nil. The daemon may serve several accounts: params name the one. Errors: *refused,
// *wire.Unread; any other is of the connection.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	request := map[string]any{"jsonrpc": "2.0", "id": "1", "method": method}
	if params != nil {
		request["params"] = params // where there are any: null is none (section 4.2)
	}
	req, err := wire.NewJSON(ctx, http.MethodPost, c.base+"/api/v1/rpc", request)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, wire.Bare(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or of no use
	if err := answer(resp, c.clock.Wall(), result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// own are the params of a method that needs only the account, with more of them.
func (c *client) own(more map[string]any) map[string]any {
	params := map[string]any{"account": c.account}
	for k, v := range more {
		params[k] = v
	}
	return params
}

// answer reads what the daemon says.
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

// status is an answer of HTTP itself, of the daemon or of a proxy before it.
func status(resp *http.Response, now time.Time) *refused {
	return &refused{Status: resp.StatusCode, After: wire.After(resp.Header, now)}
}

// check asks whether the daemon is there (GET /api/v1/check).
func (c *client) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, fmt.Errorf("no answer within %s", checkTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v1/check", nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return wire.Bare(ctx, err)
	}
	_ = resp.Body.Close() // only the status counts
	if resp.StatusCode != http.StatusOK {
		return status(resp, c.clock.Wall())
	}
	return nil
}

// checkTime is how long a daemon that is there may take to say so.
const checkTime = 5 * time.Second

// file fetches an attachment, which the daemon has stored (getAttachment). Newer versions want to know where it came.
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
