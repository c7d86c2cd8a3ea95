package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// refusal returns the error of a response with a status other than 200.
func (a *Asker) refusal(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFault))
	if err != nil {
		body = nil // the status alone is enough
	}
	return refused(res, body, a.Config.APIKey)
}

// explain adds the address and a hint to the error of a list. ctx is the caller's context; inner has the time limit.
func (a *Asker) explain(ctx, inner context.Context, err error) error {
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
func (a *Asker) hint(f llm.Fault) string {
	if a.Hint != nil {
		if own := a.Hint(f); own != "" {
			return own
		}
	}
	switch f {
	case llm.Auth, llm.Forbidden:
		return "check api_key"
	case llm.Payment:
		return "check the account's credit"
	case llm.NotFound, llm.Malformed, llm.BadRequest:
		return "base_url may be wrong: it is the part before /models, and usually ends in /v1"
	case llm.Network:
		return "check the network and base_url"
	default:
		return "try again a little later"
	}
}

// NoList returns the error for a body that is not a list, with the server's message if it holds one.
func (a *Asker) NoList(body []byte) error {
	words, _ := said(body)
	return &llm.Error{Fault: llm.Malformed, Text: clean("not a list of models: "+words, a.Config.APIKey)}
}
