package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// maxCalls is the most calls that hob takes from one answer. It drops the rest and adds a note for the model.
const maxCalls = 64

// cutOff is appended to a text that ended at the output limit.
const cutOff = "\n(cut off: the answer reached its limit of tokens)"

// answered commits a complete answer. An answer with calls goes on in toolCalls.judge, so that its text, the decisions about
// all of its calls and the intent of the first call are one commit. An answer without calls ends the turn.
func (r *run) answered(ctx context.Context, a attempt, said llm.Answer) error {
	unknown := said.ReadCalls(func(name string) (json.RawMessage, bool) {
		tool, ok := r.thread.Dispatch.Set.Find(name)
		if !ok {
			return nil, false
		}
		return tool.Spec().Parameters, true
	}, func() (list []string) {
		for _, s := range r.thread.Dispatch.Set.Specs() {
			list = append(list, s.Name)
		}
		return list
	})
	// Then the answer is cut to what one turn may do; everything below sees only the rest.
	over := max(len(said.Calls)-maxCalls, 0)
	said.Calls = said.Calls[:len(said.Calls)-over]
	if said.Finish == llm.Length && !blank(said.Text) {
		said.Text += cutOff
	}
	usage := a.info.Bill(said.Usage)
	if a.shrunk {
		said.Usage = llm.Usage{} // the count is of a shorter form, so later estimates may not use it; the cost is in usage
	}
	c := turn.Commit{Items: r.answerItems(a, said)}
	c.Steps = []turn.Step{{N: a.step.N, Kind: turn.ModelStep, State: turn.StepDone, Model: a.info.Name(), Why: strings.Join(said.Repaired, "; "), Usage: usage, Started: a.step.Started, Ended: r.thread.Clock.Wall()}}
	if over > 0 {
		c.Items[len(c.Items)-1].Tokens = 0 // the provider's count includes the calls that are left out
		note := r.item(a.st, a.step.N, llm.Note, fmt.Sprintf("(%d more calls of this answer were left out: at most %d are taken at once)", over, maxCalls))
		note.Role, note.Source = llm.User, "hob"
		c.Items = append(c.Items, note)
	}
	// The notices about a switch of the model are committed with the answer, so the owner gets each of them once.
	for _, news := range a.news {
		news.To = a.info
		c.Changes = append(c.Changes, r.thread.Switched(news))
	}
	switch {
	case len(said.Calls) > 0:
		return toolCalls{r, a.st}.judge(ctx, c, a.step.N, said.Finish == llm.Length, unknown)
	case blank(said.Text):
		return r.finish(ctx, a.st, c, turn.Finish{State: turn.Failed, Why: emptyReason(said, a.info)})
	}
	// The owner must know that no model has read the message although one was asked, and why. After a restart only the steps tell that.
	if first := r.thread.Models().First().Info(); a.info.Interpreter && first.Provider != a.info.Provider && (r.instead != nil || modelAsked(a)) {
		said.Text += "\n(The built-in interpreter did this: " + r.whyNoModel() + ")"
	}
	f := turn.Finish{State: turn.Done, Text: said.Text}
	if said.Finish == llm.NotDone {
		f.Fault = "the built-in interpreter could not do this"
	}
	return r.finish(ctx, a.st, c, f)
}

// modelAsked reports whether an earlier request of the turn went to another model.
func modelAsked(a attempt) bool {
	return slices.ContainsFunc(a.st.Steps, func(s turn.Step) bool { return s.Kind == turn.ModelStep && s.Model != a.info.Name() })
}

// emptyReason explains an answer that has neither text nor calls.
func emptyReason(said llm.Answer, info llm.Info) string {
	switch said.Finish {
	case llm.Length:
		return fmt.Sprintf("the model used its whole limit of %d tokens before it said anything (raise max_output_tokens, or lower thinking)", info.MaxOutput)
	case llm.Filtered:
		return "the model refused to answer"
	}
	return "the model gave an empty answer"
}

// blank reports whether a text has no visible character. Such an answer counts as empty.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// answerItems turns an answer into transcript items. Calls get hob's own ids; the provider's ids stay in Raw.
func (r *run) answerItems(a attempt, said llm.Answer) []llm.Item {
	var items []llm.Item
	add := func(it llm.Item) {
		it.Provider, it.Model = a.info.Provider, a.info.Model
		items = append(items, it)
	}
	if said.Reasoning != "" {
		add(r.item(a.st, a.step.N, llm.Reasoning, said.Reasoning))
	}
	if !blank(said.Text) {
		add(r.item(a.st, a.step.N, llm.Text, said.Text))
	}
	// The numbers continue after the earlier calls, so that no id repeats.
	made := 0
	for _, it := range a.st.Items {
		if it.Kind == llm.CallItem {
			made++
		}
	}
	for i, call := range said.Calls {
		it := r.item(a.st, a.step.N, llm.CallItem, "")
		it.Parts, it.CallID, it.Tool, it.Args = nil, fmt.Sprintf("t%d_%d", r.id, made+i+1), call.Name, call.Args
		if !json.Valid(it.Args) { // providers refuse a request that repeats invalid JSON; the model's text is kept in Parts
			it.Parts, it.Args = event.Say(string(it.Args)), json.RawMessage("{}")
		}
		add(it)
	}
	// Raw and the token count belong to the whole answer. One item carries each, so that sums over a session count an answer once.
	if len(items) > 0 {
		items[0].Raw = said.Raw
		items[len(items)-1].Tokens = int(said.Usage.Tokens())
	}
	return items
}

// saysNothing reports whether a text is one of the tokens that mean "nothing to say".
func saysNothing(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "HEARTBEAT_OK" || text == "NO_REPLY"
}
