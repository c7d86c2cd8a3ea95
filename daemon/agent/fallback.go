package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Fallback is the built-in interpreter when it answers in place of models: of those that are down, or as the owner wishes.
type Fallback struct {
	Model       llm.Model
	Understands func(text string) bool                      // reports whether the grammar matches the whole text
	First       func(ctx context.Context, text string) bool // reports whether it goes before a model that works, for a message of the owner
}

// interprets reports whether the interpreter carries out the turn although a model is set up: a plain run, what it has begun, or messages that
// go to it first. A message that joins later and is for a model ends that: the model sees what was done.
func (r modelCalls) interprets(ctx context.Context, st turn.Snapshot, chain *llm.Chain) bool {
	t := r.run.thread
	switch {
	case t.Fallback.Model == nil || chain.First().Info().Interpreter:
		return false
	case st.Turn.Plain, r.run.instead != nil && r.fellBack(st, chain):
		return true
	case r.fellBack(st, chain):
		return every(st, t.understood)
	}
	return t.first(ctx, st)
}

// first reports whether all messages of a new turn go to the interpreter first: the owner has written them in a private chat, and they have
// no attachments.
func (t *Thread) first(ctx context.Context, st turn.Snapshot) bool {
	return t.owns(st.Turn) && !slices.ContainsFunc(st.Items, func(it llm.Item) bool { return it.Kind == llm.CallItem || it.Kind == llm.Text }) &&
		every(st, func(it llm.Item) bool {
			return it.Envelope != nil && it.Envelope.Kind == event.Message && it.Envelope.Source != event.Endpoint && t.plain(ctx, it.Parts)
		})
}

// owns reports whether a turn answers the owner in a private chat, and the interpreter may go before a model there.
func (t *Thread) owns(row turn.Turn) bool {
	return t.Fallback.First != nil && row.Asker == event.Owner && !row.Guest && row.Fire == 0 && row.Parent == 0
}

// plain reports whether a message is one text that goes to the interpreter first.
func (t *Thread) plain(ctx context.Context, parts []event.Part) bool {
	return len(parts) == 1 && parts[0].Kind == event.Text && parts[0].Skill == nil && t.Fallback.First(ctx, parts[0].Text)
}

// apart returns which messages do not join a turn that a model answers: what the interpreter carries out for sure is not left to the model, and
// does not end with this turn if it is stopped.
func (r modelCalls) apart(ctx context.Context, a *attempt) func(turn.Queued) bool {
	if a.info.Interpreter || !r.run.thread.owns(a.st.Turn) {
		return nil
	}
	return func(q turn.Queued) bool { return r.run.thread.plain(ctx, q.In.Parts) }
}

// understood reports whether the interpreter's grammar matches the whole text of an input.
func (t *Thread) understood(it llm.Item) bool { return t.Fallback.Understands(event.TextOf(it.Parts)) }

// every reports whether a turn has inputs, and all of them pass a test.
func every(st turn.Snapshot, passes func(llm.Item) bool) bool {
	is := func(it llm.Item) bool { return it.Kind == llm.Input }
	return slices.ContainsFunc(st.Items, is) && !slices.ContainsFunc(st.Items, func(it llm.Item) bool { return is(it) && !passes(it) })
}

// fellBack reports whether the interpreter has already answered in this turn. It then finishes the turn.
func (r modelCalls) fellBack(st turn.Snapshot, chain *llm.Chain) bool {
	own := r.run.thread.Fallback.Model.Info().Provider
	return chain.First().Info().Provider != own && slices.ContainsFunc(st.Items, func(it llm.Item) bool { return it.Provider == own })
}

// fallBackOrFail ends the search for a model that answers. The built-in interpreter answers if its grammar matches the text;
// otherwise the turn fails.
func (r modelCalls) fallBackOrFail(ctx context.Context, st turn.Snapshot, n int, cause error) error {
	if r.mayFallBack(st) {
		r.run.instead = cause
		a := attempt{st: st, info: r.run.thread.Fallback.Model.Info(), step: turn.Step{N: n, Kind: turn.ModelStep, State: turn.StepIntent}}
		if err := r.prepare(ctx, &a); err != nil {
			return err
		}
		if answer, err := r.ask(ctx, r.run.thread.Fallback.Model, &a); err == nil {
			return r.run.answered(ctx, a, answer)
		}
	}
	r.run.thread.Log.Error("no model answered", "turn", r.run.id, "err", truncate(cause.Error(), 500))
	return r.run.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: reason(cause)})
}

// allFailed is the cause when all models failed a short time ago and are not asked again yet.
func (r modelCalls) allFailed(chain *llm.Chain) error {
	for _, m := range chain.Models() {
		if rest, ok := chain.Resting(m, r.run.thread.Clock.Wall()); ok {
			return fmt.Errorf("no model has answered lately: %s", rest.Text)
		}
	}
	return errors.New("no model has answered lately")
}

// whyNoModel is the text for the owner when the built-in interpreter answers in place of the models. A restart in the middle of the turn
// forgets the reason.
func (r *run) whyNoModel() string {
	if r.instead == nil {
		return "no model has answered"
	}
	return reason(r.instead)
}

// reason is the text for the owner when no model answered.
func reason(err error) string {
	if errors.Is(err, turn.ErrBudget) {
		return "today's budget is used up, or has no room for another request (hob budget show; to go on: hob budget set --per-day AMOUNT or --tokens-per-day N)"
	}
	text := truncate(err.Error(), 700)
	switch llm.FaultOf(err) {
	case llm.TooLarge:
		text = "the conversation is too long for the model (/new begins a new one)"
		if o, ok := errors.AsType[*oversizeError](err); ok {
			text += "; " + o.advice
		}
		return text
	case llm.Auth:
		if strings.Contains(text, "hob model login") {
			return text
		}
		return text + " (check api_key in the config; hob model test tries it)"
	case llm.NoTools:
		return text + " (hob model list shows which models call tools)"
	case llm.NotFound:
		return text + " (hob model list shows what the server has)"
	case llm.Payment:
		return text + " (the account at the provider needs money)"
	}
	return text
}

// mayFallBack reports whether the built-in interpreter may answer: only a message of the owner, not a trigger, only before
// any model has answered, and only if its grammar matches the whole text.
func (r modelCalls) mayFallBack(st turn.Snapshot) bool {
	if r.run.thread.Fallback.Model == nil || st.Turn.Asker != event.Owner || st.Turn.Fire != 0 {
		return false
	}
	text := ""
	for _, it := range st.Items {
		switch it.Kind {
		case llm.Input:
			text = event.TextOf(it.Parts)
		case llm.CallItem, llm.Text:
			return false // a model has begun the turn; the interpreter cannot continue it
		}
	}
	return r.run.thread.Fallback.Understands(text)
}
