package catalog

import (
	"context"
	"errors"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
)

// Reserve books the highest possible cost of a request before it is sent. It returns turn.ErrBudget if the budget of the day does not allow
// it. The returned function replaces that amount by the real one.
type Reserve = func(ctx context.Context, most turn.Amount) (correct func(ctx context.Context, used turn.Amount) error, err error)

// metered is a model for requests that belong to no turn. The cost of each is reserved before it is sent, and replaced by the real cost
// afterwards.
type metered struct {
	llm.Model
	reserve Reserve
}

// mostInput is the assumed number of input tokens of such a request: a few sentences, a tool, a small picture.
const mostInput = 4000

// Answer sends one request, if the budget of the day allows it.
func (m metered) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	info := m.Info()
	// A local model costs nothing, so the budget of the day does not concern it.
	if info.Local {
		return m.Model.Answer(ctx, r, delta)
	}
	out := info.MaxOutput
	if r.MaxOutput > 0 {
		out = min(out, r.MaxOutput)
	}
	// The real size is unknown before the answer, so the reservation assumes the longest input and the longest answer.
	correct, err := m.reserve(ctx, amount(llm.Usage{Input: mostInput, Output: out, Cost: info.Price.Most(mostInput, out), Priced: info.Price.Known()}))
	if errors.Is(err, turn.ErrBudget) {
		return llm.Answer{}, &llm.Error{Fault: llm.OverBudget}
	}
	if err != nil {
		return llm.Answer{}, err
	}
	answer, err := m.Model.Answer(ctx, r, delta)
	// The correction is booked even if the caller has left, because the request was made.
	switch {
	case err == nil:
		return answer, correct(context.WithoutCancel(ctx), amount(info.Price.Of(answer.Usage)))
	case !llm.Billable(err):
		return answer, errors.Join(err, correct(context.WithoutCancel(ctx), turn.Amount{}))
	default:
		return answer, err // it may have been billed, so it stays booked
	}
}

// amount is what a request has used: money if its price is known, otherwise tokens.
func amount(u llm.Usage) turn.Amount {
	if u.Priced {
		return turn.Amount{Micros: u.Cost}
	}
	return turn.Amount{Tokens: u.Tokens()}
}
