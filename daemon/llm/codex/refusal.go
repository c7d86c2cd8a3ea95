package codex

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/wire"
	"hob/daemon/oauth"

	"golang.org/x/oauth2"
)

// reply is a failed request to the server.
type reply struct {
	fault  llm.Fault
	status int // 0: there was no response
	code   string
	words  string
	wait   time.Duration
	err    error // of the network
}

// sort classifies an error of the library. The library's text is dropped because it quotes the whole response.
func (s *server) sort(err error) reply {
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return s.answered(r)
	}
	// The request got no response.
	if u, ok := errors.AsType[*url.Error](err); ok {
		return reply{fault: llm.Network, err: u}
	}
	return reply{fault: llm.Malformed, words: "the sign-in server's answer cannot be understood"}
}

// answered classifies an error response.
func (s *server) answered(r *oauth2.RetrieveError) reply {
	out := reply{status: r.Response.StatusCode, wait: wire.RetryAfter(r.Response.Header, s.cfg.Now)}
	out.code, out.words = oauth.Said(r.Body)
	out.code, out.words = oauth.Clean(s.cfg.Redact.Text(out.code)), oauth.Clean(s.cfg.Redact.Text(out.words))
	switch code := out.status; {
	case code == http.StatusTooManyRequests:
		out.fault = llm.RateLimit
	case code >= http.StatusInternalServerError, code == http.StatusRequestTimeout, code == http.StatusConflict:
		out.fault = llm.Overloaded
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		out.fault, out.words = llm.Network, "the sign-in server redirects; is there a login page of the network in between?"
	case code == http.StatusNotFound:
		out.fault = llm.NotFound
	default:
		out.fault = llm.Auth
	}
	return out
}

// spent reports whether the refresh token is useless from now on. A plain 403 is not enough: it may come from a proxy.
func (r reply) spent() bool {
	switch r.code {
	case "invalid_grant", "refresh_token_reused", "refresh_token_expired", "refresh_token_invalidated":
		return r.fault == llm.Auth
	}
	return r.status == http.StatusUnauthorized
}

// renewal returns the error for a model call.
func (r reply) renewal() *llm.Error {
	e := &llm.Error{Fault: r.fault, Status: r.status, RetryAfter: r.wait, Text: r.text(), Err: r.err}
	switch {
	case r.fault == llm.Auth:
		e.Text = "the sign-in cannot be renewed any more (" + r.text() + "); sign in again with: " + command
	case r.status == 0 && r.err != nil:
		e.Text = "the sign-in cannot be renewed now"
	}
	return e
}

// signIn returns the error for a user whose code the server does not accept.
func (r reply) signIn() *event.Fault {
	if r.passing() {
		f := event.NewFault(event.Unavailable, "try the same address once more in a moment", "the sign-in server cannot be reached: %s", r.text())
		f.Err = r.err
		return f
	}
	return event.NewFault(event.Refused, "start again with: "+command+"; a code works once, and only for some minutes",
		"the sign-in server refuses the code: %s", r.text())
}

// passing reports whether the same request may work later.
func (r reply) passing() bool {
	return r.fault == llm.Network || r.fault == llm.Overloaded || r.fault == llm.RateLimit
}

// text returns the server's code and message, whichever it has.
func (r reply) text() string {
	var parts []string
	if r.code != "" {
		parts = append(parts, r.code)
	}
	if r.words != "" && r.words != r.code {
		parts = append(parts, r.words)
	}
	if len(parts) == 0 && r.err != nil {
		return r.err.Error()
	}
	if len(parts) == 0 {
		return "HTTP " + strconv.Itoa(r.status)
	}
	return strings.Join(parts, ": ")
}
