// Package modelapi sends requests to servers that implement parts of OpenAI's API beside the chat: embeddings, transcriptions
// (https://platform.openai.com/docs/api-reference). It knows no request and no answer: packages embed and transcribe do.
//
// Server.Post sends one request and returns the body of its answer. Its errors are sentences for people that contain neither the key nor what
// was sent.
package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/daemon/agent/turn"
)

// maxWords is how much of a server's error message is kept, in characters.
const maxWords = 200

// Server is a server with such an API.
type Server struct {
	Name string       // in errors: "the embedding server"
	URL  string       // the base_url
	Key  string       // "": none is sent
	Most int64        // bytes of an answer
	HTTP *http.Client // redirects are not followed
}

// Local reports whether the server runs on this machine and therefore costs nothing.
func (s Server) Local() bool {
	u, err := url.Parse(s.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Post sends a body of length bytes and of a content type to a path below the base_url, and returns the body of the answer. An error response
// is a *Refused. Where ctx ends, the error is its cause.
func (s Server) Post(ctx context.Context, path, kind string, body io.Reader, length int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.URL, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", kind)
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	web := *s.HTTP
	web.Timeout, web.CheckRedirect = 0, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := web.Do(req)
	if err != nil {
		return nil, s.unreached(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	data, err := io.ReadAll(io.LimitReader(resp.Body, s.Most+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, s.refusal(resp, data)
	case err != nil:
		return nil, s.unreached(ctx, err)
	case int64(len(data)) > s.Most:
		return nil, fmt.Errorf("%s's answer has more than %d MB", s.Name, s.Most>>20)
	}
	return data, nil
}

// unreached explains why there is no response.
func (s Server) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s cannot be reached: %w", s.Name, err)
}

// Refused is an error response.
type Refused struct {
	Server string // its name
	Status int
	Says   string        // ": " and the server's message, on one line; "": it has none
	After  time.Duration // how long to wait, if the server says it
}

// refusal makes the error of an error response, with the server's message if it has one.
func (s Server) refusal(resp *http.Response, body []byte) *Refused {
	e := &Refused{Server: s.Name, Status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.After = time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return e // a proxy's page, or another format
	}
	line := []rune(strings.Join(strings.Fields(said.Error.Message), " "))
	e.Says = ": " + string(line[:min(len(line), maxWords)])
	return e
}

func (e *Refused) Error() string {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("%s does not accept the key (HTTP %d)", e.Server, e.Status)
	case http.StatusPaymentRequired:
		return e.Server + " wants to be paid (HTTP 402)" + e.Says
	case http.StatusNotFound:
		return e.Server + " has no such address or model (HTTP 404)" + e.Says
	case http.StatusRequestEntityTooLarge:
		return e.Server + " does not accept requests of this size (HTTP 413)"
	case http.StatusTooManyRequests:
		return e.Server + " accepts no more requests at the moment (HTTP 429)"
	}
	return fmt.Sprintf("%s answers with HTTP %d%s", e.Server, e.Status, e.Says)
}

// Again reports whether a later request may work.
func (e *Refused) Again() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status >= http.StatusInternalServerError
}

// Key resolves the reference to the key of a section of the config; "": no key.
func Key(ctx context.Context, resolve func(ctx context.Context, name, ref string) (string, error), section, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	key, err := resolve(ctx, section+".api_key", ref)
	if err != nil {
		return "", fmt.Errorf("the key of [%s] cannot be read (hob doctor)", section)
	}
	return key, nil
}

// Reserve reserves the highest possible cost of a request before it is made. It returns turn.ErrBudget if a cap does not allow it. The
// returned function replaces the reserved amount by the amount really used.
type Reserve func(ctx context.Context, most turn.Amount) (correct func(ctx context.Context, used turn.Amount) error, err error)
