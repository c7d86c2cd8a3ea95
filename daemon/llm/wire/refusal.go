package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hob/daemon/llm"
)

const (
	maxText       = 500            // stored length of a server's message, in characters
	maxRetryAfter = 24 * time.Hour // longest Retry-After that is believed

	checkURL = "; check base_url" // after a web page
)

// refusal returns the error of a response with a status other than 200.
func (s *Server) refusal(ctx, inner context.Context, res *http.Response, p Post) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFault))
	// If only the body was cut off, the status is enough.
	if err != nil && ctx.Err() != nil {
		return s.fault(ctx, inner, llm.Network, err)
	}
	if p.Refused != nil {
		body = p.Refused(body)
	}
	e := refused(res, body, s.Config.APIKey)
	e.RetryAfter = RetryAfter(res.Header, s.Config.Now)
	if page(body) && res.StatusCode < http.StatusInternalServerError {
		e.Text += checkURL
	}
	if err != nil {
		return e // its numbers may be cut off
	}
	return s.learn(e, body, p.Body)
}

// refused returns the error of a response with a status other than 200, without the key. No redirect is followed, so the error names its
// target.
func refused(res *http.Response, body []byte, key string) *llm.Error {
	words, code := said(body)
	e := &llm.Error{Fault: FaultOf(res.StatusCode, code, words), Status: res.StatusCode, Text: clean(words, key)}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode < http.StatusBadRequest {
		e.Text = clean("the server redirects to "+to+"; set base_url to where it really is", key)
	}
	return e
}

// FaultOf classifies an HTTP status, or the status inside an error event. code and words come from the same error.
func FaultOf(status int, code, words string) llm.Fault {
	// This comes first, because servers report an overflow with different statuses.
	if Overflows(status, code, words) {
		return llm.TooLarge
	}
	switch {
	case refusesTools(status, words):
		return llm.NoTools
	case status == http.StatusUnauthorized:
		return llm.Auth
	case status == http.StatusForbidden:
		return llm.Forbidden
	case status == http.StatusPaymentRequired, code == "insufficient_quota":
		return llm.Payment
	case status == http.StatusTooManyRequests:
		return llm.RateLimit
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status >= http.StatusInternalServerError:
		return llm.Overloaded
	// hob follows no redirect, so a redirect means a wrong address.
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest || status == http.StatusNotFound:
		return llm.NotFound
	case status >= http.StatusBadRequest:
		return llm.BadRequest
	default:
		return llm.Malformed
	}
}

// Overflows reports whether the request exceeded the model's context. The protocol has no status for this, so it looks for each server's
// code or message.
func Overflows(status int, code, words string) bool {
	// 413 always means this; with the other three the size is not the reason, whatever the text says.
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return false
	}
	switch code {
	case "context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length":
		return true
	}
	words = strings.ToLower(words)
	if status == http.StatusTooManyRequests { // here "too many tokens" means a rate limit, which ends by waiting
		return strings.Contains(words, "request too large for")
	}
	return has(words, []string{ // phrases of real errors
		"context_length_exceeded", "exceed_context_size",
		"maximum context length", "context length exceeded", "exceeds the context length", "exceeds context length",
		"context window", "context size", "available context", "greater than the context length",
		"prompt is too long", "prompt too long", "input is too long", "input length and", "request too large for",
		"reduce the length of the messages", "token count exceeds", "exceeds the maximum number of tokens",
		"too many tokens", "too large for model",
	})
}

// refusesTools reports whether a server takes no tools for this model, or was started without what they need.
func refusesTools(status int, words string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	return has(folded(words), []string{
		"not support tools", "not support tool call", "not support tool use", "not support function call", "no endpoints found that support tool use",
		"tools are not supported", "tools is not supported", "`tool calling` is not supported", "tool calling is not supported", "tool use is not supported",
		"function calling is not supported", "function calling is not enabled", "is not supported for function calling",
		"requires --enable-auto-tool-choice", "tools param requires --jinja",
	})
}

// folded returns words in lower case and without short forms.
func folded(words string) string {
	return strings.NewReplacer("n't ", " not ", "n’t ", " not ").Replace(strings.ToLower(words))
}

// said returns the message and the code of an error's body: JSON in one of the usual shapes, or plain text.
func said(body []byte) (words, code string) {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return plain(body), ""
	}
	switch {
	case Present(shape.Error):
		words, code, _ = SaidIn(shape.Error)
		return words, code
	case shape.Message != "":
		return shape.Message, ""
	// The form of servers that are built with FastAPI.
	case Present(shape.Detail):
		return TextOr(shape.Detail), ""
	default:
		return plain(body), ""
	}
}

// SaidIn decodes an error object: {"message", "type", "code": text or number, "metadata": {"raw"}}, or just a text. metadata.raw is
// OpenRouter's copy of the upstream error.
func SaidIn(raw json.RawMessage) (words, code string, status int) {
	var shape struct {
		Message  string          `json:"message"`
		Type     string          `json:"type"`
		Code     json.RawMessage `json:"code"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &shape) != nil {
		return TextOr(raw), "", 0
	}
	words, code = shape.Message, shape.Type
	if Present(shape.Code) {
		code = TextOr(shape.Code)
	}
	// Some servers put the HTTP status of another server into the code.
	if n, err := strconv.Atoi(code); err == nil && n >= 100 && n < 600 {
		status = n
	}
	// OpenRouter passes on the message of the model's own server.
	if Present(shape.Metadata.Raw) {
		words += ": " + TextOr(shape.Metadata.Raw)
	}
	if words == "" {
		words = string(raw)
	}
	return words, code, status
}

// StreamError returns the error for an error object in the stream of a response with status 200.
func StreamError(raw json.RawMessage) *llm.Error {
	return CodedError(raw, func(string) int { return 0 })
}

// CodedError is StreamError for a protocol whose codes mean a status; statusOf returns it, or 0.
func CodedError(raw json.RawMessage, statusOf func(code string) int) *llm.Error {
	words, code, status := SaidIn(raw)
	status = cmp.Or(statusOf(code), status)
	// The response itself had status 200, so the error's own status counts, if it has one.
	fault := llm.Broken
	switch {
	case status != 0:
		fault = FaultOf(status, code, words)
	case Overflows(0, code, words):
		fault = llm.TooLarge
	}
	return &llm.Error{Fault: fault, Text: words}
}

// Present reports whether a field of an object exists and is not null.
func Present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// TextOr returns the text of a JSON string, or the JSON itself.
func TextOr(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// plain returns a body as text for an error; a web page is only named.
func plain(body []byte) string {
	if page(body) {
		return "a web page came instead of an answer"
	}
	return strings.TrimSpace(string(body))
}

// page reports whether a body is a web page: it begins with a tag.
func page(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// Cleaned applies clean to the text of any *llm.Error.
func (s *Server) Cleaned(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Text = s.clean(e.Text)
	}
	return err
}

// clean is the function clean with the server's key.
func (s *Server) clean(words string) string { return clean(words, s.Config.APIKey) }

// clean makes a server's message safe to store and show: short, on one line, without the key. The key is removed before the text is cut, so
// that no part of it stays at the end.
func clean(words, key string) string {
	if key != "" {
		words = strings.ReplaceAll(words, key, "[the key]")
	}
	return llm.Printable(words, maxText)
}

// RetryAfter reads Retry-After in seconds or as a date (RFC 9110, section 10.2.3), or its variant in milliseconds. A date is compared with
// the server's own Date, so that a wrong local clock does no harm.
func RetryAfter(h http.Header, now func() time.Time) time.Duration {
	// Some servers send milliseconds in addition. They are more exact than the standard's seconds.
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return Span(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return Span(s)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	base, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		base = now()
	}
	return min(max(at.Sub(base), 0), maxRetryAfter)
}

// Span converts seconds to a wait between 0 and one day.
func Span(seconds float64) time.Duration {
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
