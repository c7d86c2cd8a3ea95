package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Fallback is the built-in interpreter in its second role.
type Fallback struct {
	Model       llm.Model
	Understands func(text string) bool // a full match of its grammar
}

// fellBack reports whether the interpreter has taken over this turn.
func (r modelCalls) fellBack(st turn.State, chain *llm.Chain) bool {
	if r.Fallback.Model == nil {
		return false
	}
	own := r.Fallback.Model.Info().Provider
	return chain.First().Info().Provider != own && slices.ContainsFunc(st.Items, func(it llm.Item) bool { return it.Provider == own })
}

// down is the end when no model answered, or one has failed and the built-in interpreter can do it: the built-in interpreter answers what it fully understands, else the turn fails.
func (r modelCalls) fallBackOrFail(ctx context.Context, st turn.State, n int, cause error) error {
	if r.mayFallBack(st) {
		a := attempt{st: st, info: r.Fallback.Model.Info(), step: turn.Step{N: n, Kind: turn.ModelStep, State: turn.Intent}}
		if err := r.prepare(ctx, &a); err != nil {
			return err
		}
		if answer, err := r.ask(ctx, r.Fallback.Model, &a); err == nil {
			return r.answered(ctx, a, answer)
		}
	}
	r.Log.Error("no model answered", "turn", r.id, "err", cut(cause.Error(), 500))
	return r.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: reason(cause)})
}

// errTired stands for models that have all failed a moment ago.
var errAllFailed = errors.New("no model has answered lately")

// reason is what the owner reads when no model answered.
func reason(err error) string {
	if errors.Is(err, turn.ErrBudget) {
		return "today's budget is used up, or has no room for another request (hob budget show; to go on: hob budget set --per-day AMOUNT or --tokens-per-day N)"
	}
	text := cut(err.Error(), 700)
	switch llm.FaultOf(err) {
	case llm.TooLarge:
		return "the conversation is too long for the model (/new begins a new one)"
	case llm.Auth:
		if strings.Contains(text, "hob model login") {
			return text
		}
		return text + " (check api_key in the config; hob model test tries it)"
	case llm.NotFound:
		return text + " (hob model list shows what the server has)"
	case llm.Payment:
		return text + " (the account at the provider needs money)"
	default:
		return text
	}
}

// mayFallBack is true for the owner's own chat, at the first step, with a full match of the grammar.
func (r modelCalls) mayFallBack(st turn.State) bool {
	if r.Fallback.Model == nil || st.Turn.Asker != event.Owner || st.Turn.Fire != 0 {
		return false
	}
	text := ""
	for _, it := range st.Items {
		switch it.Kind {
		case llm.Input:
			text = event.TextOf(it.Parts)
		case llm.CallItem, llm.Text:
			return false // a model began this: it is not for the interpreter to go on
		}
	}
	return r.Fallback.Understands(text)
}
