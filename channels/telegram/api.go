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

// client calls methods of the Bot API ("Making requests"): a POST with JSON in the body, answered by an
// object with "ok".
type client struct {
	base, token string
	http        *http.Client
}

// Limits of a call.
const (
	callTime  = 30 * time.Second // for each call except a poll
	maxAnswer = 64 << 20         // bytes; a hundred updates are far smaller
)

// unread wraps the error of a successful answer that cannot be read.
func unread(err error) error {
	return &wire.Unread{Check: "not that of a Bot API server (check api_base)", Err: err}
}

// bare makes a refusal from the status alone: the body is a proxy's page, or a file server's.
func bare(status int) error {
	return &wire.Refusal{Says: says, Status: status, Detail: http.StatusText(status), Local: true}
}

// says begins the text of each refusal.
const says = "Telegram says"

// call calls a method and reads its result; result may be nil. Errors: *wire.Refusal, *wire.Unread; any other
// error means that the connection failed.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	return c.within(ctx, method, params, result)
}

// within is call without its own timeout.
func (c *client) within(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = struct{}{} // "null" is not an object
	}
	req, err := wire.NewJSON(ctx, http.MethodPost, c.base+"/bot"+c.token+"/"+method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return c.do(req, method, result)
}

// post sends a request with a given content type and length, and reads the result. It is used for uploads.
func (c *client) post(ctx context.Context, method, kind string, body io.Reader, length int64, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/bot"+c.token+"/"+method, body)
	if err != nil {
		return fmt.Errorf("%s: make a request: %w", method, wire.WithoutAddress(ctx, err))
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", kind)
	return c.do(req, method, result)
}

// do makes a request and reads the result.
func (c *client) do(req *http.Request, method string, result any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, wire.WithoutAddress(req.Context(), err))
	}
	defer func() { _ = resp.Body.Close() }() // everything was read, or the rest is not needed
	if err := answer(resp, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// answer reads the envelope of an answer ("Making requests"). Telegram repeats the HTTP status as error_code.
// A refusal without an error_code comes from a proxy in between, and its text says nothing about the bot.
func answer(resp *http.Response, result any) error {
	var a struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`

		Code        int    `json:"error_code"` // same values as HTTP
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"` // seconds
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	err := wire.ReadJSON(resp.Body, maxAnswer, &a)
	switch {
	case resp.StatusCode != http.StatusOK && (err != nil || a.Code == 0):
		return bare(resp.StatusCode) // a proxy's page, or an empty body
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

// errOwnDisk reports a Bot API server that returns paths on its own disk instead of files (option --local).
var errOwnDisk = errors.New("the Bot API server keeps files on its own disk; start it without --local")

// file opens a file by its id. It retries, because the message with the file comes only once.
func (c *client) file(ctx context.Context, id string) (io.ReadCloser, error) {
	return wire.Fetch(ctx, func(ctx context.Context) (io.ReadCloser, error) { return c.fetch(ctx, id) }, func(err error) bool {
		return errors.Is(err, errOwnDisk) || wire.Final(err)
	})
}

// fetch asks for a file's path (getFile; the public server allows at most 20 MB) and opens the download.
func (c *client) fetch(ctx context.Context, id string) (io.ReadCloser, error) {
	var f struct {
		Path string `json:"file_path"`
	}
	if err := c.call(ctx, "getFile", map[string]string{"file_id": id}, &f); err != nil {
		return nil, err
	}
	// A path that leaves the download folder would send the token to another method of the server.
	if f.Path == "" || strings.HasPrefix(f.Path, "/") || path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "..") {
		return nil, errOwnDisk
	}
	at := url.URL{Path: f.Path}
	return wire.Open(ctx, c.http, c.base+"/file/bot"+c.token+"/"+at.EscapedPath(), bare)
}
