package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"hob/daemon/llm"
)

// The kinds of output items that hob knows; others (searches, code, …) are the server's own affair and are passed over.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
)

// gap stands between two messages of one answer, and between two parts of its reasoning.
const gap = "\n\n"

// output puts the events of one answer together (https://platform.openai.com/docs/api-reference/responses-streaming).
type output struct {
	delta   func(llm.Delta)
	verdict *verdict
	room    int              // bytes of text, reasoning and arguments that may still come
	seen    map[float64]bool // sequence numbers
	items   []*outputItem    // in the order in which they began
	byIndex map[int]*outputItem
	byID    map[string]*outputItem
	spoke   bool   // there is text
	thought bool   // there is reasoning
	end     string // "completed", or why the answer is incomplete; "" until the server has said it
	usage   *responsesUsage
}

type outputItem struct {
	kind    string
	id      string // the item's own
	callID  string // of a call
	name    string // of a call
	phase   string // of a message: some models tell what they say underway from what they say at last
	body    strings.Builder
	part    string // which part of the reasoning came last
	refused bool
	whole   bool // of a call: its arguments are complete
	done    bool // nothing more comes
	summary json.RawMessage
	sealed  string // encrypted reasoning
}

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
	Status   json.RawMessage `json:"status"`      // of an error: the HTTP status that it would have had
	Code     json.RawMessage `json:"status_code"` // the same under another name
}

// wireItem is a whole item.
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

type wirePiece struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal,omitempty"`
}

// wireEnd is the response as the last event tells it.
type wireEnd struct {
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error  json.RawMessage   `json:"error"`
	Usage  *responsesUsage   `json:"usage"`
	Output []json.RawMessage `json:"output"`
}

// An answer of more bytes per token of its limit than any tokenizer makes does not end by itself.
const (
	mostPerToken = 32
	leastRoom    = 1 << 20
)

// newOutput makes the assembly of an answer of so many tokens at most.
func newOutput(delta func(llm.Delta), tokens int, v *verdict) *output {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	return &output{
		delta: delta, verdict: v, room: max(min(tokens, maxBody)*mostPerToken, leastRoom), seen: map[float64]bool{},
		byIndex: map[int]*outputItem{}, byID: map[string]*outputItem{},
	}
}

// Complete reports whether the server has said that, and why, the answer ended.
func (o *output) Complete() bool { return o.end != "" }

// ReadAll takes events until the last one, or to the end of the stream, which is io.EOF.
func (o *output) ReadAll(in *events) error {
	for {
		name, data, err := in.Next()
		if err != nil {
			return err
		}
		if string(data) == "[DONE]" { // not the protocol's, but some servers' habit
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

func (o *output) take(name string, data []byte) error {
	var e streamEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	if e.Type == "" {
		e.Type = name
	}
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
	if e.Type == "" && present(e.Error) {
		return o.failure(&e, data)
	}
	return nil
}

// decode reads a piece of JSON; what does not fit is malformed.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("event: %w", err)}
	}
	return nil
}

// failure reads an error event: the error object is the event itself, or in it beside a status.
func (o *output) failure(e *streamEvent, data []byte) error {
	status := 0
	for _, raw := range []json.RawMessage{e.Status, e.Code} {
		var n float64
		if json.Unmarshal(raw, &n) == nil && n >= 100 && n < 600 {
			status = int(n)
		}
	}
	if present(e.Error) {
		data = e.Error
	}
	return o.verdict.fault(data, status)
}

// find returns the item that an event is about; nil when there is none yet. Where there is an index it alone counts: some
// servers give one item another id in each event. Where there is neither, it is the newest that is not done.
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
	if it == nil || it.kind != kind {
		return nil
	}
	return it
}

// open returns the item that an event is about, or begins it.
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

// begin takes the head of an item: for a call, its id and the name of its tool.
func (o *output) begin(e *streamEvent) error {
	w, err := known(e, e.Item)
	if w == nil {
		return err
	}
	if it := o.find(e, w.Type); it != nil && it.done && e.Index != nil {
		delete(o.byIndex, *e.Index) // the next item under an index that the server gives to all
	}
	o.open(e, w.Type).take(w)
	return nil
}

// known decodes an item of a kind that hob knows; nil when it is of another.
func known(e *streamEvent, raw json.RawMessage) (*wireItem, error) {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if !present(raw) {
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

// grow takes a piece of an item.
func (o *output) grow(e *streamEvent) error {
	piece := ""
	if present(e.Delta) {
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
	it := o.open(e, kind)
	if it.done || it.whole || piece == "" {
		return nil
	}
	it.refused = it.refused || e.Type == "response.refusal.delta"
	if it.part != part && it.body.Len() > 0 {
		piece = gap + piece
	}
	it.part = part
	return o.add(it, piece)
}

// add writes a piece to an item, and tells the listener.
func (o *output) add(it *outputItem, piece string) error {
	first := it.body.Len() == 0
	it.body.WriteString(piece)
	switch it.kind {
	case itemMessage:
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
	return o.spend(len(piece))
}

func (o *output) spend(n int) error {
	o.room -= n
	if o.room < 0 {
		return &llm.Error{Fault: llm.Endless, Text: "the answer is far longer than its limit"}
	}
	return nil
}

// settle gives an item the whole of what its pieces were; where it differs from them, it is right.
func (o *output) settle(it *outputItem, whole string) error {
	got := it.body.String()
	if whole == "" || whole == got {
		return nil
	}
	if rest, ok := strings.CutPrefix(whole, got); ok {
		return o.add(it, rest)
	}
	it.body.Reset()
	it.body.WriteString(whole)
	return o.spend(max(len(whole)-len(got), 0))
}

func (o *output) arguments(e *streamEvent) error {
	var whole words
	if present(e.Args) {
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

// whole takes a complete item.
func (o *output) whole(e *streamEvent, raw json.RawMessage) error {
	w, err := known(e, raw)
	if w == nil || err != nil {
		return err
	}
	if it := o.find(e, w.Type); it != nil && it.done {
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
		body, err = it.reasoning(w)
		if err != nil {
			return err
		}
	default:
		body = string(w.Arguments)
	}
	return o.settle(it, body)
}

func (it *outputItem) message(w *wireItem) string {
	body := ""
	for _, p := range w.Content {
		body += p.Text + p.Refusal
		it.refused = it.refused || p.Refusal != ""
	}
	return body
}

// reasoning joins the parts as their pieces are joined, and keeps the summary as it is sent again.
func (it *outputItem) reasoning(w *wireItem) (string, error) {
	var parts []string
	for _, p := range append(append([]wirePiece{}, w.Summary...), w.Content...) {
		if p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	if w.Summary == nil {
		w.Summary = []wirePiece{}
	}
	raw, err := json.Marshal(w.Summary)
	if err != nil {
		return "", fmt.Errorf("summary: %w", err) // cannot be: it has been decoded from JSON
	}
	it.summary = raw
	return strings.Join(parts, gap), nil
}

// finish takes the last event. Its copy of the items counts only for a server that has sent none of them whole.
func (o *output) finish(kind string, raw json.RawMessage) error {
	var w wireEnd
	if present(raw) {
		if err := decode(raw, &w); err != nil {
			return err
		}
	}
	if kind == "response.failed" {
		return o.verdict.fault(w.Error, 0)
	}
	if !o.anyDone() {
		for i, item := range w.Output {
			if err := o.whole(&streamEvent{Index: &i}, item); err != nil {
				return err
			}
		}
	}
	o.usage, o.end = w.Usage, "completed"
	if kind == "response.incomplete" {
		o.end = "incomplete: " + w.Incomplete.Reason
	}
	return nil
}

func (o *output) anyDone() bool {
	for _, it := range o.items {
		if it.done {
			return true
		}
	}
	return false
}
