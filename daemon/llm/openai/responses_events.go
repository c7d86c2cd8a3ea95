package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// The kinds of output items that hob uses. Others (searches, code, …) concern only the server and are ignored.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
)

// gap separates two messages of one answer, and two parts of its reasoning.
const gap = "\n\n"

// output builds one answer from the events of a Responses stream (https://platform.openai.com/docs/api-reference/responses-streaming). An
// answer consists of items; each begins, grows by deltas, and is repeated whole at its end. Servers omit some of these events, so every
// step can create an item.
type output struct {
	delta   func(llm.Delta)
	verdict *verdict
	room    wire.Room        // for text, reasoning and arguments
	seen    map[float64]bool // sequence numbers; some servers repeat events
	items   []*outputItem    // in the order in which they began
	byIndex map[int]*outputItem
	byID    map[string]*outputItem
	spoke   bool   // the answer has text
	thought bool   // the answer has reasoning
	end     string // "completed" or why the answer is incomplete; "" until the server sends it
	usage   *responsesUsage
}

// outputItem is one item of an answer while it arrives.
type outputItem struct {
	kind    string
	id      string // of the item itself
	callID  string // of a call
	name    string // of a call
	phase   string // of a message: some models separate progress remarks from the final answer
	body    strings.Builder
	part    string // the part of the reasoning that came last
	refused bool
	whole   bool // of a call: the arguments are complete
	done    bool // the item is complete
	summary json.RawMessage
	sealed  string // encrypted reasoning
}

// streamEvent is the union of the fields of all events that hob reads.
type streamEvent struct {
	Type     string          `json:"type"`
	Sequence *float64        `json:"sequence_number"`
	Index    *int            `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Summary  int             `json:"summary_index"`
	Content  int             `json:"content_index"`
	Delta    json.RawMessage `json:"delta"`
	Args     json.RawMessage `json:"arguments"`
	Item     json.RawMessage `json:"item"`
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"`
	Status   json.RawMessage `json:"status"`      // of an error: the HTTP status that it corresponds to
	Code     json.RawMessage `json:"status_code"` // another name for the same
}

// wireItem is a complete item.
type wireItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	CallID    string      `json:"call_id"`
	Name      string      `json:"name"`
	Arguments words       `json:"arguments"`
	Phase     string      `json:"phase"`
	Content   []wirePiece `json:"content"`
	Summary   []wirePiece `json:"summary"`
	Encrypted string      `json:"encrypted_content"`
}

// wirePiece is a part of a message or of reasoning. A refusal has its text in a field of its own.
type wirePiece struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal,omitempty"`
}

// wireEnd is the response object of the last event.
type wireEnd struct {
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error  json.RawMessage           `json:"error"`
	Usage  optional[*responsesUsage] `json:"usage"`
	Output []json.RawMessage         `json:"output"`
}

// newOutput starts an answer that may have the given number of tokens.
func newOutput(delta func(llm.Delta), tokens int, v *verdict) *output {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	return &output{
		delta: delta, verdict: v, room: wire.NewRoom(tokens), seen: map[float64]bool{},
		byIndex: map[int]*outputItem{}, byID: map[string]*outputItem{},
	}
}

// Complete reports whether the server has sent the reason that the answer ended.
func (o *output) Complete() bool { return o.end != "" }

// Left returns the room of the answer.
func (o *output) Left() wire.Room { return o.room }

// ReadAll reads events until the final one or the end of the stream. It returns io.EOF for both.
func (o *output) ReadAll(in *wire.Events) error {
	for {
		name, data, err := in.Next()
		if err != nil {
			return err
		}
		if string(data) == "[DONE]" { // not part of the protocol, but some servers send it
			return drain(in)
		}
		if err := o.take(name, data); err != nil {
			return err
		}
		if o.Complete() {
			return drain(in)
		}
	}
}

// take handles one event by its type. Events that hob does not know are ignored.
func (o *output) take(name string, data []byte) error {
	var e streamEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	// Some servers name the type only in the field event of the stream.
	if e.Type == "" {
		e.Type = name
	}
	// Events have numbers; a repeated one is ignored.
	if e.Sequence != nil {
		if o.seen[*e.Sequence] {
			return nil
		}
		o.seen[*e.Sequence] = true
	}
	switch e.Type {
	case "response.output_item.added":
		return o.begin(&e)
	case "response.output_item.done":
		return o.whole(&e, e.Item)
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta",
		"response.reasoning_text.delta", "response.function_call_arguments.delta":
		return o.grow(&e)
	case "response.function_call_arguments.done":
		return o.arguments(&e)
	case "response.completed", "response.incomplete", "response.failed":
		return o.finish(e.Type, e.Response)
	case "error":
		return o.failure(&e, data)
	}
	if e.Type == "" && wire.Present(e.Error) {
		return o.failure(&e, data)
	}
	return nil
}

// decode decodes JSON; an error is llm.Malformed.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("event: %w", err)}
	}
	return nil
}

// failure handles an error event. The error object is either the event itself or its field error, next to a status.
func (o *output) failure(e *streamEvent, data []byte) error {
	status := 0
	for _, raw := range []json.RawMessage{e.Status, e.Code} {
		// A text or null in these fields is ignored.
		var n float64
		if json.Unmarshal(raw, &n) == nil && n >= 100 && n < 600 {
			status = int(n)
		}
	}
	if wire.Present(e.Error) {
		data = e.Error
	}
	return o.verdict.fault(data, status)
}

// find returns the item that an event belongs to, or nil for a new one. The index counts before the id, because some servers send another
// id with each event. Without both, it is the newest item that is not complete.
func (o *output) find(e *streamEvent, kind string) *outputItem {
	var it *outputItem
	switch {
	case e.Index != nil:
		it = o.byIndex[*e.Index]
	case e.ItemID != "":
		it = o.byID[e.ItemID]
	case len(o.items) > 0 && !o.items[len(o.items)-1].done:
		it = o.items[len(o.items)-1]
	}
	// Some servers use one index for items of different kinds; those are different items.
	if it == nil || it.kind != kind {
		return nil
	}
	return it
}

// open returns the item that an event belongs to, and creates it if necessary.
func (o *output) open(e *streamEvent, kind string) *outputItem {
	if it := o.find(e, kind); it != nil {
		return it
	}
	it := &outputItem{kind: kind, id: e.ItemID}
	o.items = append(o.items, it)
	if e.Index != nil {
		o.byIndex[*e.Index] = it
	}
	if e.ItemID != "" {
		o.byID[e.ItemID] = it
	}
	return it
}

// begin handles the start of an item: for a call, its id and the tool's name.
func (o *output) begin(e *streamEvent) error {
	w, err := known(e, e.Item)
	if w == nil {
		return err
	}
	if it := o.find(e, w.Type); it != nil && it.done && e.Index != nil {
		delete(o.byIndex, *e.Index) // some servers give the same index to every item
	}
	o.open(e, w.Type).take(w)
	return nil
}

// known decodes an item of a kind that hob uses; nil for others.
func known(e *streamEvent, raw json.RawMessage) (*wireItem, error) {
	// The type is read first: the content of an unknown kind may have any form.
	var head struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if !wire.Present(raw) {
		return nil, nil
	}
	if err := decode(raw, &head); err != nil {
		return nil, err
	}
	if head.Type != itemMessage && head.Type != itemReasoning && head.Type != itemCall {
		return nil, nil
	}
	if e.ItemID == "" {
		e.ItemID = head.ID
	}
	w := &wireItem{}
	return w, decode(raw, w)
}

// take copies the fields that the event sets.
func (it *outputItem) take(w *wireItem) {
	for _, f := range []struct {
		to   *string
		from string
	}{{&it.id, w.ID}, {&it.callID, w.CallID}, {&it.name, w.Name}, {&it.phase, w.Phase}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
}

// grow handles a delta of an item.
func (o *output) grow(e *streamEvent) error {
	piece := ""
	if wire.Present(e.Delta) {
		if err := decode(e.Delta, &piece); err != nil {
			return err
		}
	}
	kind, part := itemMessage, ""
	switch e.Type {
	case "response.reasoning_summary_text.delta":
		kind, part = itemReasoning, fmt.Sprint("summary ", e.Summary)
	case "response.reasoning_text.delta":
		kind, part = itemReasoning, fmt.Sprint("text ", e.Content)
	case "response.function_call_arguments.delta":
		kind = itemCall
	}
	// The complete item may have arrived before its last pieces.
	it := o.open(e, kind)
	if it.done || it.whole || piece == "" {
		return nil
	}
	it.refused = it.refused || e.Type == "response.refusal.delta"
	// The parts of a summary are paragraphs.
	if it.part != part && it.body.Len() > 0 {
		piece = gap + piece
	}
	it.part = part
	return o.add(it, piece)
}

// add appends a piece to an item and passes it to the listener.
func (o *output) add(it *outputItem, piece string) error {
	first := it.body.Len() == 0
	it.body.WriteString(piece)
	switch it.kind {
	case itemMessage:
		// The listener gets the same gap that join writes, so both texts are equal.
		if first && o.spoke {
			o.delta(llm.Delta{Text: gap})
		}
		o.spoke = true
		o.delta(llm.Delta{Text: piece})
	case itemReasoning:
		if first && o.thought {
			o.delta(llm.Delta{Reasoning: gap})
		}
		o.thought = true
		o.delta(llm.Delta{Reasoning: piece})
	}
	return o.room.Spend(len(piece))
}

// settle sets the final content of an item. It replaces the pieces where they differ.
func (o *output) settle(it *outputItem, whole string) error {
	got := it.body.String()
	if whole == "" || whole == got {
		return nil
	}
	// Pieces are missing at the end: the listener gets them, too.
	if rest, ok := strings.CutPrefix(whole, got); ok {
		return o.add(it, rest)
	}
	// The text differs from its pieces. The listener keeps what it has; the answer has the final text.
	it.body.Reset()
	it.body.WriteString(whole)
	return o.room.Spend(max(len(whole)-len(got), 0))
}

// arguments handles the complete arguments of a call.
func (o *output) arguments(e *streamEvent) error {
	var whole words
	if wire.Present(e.Args) {
		if err := decode(e.Args, &whole); err != nil {
			return err
		}
	}
	it := o.open(e, itemCall)
	if it.done || it.whole {
		return nil
	}
	it.whole = true
	return o.settle(it, string(whole))
}

// whole handles a complete item.
func (o *output) whole(e *streamEvent, raw json.RawMessage) error {
	w, err := known(e, raw)
	if w == nil || err != nil {
		return err
	}
	if it := o.find(e, w.Type); it != nil && it.done {
		// The same item a second time.
		if it.id == w.ID || e.Index == nil {
			return nil
		}
		delete(o.byIndex, *e.Index) // as in begin
	}
	it := o.open(e, w.Type)
	it.take(w)
	it.done, it.whole, it.sealed = true, true, w.Encrypted
	body := ""
	switch w.Type {
	case itemMessage:
		body = it.message(w)
	case itemReasoning:
		body = it.reasoning(w)
	default:
		body = string(w.Arguments)
	}
	return o.settle(it, body)
}

// message returns the text of a complete message.
func (it *outputItem) message(w *wireItem) string {
	body := ""
	for _, p := range w.Content {
		body += p.Text + p.Refusal
		it.refused = it.refused || p.Refusal != ""
	}
	return body
}

// reasoning joins the parts in the same way as their deltas, and keeps the summary for later requests.
func (it *outputItem) reasoning(w *wireItem) string {
	var parts []string
	for _, p := range append(append([]wirePiece{}, w.Summary...), w.Content...) {
		if p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	if w.Summary == nil {
		w.Summary = []wirePiece{}
	}
	it.summary = wire.JSON(w.Summary)
	return strings.Join(parts, gap)
}

// finish handles the last event. It repeats all items; these count only when the server has sent no complete item before.
func (o *output) finish(kind string, raw json.RawMessage) error {
	var w wireEnd
	if wire.Present(raw) {
		if err := decode(raw, &w); err != nil {
			return err
		}
	}
	if kind == "response.failed" {
		// A failed response is an error, even after text has arrived.
		return o.verdict.fault(w.Error, 0)
	}
	if !slices.ContainsFunc(o.items, func(it *outputItem) bool { return it.done }) {
		for i, item := range w.Output {
			if err := o.whole(&streamEvent{Index: &i}, item); err != nil {
				return err
			}
		}
	}
	o.usage, o.end = w.Usage.value, "completed"
	if kind == "response.incomplete" {
		o.end = "incomplete: " + w.Incomplete.Reason
	}
	return nil
}
