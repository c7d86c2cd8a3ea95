package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// refusal returns the error of a response with a status other than 200.
func (a *asker) refusal(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFault))
	if err != nil {
		body = nil // the status alone is enough
	}
	words, code := said(body)
	e := &llm.Error{Fault: faultOf(res.StatusCode, code, words), Status: res.StatusCode, Text: a.clean(words)}
	// Redirects are not followed (newAsker), so the error names the target.
	if to := res.Header.Get("Location"); to != "" && res.StatusCode < http.StatusBadRequest {
		e.Text = a.clean("the server redirects to " + to + "; set base_url to where it really is")
	}
	return e
}

// clean makes a server's message safe to store and show: without the key, on one line.
func (a *asker) clean(words string) string {
	if a.server.APIKey != "" {
		words = strings.ReplaceAll(words, a.server.APIKey, "[the key]")
	}
	return llm.Printable(words, maxText)
}

// explain adds the address and a hint to the error of a list. ctx is the caller's context; inner has the time limit.
func (a *asker) explain(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("list the models at %s: %w", a.base.Redacted(), context.Cause(ctx))
	}
	if errors.Is(context.Cause(inner), errSlow) {
		err = &llm.Error{Fault: llm.Idle, Err: errSlow}
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return fmt.Errorf("list the models at %s: %w", a.base.Redacted(), err)
	}
	// A missing list is usually a wrong address. Other errors may pass, or need another key.
	kind := event.Unavailable
	if e.Fault == llm.NotFound {
		kind = event.Missing
	}
	f := event.NewFault(kind, a.hint(e.Fault), "list the models at %s: %v", a.base.Redacted(), e)
	f.Err = err
	return f
}

// hint returns advice for a fault.
func (a *asker) hint(f llm.Fault) string {
	switch {
	case f == llm.Auth && a.server.Provider == codex:
		return "sign in to the account again"
	case a.server.Provider == codex && (f == llm.NotFound || f == llm.Malformed || f == llm.BadRequest):
		return "this service documents no list of models; name one that its own client offers"
	case f == llm.Auth, f == llm.Forbidden:
		return "check api_key"
	case f == llm.Payment:
		return "check the account's credit"
	case f == llm.NotFound || f == llm.Malformed || f == llm.BadRequest:
		return "base_url may be wrong: it is the part before /models, and usually ends in /v1"
	case f == llm.Network:
		return a.startHint()
	default:
		return "try again a little later"
	}
}

// startHint returns how to start a server that does not answer.
func (a *asker) startHint() string {
	switch a.server.Provider {
	case lmStudio:
		return "start its server, in LM Studio or with: lms server start"
	case ollama:
		return "start the server: ollama serve"
	case compatible:
		return "start the server, or correct base_url"
	default:
		return "check the network and base_url"
	}
}
