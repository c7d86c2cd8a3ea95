package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"hob/daemon/llm"
)

// Sealed returns the encrypted reasoning that accompanies a reasoning in the Responses protocol.
func Sealed(reasoning string) string { return fmt.Sprintf("sealed %d", len(reasoning)) }

// ResponsesWire returns the stream of a turn in the Responses protocol, for a request of that many bytes. It sends the reasoning first, as
// a summary with Sealed beside it, then the text, then the calls with interleaved pieces. Finish is the reason of an incomplete answer
// there, "failed" makes the response fail. Twice repeats events with their numbers. NoDone and ZeroAt have no effect, and no price is
// reported.
func (t Turn) ResponsesWire(request int) string {
	if t.Raw != "" {
		return t.Raw
	}
	w := &responsesWire{twice: t.Twice}
	a := completed(t.Answer, request)
	w.send("response.created", map[string]any{"response": map[string]any{"id": "resp_1", "status": "in_progress"}})
	if a.Reasoning != "" {
		w.reasoning(a.Reasoning)
	}
	if a.Text != "" {
		w.message(a)
	}
	w.calls(a.Calls)
	if !t.NoFinish {
		w.end(t, a)
	}
	return w.b.String()
}

// responsesWire writes events and numbers them.
type responsesWire struct {
	b      strings.Builder
	twice  bool
	number int
	index  int // of the next item
}

// send writes an event with the next number.
func (w *responsesWire) send(kind string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = kind, w.number
	w.number++
	b, err := json.Marshal(fields)
	if err != nil {
		panic("llmtest: " + err.Error()) // maps of plain values always have their JSON
	}
	times := 1
	if w.twice {
		times = 2
	}
	for range times {
		fmt.Fprintf(&w.b, "event: %s\ndata: %s\n\n", kind, b)
	}
}

// item sends the event that begins or ends an output item.
func (w *responsesWire) item(part string, index int, fields map[string]any) {
	w.send("response.output_item."+part, map[string]any{"output_index": index, "item": fields})
}

// pieces sends a text word by word, as deltas of the current item.
func (w *responsesWire) pieces(kind, id, text string) {
	for _, p := range Pieces(text) {
		w.send(kind, map[string]any{"output_index": w.index, "item_id": id, "summary_index": 0, "content_index": 0, "delta": p})
	}
}

// reasoning sends a reasoning item with its summary.
func (w *responsesWire) reasoning(text string) {
	id := fmt.Sprintf("rs_%d", w.index)
	w.item("added", w.index, map[string]any{"type": "reasoning", "id": id, "summary": []any{}})
	w.pieces("response.reasoning_summary_text.delta", id, text)
	w.item("done", w.index, map[string]any{
		"type": "reasoning", "id": id, "encrypted_content": Sealed(text),
		"summary": []any{map[string]any{"type": "summary_text", "text": text}},
	})
	w.index++
}

// message sends the item with the text; a filtered answer is a refusal.
func (w *responsesWire) message(a llm.Answer) {
	id := fmt.Sprintf("msg_%d", w.index)
	kind, field := "output_text", "text"
	if a.Finish == llm.Filtered {
		kind, field = "refusal", "refusal"
	}
	w.item("added", w.index, map[string]any{"type": "message", "id": id, "role": "assistant", "content": []any{}})
	w.pieces("response."+kind+".delta", id, a.Text)
	w.item("done", w.index, map[string]any{
		"type": "message", "id": id, "role": "assistant", "content": []any{map[string]any{"type": kind, field: a.Text}},
	})
	w.index++
}

// calls sends the head of each call, then its arguments in two pieces, then the complete call.
func (w *responsesWire) calls(calls []llm.Call) {
	for part := range 4 {
		for i, c := range calls {
			w.call(part, w.index+i, c)
		}
	}
	w.index += len(calls)
}

// call sends one part of a call: 0 the head, 1 and 2 the arguments, 3 the end.
func (w *responsesWire) call(part, index int, c llm.Call) {
	args, id := string(c.Args), fmt.Sprintf("fc_%d", index)
	item := map[string]any{"type": "function_call", "id": id, "call_id": c.ID, "name": c.Name, "arguments": ""}
	switch part {
	case 0:
		w.item("added", index, item)
	case 1, 2:
		piece := args[:len(args)/2]
		if part == 2 {
			piece = args[len(args)/2:]
		}
		w.send("response.function_call_arguments.delta", map[string]any{"output_index": index, "item_id": id, "delta": piece})
	default:
		w.send("response.function_call_arguments.done", map[string]any{"output_index": index, "item_id": id, "arguments": args})
		item["arguments"] = args
		w.item("done", index, item)
	}
}

// end sends the last event, which reports the outcome and the usage.
func (w *responsesWire) end(t Turn, a llm.Answer) {
	reason := t.Finish
	if reason == "" && a.Finish == llm.Length {
		reason = "max_output_tokens"
	}
	kind, response := "completed", map[string]any{"id": "resp_1"}
	switch reason {
	case "":
	case "failed":
		kind, response["error"] = reason, map[string]any{"code": "server_error", "message": "it failed"}
	default:
		kind, response["incomplete_details"] = "incomplete", map[string]any{"reason": reason}
	}
	response["status"] = kind
	if !t.NoUsage && kind != "failed" {
		response["usage"] = map[string]any{
			"input_tokens": a.Usage.Input, "input_tokens_details": map[string]any{"cached_tokens": a.Usage.Cached},
			"output_tokens": a.Usage.Output, "output_tokens_details": map[string]any{"reasoning_tokens": a.Usage.Reasoning},
			"total_tokens": a.Usage.Input + a.Usage.Output,
		}
	}
	w.send("response."+kind, map[string]any{"response": response})
}

// inputItem is an item of a request's input.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// parseResponses decodes a request of the Responses protocol into the form of Chat Completions: the instructions become a system message,
// calls messages of the assistant, results messages of a tool. Reasoning is only in Body.
func parseResponses(body []byte, h http.Header) (Request, error) {
	var w struct {
		Model        string      `json:"model"`
		Stream       bool        `json:"stream"`
		Instructions string      `json:"instructions"`
		Input        []inputItem `json:"input"`
		Tools        []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	if !w.Stream {
		return Request{}, fmt.Errorf("request: only streams are served, stream is %v", w.Stream)
	}
	r := Request{Body: body, Header: h.Clone(), Model: w.Model}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if w.Instructions != "" {
		r.Messages = append(r.Messages, Message{Role: "system", Content: w.Instructions})
	}
	for _, it := range w.Input {
		m, ok, err := it.message()
		if err != nil {
			return Request{}, err
		}
		if ok {
			r.Messages = append(r.Messages, m)
		}
	}
	return r, nil
}

// message converts an item; ok is false for an item that has no counterpart.
func (it inputItem) message() (Message, bool, error) {
	switch it.Type {
	case "message", "":
		text, err := textIn(it.Content)
		return Message{Role: it.Role, Content: text}, true, err
	case "function_call_output":
		text, err := textIn(it.Output)
		return Message{Role: "tool", Content: text, CallID: it.CallID}, true, err
	case "function_call":
		c := Call{ID: it.CallID}
		c.Function.Name, c.Function.Arguments = it.Name, it.Arguments
		return Message{Role: "assistant", Calls: []Call{c}}, true, nil
	default:
		return Message{}, false, nil
	}
}

// textIn returns a text, or the joined texts of a list of parts.
func textIn(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content %s: %w", raw, err)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}
