package turn

import (
	"errors"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// ErrOpenCall means that the transcript ends with a call without a result. Models refuse such a request.
var ErrOpenCall = errors.New("a call has no result yet")

// Render makes the messages of a request from a session's items, which must be ordered by seq. turn is the turn that asks.
//
// Render is append-only: with more items, the earlier messages stay the same byte for byte, so that providers can cache them.
// A result therefore follows its call only if it was committed before the session's next input and before any item of another
// turn. Otherwise the call gets the result "pending #k", and the real result appears later, at its own seq, as
// "[late result of #k]". Calls of the asking turn must have results; calls of other turns may be open.
func Render(items []llm.Item, turn int64) ([]llm.Message, error) {
	r := renderer{items: items, turn: turn, results: map[string]int{}, late: map[string]int{}, out: make([]llm.Message, 0, len(items))}
	for i, it := range items {
		if it.Kind == llm.ResultItem {
			r.results[it.CallID] = i
		}
	}
	for i := 0; i < len(items); {
		next, err := r.one(i)
		if err != nil {
			return nil, err
		}
		i = next
	}
	return r.out, nil
}

type renderer struct {
	items   []llm.Item
	turn    int64
	results map[string]int // call id → index of its result
	late    map[string]int // call id → k of its "pending #k"
	out     []llm.Message
}

// one renders the entry that starts at i and returns where the next one starts.
func (r *renderer) one(i int) (int, error) {
	it := r.items[i]
	switch it.Kind {
	case llm.Text, llm.Reasoning, llm.CallItem:
		return r.answer(i)
	case llm.ResultItem:
		if k, ok := r.late[it.CallID]; ok {
			text := fmt.Sprintf("[late result of #%d] %s", k, llm.Quoted(event.TextOf(shown(it))))
			r.say(llm.Message{Role: llm.User, Parts: event.Say(text), Step: place(it)})
		}
		return i + 1, nil
	}
	r.say(llm.Message{Role: llm.User, Envelope: it.Envelope, Parts: it.Parts, Step: place(it)})
	return i + 1, nil
}

// say appends a message. Nothing that was appended before ever changes.
func (r *renderer) say(m llm.Message) { r.out = append(r.out, m) }

// shown returns what a request shows of a result.
func shown(it llm.Item) []event.Part {
	if it.Handle != "" {
		return event.Say(it.Handle)
	}
	return it.Parts
}

// place names the step that an item comes from.
func place(it llm.Item) llm.Place { return llm.Place{Turn: it.Turn, Step: it.Step} }

// answer renders one answer of the model, its text and calls, followed by a message for each call.
func (r *renderer) answer(i int) (int, error) {
	first := r.items[i]
	m := llm.Message{Role: llm.Assistant, Step: place(first)}
	end := i
	for end < len(r.items) && sameAnswer(first, r.items[end]) {
		it := r.items[end]
		switch it.Kind {
		case llm.Text:
			m.Parts = append(m.Parts, it.Parts...)
		case llm.CallItem:
			m.Calls = append(m.Calls, llm.Call{ID: it.CallID, Name: it.Tool, Args: it.Args})
		}
		if it.Raw != nil {
			m.Raw = it.Raw
		}
		end++
	}
	if len(m.Parts) == 0 && len(m.Calls) == 0 {
		return end, nil
	}
	r.say(m)
	for _, c := range m.Calls {
		if err := r.result(c.ID, first.Turn, end); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// sameAnswer reports whether two items belong to one answer of the model: they have the same turn and step.
func sameAnswer(a, b llm.Item) bool {
	return b.Turn == a.Turn && b.Step == a.Step && (b.Kind == llm.Text || b.Kind == llm.Reasoning || b.Kind == llm.CallItem)
}

// result renders the message that follows a call of a turn. after is the index of the first item after the answer.
func (r *renderer) result(id string, turn int64, after int) error {
	border := r.border(turn, after)
	at, there := r.results[id]
	switch {
	case there && at < border:
		it := r.items[at]
		r.say(llm.Message{Role: llm.ToolRole, CallID: id, Parts: shown(it), IsError: it.IsError, Step: place(it)})
	case border < len(r.items) || turn != r.turn:
		k := len(r.late) + 1
		r.late[id] = k
		r.say(llm.Message{Role: llm.ToolRole, CallID: id, Parts: event.Say(fmt.Sprintf("pending #%d", k))})
	default:
		return fmt.Errorf("call %s: %w", id, ErrOpenCall)
	}
	return nil
}

// border returns the index of the first item from i on that is an input or belongs to another turn, len(items) for none.
func (r *renderer) border(turn int64, i int) int {
	for ; i < len(r.items); i++ {
		if r.items[i].Kind == llm.Input || r.items[i].Turn != turn {
			return i
		}
	}
	return i
}
