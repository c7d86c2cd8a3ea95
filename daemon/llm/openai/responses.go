package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// responses implements llm.Model over the Responses protocol (https://platform.openai.com/docs/api-reference/responses): with account
// credentials at ChatGPT's Codex backend, with a key at the public API and compatible servers.
type responses struct {
	*wire.Server
	forget atomic.Bool // the server has rejected encrypted reasoning of its own; later requests replay none
}

// Answer sends one request and reads the stream to its end. Errors of Config.Auth pass unchanged. When ctx ends, the error wraps its cause.
// Every other error is an *llm.Error.
func (m *responses) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (answer llm.Answer, err error) {
	err = m.Adapt(r, func(r llm.Request) error {
		replays := !m.forget.Load()
		sent, err := m.encode(ctx, r, replays)
		if err != nil {
			return err
		}
		var token string
		answer, token, err = m.once(ctx, r, sent, replays, delta)
		if llm.FaultOf(err) == llm.Auth && token != "" && m.Config.Rejected != nil {
			m.Config.Rejected(token) // the token was revoked early; a renewed one may work, and a rejected request costs nothing
			answer, _, err = m.once(ctx, r, sent, replays, delta)
		}
		return err
	})
	return answer, m.Cleaned(err)
}

// once sends a request with the current credentials. It also returns the token that was sent.
func (m *responses) once(ctx context.Context, r llm.Request, sent encoded, replays bool, delta func(llm.Delta)) (llm.Answer, string, error) {
	who, err := m.credentials(ctx)
	if err != nil {
		return llm.Answer{}, "", err
	}
	// Each attempt has its own verdict and its own output: nothing of a refused attempt remains.
	v := &verdict{secret: who.Token, now: m.Config.Now}
	o := newOutput(delta, m.Limit(r.MaxOutput), v)
	if err := m.Exchange(ctx, wire.Post{Path: "responses", Body: sent.body, Header: m.headers(who, sent.key), Refused: v.read}, o); err != nil {
		err = m.sort(err, v, replays)
		if sent.shows {
			err = m.AsNoImages(err)
		}
		return llm.Answer{}, who.Token, err
	}
	answer, err := m.finish(o, len(sent.body))
	return answer, who.Token, err
}

// credentials asks for the account's token.
func (m *responses) credentials(ctx context.Context) (llm.Credentials, error) {
	if m.Config.Auth == nil {
		return llm.Credentials{}, nil // the key is a header of every request
	}
	return m.Config.Auth(ctx)
}

// headers returns what the Codex backend requires besides the token: the account, the name of the client, and an id of the session. The
// backend uses the session id, and not prompt_cache_key alone, to route to the machine that has cached the prompt (openai/codex,
// codex-rs/codex-api/src/requests/headers.rs and codex-rs/core/src/client.rs).
func (m *responses) headers(who llm.Credentials, key string) http.Header {
	h := http.Header{}
	// With a key, the usual Authorization header is enough.
	if m.Config.Auth == nil {
		return h
	}
	h.Set("Authorization", "Bearer "+who.Token)
	h.Set("OpenAI-Beta", "responses=experimental")
	h.Set("originator", "hob")
	h.Set("session-id", key)
	if who.Account != "" {
		h.Set("chatgpt-account-id", who.Account)
	}
	return h
}

// staleReasoning is the code of a server that cannot decrypt its own reasoning any more, after a change of the account or of its keys.
// Unless requests leave the reasoning out, every later one of the session fails in the same way.
const staleReasoning = "invalid_encrypted_content"

// sort corrects an error by the contents of its body. The Codex backend, for example, reports a used-up allowance with status 404.
func (m *responses) sort(err error, v *verdict, replayed bool) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	status := statusOf(v.code)
	// The code in the body is more exact than the status, except after 401, which only new credentials correct.
	if status != 0 && e.Status != 0 && e.Status != http.StatusUnauthorized {
		e.Fault = wire.FaultOf(status, v.code, e.Text)
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = v.wait
	}
	// The caller retries with a request that leaves the reasoning out (forget).
	if v.code == staleReasoning {
		m.forget.Store(true)
		if !replayed {
			e.Fault = llm.BadRequest // nothing was replayed, so a retry cannot help
		}
	}
	return err
}

// statusOf returns the HTTP status that corresponds to an error code, or 0 for an unknown one. The codes come from the protocol's
// ResponseError and from the Codex backend (openai/codex, codex-rs/codex-api/src/api_bridge.rs, sse/responses.rs).
func statusOf(code string) int {
	switch code {
	case "rate_limit_exceeded", "usage_limit_reached":
		return http.StatusTooManyRequests
	case "insufficient_quota", "usage_not_included":
		return http.StatusPaymentRequired
	case "server_error", "vector_store_timeout":
		return http.StatusInternalServerError
	case "server_is_overloaded", "slow_down":
		return http.StatusServiceUnavailable
	case staleReasoning:
		return http.StatusConflict // retryable: the next request leaves the reasoning out
	case "invalid_prompt", "data_residency_mismatch", "bio_policy", "cyber_policy", "misalignment_policy_violation":
		return http.StatusBadRequest
	}
	if strings.Contains(code, "image") && code != "failed_to_download_image" { // invalid_image, image_too_large, …
		return http.StatusBadRequest
	}
	return 0
}

// verdict holds the details of an error beyond its status and text. They come from a refused request or from an error event.
type verdict struct {
	secret string           // the token; removed from every error
	now    func() time.Time // wall time
	code   string           // "" without a code
	wait   time.Duration    // time until the limit is lifted; 0 if unknown
}

// read inspects the body of a refused request, and returns it without the token.
func (v *verdict) read(body []byte) []byte {
	body = v.hide(body)
	var shape struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &shape) == nil && wire.Present(shape.Error) {
		v.judge(shape.Error)
	}
	return body
}

// hide removes the token from a text: some servers echo it.
func (v *verdict) hide(text []byte) []byte {
	if v.secret == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(v.secret), []byte("[the token]"))
}

// judge decodes an error object: {"code" or "type", "message", "resets_in_seconds", "resets_at": Unix seconds}.
func (v *verdict) judge(raw json.RawMessage) (words string, status int) {
	words, v.code, status = wire.SaidIn(raw)
	var shape struct {
		In float64 `json:"resets_in_seconds"`
		At float64 `json:"resets_at"`
	}
	switch {
	case json.Unmarshal(raw, &shape) != nil:
	case shape.In > 0:
		v.wait = wire.Span(shape.In)
	case shape.At > 0:
		v.wait = wire.Span(shape.At - float64(v.now().Unix()))
	}
	if v.wait == 0 && v.code == "rate_limit_exceeded" {
		v.wait = waitIn(words)
	}
	return words, status
}

// fault returns the error for an error object in the stream. A status that follows from the object is better than the given one.
func (v *verdict) fault(raw json.RawMessage, status int) *llm.Error {
	if !wire.Present(raw) {
		return &llm.Error{Fault: llm.Broken, Text: "the server broke off the answer and does not say why"}
	}
	words, own := v.judge(v.hide(raw))
	// The code is the most exact, then the status in the object, then that of the event.
	for _, better := range []int{own, statusOf(v.code)} {
		if better != 0 {
			status = better
		}
	}
	e := &llm.Error{Fault: llm.Broken, Text: words}
	switch {
	case status >= http.StatusBadRequest:
		e.Fault = wire.FaultOf(status, v.code, words)
	case wire.Overflows(0, v.code, words):
		e.Fault = llm.TooLarge
	}
	return e
}

// waitIn finds the wait in an error's text: "try again in 1.5s", "… in 20ms", "… in 6m0s" or "… in 35 seconds". A stream has no Retry-After
// header.
func waitIn(words string) time.Duration {
	_, rest, _ := strings.Cut(strings.ToLower(words), "try again in ")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	// The wait may end the sentence.
	first := strings.TrimRight(fields[0], ".,;")
	if d, err := time.ParseDuration(first); err == nil {
		return wire.Span(d.Seconds())
	}
	n, err := strconv.ParseFloat(first, 64)
	if err != nil || len(fields) < 2 || !strings.HasPrefix(fields[1], "second") {
		return 0
	}
	return wire.Span(n)
}
