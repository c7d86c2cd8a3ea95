package daemon

import (
	"context"
	"errors"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/store"
)

// metered is a model whose requests belong to no turn. Each is booked before it is sent, and corrected by what it really used.
type metered struct {
	llm.Model
	store *store.Store
}

// mostInput is what the input of such a request has at most, in tokens: a sentence or two, a tool, a small picture.
const mostInput = 4000

// Answer sends one request, if the budget of the day allows it.
func (m metered) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	info := m.Info()
	if info.Local {
		return m.Model.Answer(ctx, r, delta)
	}
	out := info.MaxOutput
	if r.MaxOutput > 0 {
		out = min(out, r.MaxOutput)
	}
	charge, err := m.store.Spending.Charge(ctx, "model test", amount(info.Price.Of(llm.Usage{Input: mostInput, Output: out})))
	if errors.Is(err, turn.ErrBudget) {
		return llm.Answer{}, &llm.Error{Fault: llm.Unfunded}
	}
	if err != nil {
		return llm.Answer{}, err
	}
	answer, err := m.Model.Answer(ctx, r, delta)
	switch {
	case err == nil:
		return answer, m.store.Spending.Correct(context.WithoutCancel(ctx), charge, amount(info.Price.Of(answer.Usage)))
	case !llm.Billable(err):
		return answer, errors.Join(err, m.store.Spending.Correct(context.WithoutCancel(ctx), charge, turn.Amount{}))
	default:
		return answer, err // it may have been billed: it stays booked
	}
}

// amount is what a request has used: money where its price is known, else tokens.
func amount(u llm.Usage) turn.Amount {
	if u.Priced {
		return turn.Amount{Micros: u.Cost}
	}
	return turn.Amount{Tokens: u.Tokens()}
}
