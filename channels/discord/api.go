package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/channels/wire"
	"hob/daemon/sys"
)

// base is the address of version 10 of the API ("API Reference").
const base = "https://discord.com/api/v10"

// Limits of a call.
const (
	callTime  = 30 * time.Second
	maxAnswer = 16 << 20 // bytes; a hundred messages are far smaller
)

// client calls the API ("API Reference"): JSON in both directions, the token in a header.
type client struct {
	token string
	http  *http.Client
	clock sys.Clock
	skew  atomic.Int64 // how far the server's clock is ahead, in nanoseconds; exact to a second
}

// refusal is the body of an error answer.
type refusal struct {
	Code    int     `json:"code"` // Discord's own code ("JSON Error Codes")
	Message string  `json:"message"`
	After   float64 `json:"retry_after"` // seconds
	Global  bool    `json:"global"`      // with 429: the limit applies to the whole bot, not to one route ("Rate Limits")
}

// error returns the refusal as an error. An answer without a message comes from a proxy, not from Discord.
func (r refusal) error(status int) *wire.Refusal {
	no := &wire.Refusal{Says: "Discord says", Status: status, After: time.Duration(r.After * float64(time.Second))}
	if r.Message != "" {
		no.Detail, no.Own, no.Local = fmt.Sprintf("%.200s, code %d", r.Message, r.Code), true, !r.Global
	}
	return no
}

// unread wraps the error of a successful answer that cannot be read.
func unread(err error) error { return &wire.Unread{Check: "not one of Discord's", Err: err} }

// call calls the API; nil parameters are left out. Errors: *wire.Refusal, *wire.Unread; any other error means
// that the connection failed.
func (c *client) call(ctx context.Context, method, path string, what, result any) error {
	req, err := wire.NewJSON(ctx, method, base+path, what)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	shown, _, _ := strings.Cut(path, "?")
	if strings.HasPrefix(path, "/interactions/") {
		shown = "/interactions" // the rest contains the interaction's token
	}
	return c.do(req, shown, result)
}

// do makes a request; errors call its path shown.
func (c *client) do(req *http.Request, shown string, result any) error {
	ctx, cancel := context.WithTimeoutCause(req.Context(), callTime, fmt.Errorf("no answer within %s", callTime))
	defer cancel()
	req = req.WithContext(ctx)
	req.Header.Set("Authorization", "Bot "+c.token)
	req.Header.Set("User-Agent", "DiscordBot (https://discord.com/developers/applications, 1)") // Discord requires a URL and a version ("User Agent")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, shown, wire.WithoutAddress(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // everything was read, or the rest is not needed
	// Find compares the times of messages with hob's own, so the difference between the clocks is kept.
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.skew.Store(int64(at.Sub(c.clock.Wall())))
	}
	if err := read(resp, c.clock.Wall(), result); err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, shown, err)
	}
	return nil
}

// read reads an answer. A limit that is not in the body may be in the Retry-After header.
func read(resp *http.Response, now time.Time, result any) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		var said refusal
		if err != nil || json.Unmarshal(body, &said) != nil || said.Message == "" {
			said = refusal{} // a proxy's page, or an empty body
		}
		no := said.error(resp.StatusCode)
		if no.After <= 0 {
			no.After = wire.After(resp.Header, now)
		}
		return no
	}
	if err == nil && result != nil {
		err = json.Unmarshal(body, result)
	}
	if err != nil {
		return unread(err)
	}
	return nil
}

// download opens a file of a message. The address is signed and needs no token; only Discord's own hosts are
// asked, because the address comes from outside.
func (c *client) download(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || u.Host != "cdn.discordapp.com" && u.Host != "media.discordapp.net" {
		return nil, errors.New("fetch a file: it is not on one of Discord's own hosts")
	}
	open := func(ctx context.Context) (io.ReadCloser, error) {
		return wire.Open(ctx, c.http, u.String(), func(status int) error {
			return refusal{Message: strings.ToLower(http.StatusText(status))}.error(status)
		})
	}
	return wire.Fetch(ctx, open, wire.Final)
}
