package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"hob/channels/wire"
)

// client calls methods of the Bot API ("Making requests": JSON in the body of a POST, an object with "ok" as the answer).
type client struct {
	base, token string
	http        *http.Client
}

// Times and sizes of calls.
const (
	callTime  = 30 * time.Second // any call but a poll
	maxAnswer = 64 << 20         // bytes; a hundred updates have far less
)

// unread is an answer of success that cannot be read.
func unread(err error) error {
	return &wire.Unread{Check: "none of a Bot API server (check api_base)", Err: err}
}

// bare is a refusal of which only the status counts: a proxy's page, or a file's.
func bare(status int) error {
	return &wire.Refusal{Says: says, Status: status, Detail: http.StatusText(status), Local: true}
}

// says is how the text of a refusal begins.
const says = "Telegram says"

// call calls a method and reads its result; result may be nil. Errors: *wire.Refusal, *wire.Unread; any other is of the connection.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	return c.within(ctx, method, params, result)
}

// within is call without a time of its own.
func (c *client) within(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = struct{}{} // "null" is no object
	}
	req, err := wire.NewJSON(ctx, http.MethodPost, c.base+"/bot"+c.token+"/"+method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return c.do(req, method, result)
}

// post sends a request of a kind and a length, and reads the result.
func (c *client) post(ctx context.Context, method, kind string, body io.Reader, length int64, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/bot"+c.token+"/"+method, body)
	if err != nil {
		return fmt.Errorf("%s: make a request: %w", method, wire.Bare(ctx, err))
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", kind)
	return c.do(req, method, result)
}

// do makes a request and reads the result.
func (c *client) do(req *http.Request, method string, result any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, wire.Bare(req.Context(), err))
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or of no use
	if err := answer(resp, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// answer reads what a server says.
func answer(resp *http.Response, result any) error {
	var a struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`

		Code        int    `json:"error_code"` // as HTTP's
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"` // seconds
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	err := wire.ReadJSON(resp.Body, maxAnswer, &a)
	switch {
	case resp.StatusCode != http.StatusOK && (err != nil || a.Code == 0):
		return bare(resp.StatusCode) // a proxy's page, or none
	case err != nil:
		return unread(err)
	case !a.OK && a.Code == 0:
		return unread(errors.New("neither a result nor an error"))
	case !a.OK:
		no := &wire.Refusal{Says: says, Status: a.Code, Detail: fmt.Sprintf("%.200s", a.Description), Own: true, Local: true, After: time.Duration(a.Parameters.RetryAfter) * time.Second}
		if a.Parameters.MigrateTo != 0 {
			no.Moved = strconv.FormatInt(a.Parameters.MigrateTo, 10)
		}
		return no
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return unread(err)
	}
	return nil
}

// errOwnDisk is what comes of a server that hands out paths of its disk instead of files.
var errOwnDisk = errors.New("the Bot API server keeps files on its own disk; start it without --local")

// file opens a file by its id.
func (c *client) file(ctx context.Context, id string) (io.ReadCloser, error) {
	return wire.Fetch(ctx, func(ctx context.Context) (io.ReadCloser, error) { return c.fetch(ctx, id) }, func(err error) bool {
		return errors.Is(err, errOwnDisk) || wire.Final(err)
	})
}

// fetch asks for a file's path (getFile; at most 20 MB where the server is the public one), and opens what is there.
func (c *client) fetch(ctx context.Context, id string) (io.ReadCloser, error) {
	var f struct {
		Path string `json:"file_path"`
	}
	if err := c.call(ctx, "getFile", map[string]string{"file_id": id}, &f); err != nil {
		return nil, err
	}
	if f.Path == "" || strings.HasPrefix(f.Path, "/") || path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "..") {
		return nil, errOwnDisk
	}
	at := url.URL{Path: f.Path}
	return wire.Open(ctx, c.http, c.base+"/file/bot"+c.token+"/"+at.EscapedPath(), bare)
}
