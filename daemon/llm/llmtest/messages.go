package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"hob/daemon/llm"
)

// Signed returns the signature that accompanies a reasoning in the Messages protocol.
func Signed(reasoning string) string { return fmt.Sprintf("signed %d", len(reasoning)) }

// MessagesWire returns the stream of a turn in the Messages protocol, for a request of that many bytes: the reasoning with Signed behind it,
// the text, then the calls, each a block of its own. Finish is the stop reason as sent. NoDone leaves out the last event. ZeroAt has no effect,
// and no price is reported.
func (t Turn) MessagesWire(request int) string {
	if raw := cmp.Or(t.RawMessages, t.Raw); raw != "" {
		return raw
	}
	w := &messagesWire{twice: t.Twice}
	a := completed(t.Answer, request)
	u := map[string]any{
		"input_tokens": a.Usage.Input - a.Usage.Cached - a.Usage.Written, "cache_read_input_tokens": a.Usage.Cached,
		"cache_creation_input_tokens": a.Usage.Written, "output_tokens": 1,
		"cache_creation": map[string]any{"ephemeral_5m_input_tokens": a.Usage.Written - a.Usage.Written1h, "ephemeral_1h_input_tokens": a.Usage.Written1h},
	}
	start := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []any{}, "stop_reason": nil}
	if !t.NoUsage {
		start["usage"] = u
	}
	w.send("message_start", map[string]any{"message": start})
	w.send("ping", map[string]any{})
	if a.Reasoning != "" {
		w.block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", Pieces(a.Reasoning), Signed(a.Reasoning))
	}
	if a.Text != "" {
		w.block(map[string]any{"type": "text", "text": ""}, "text_delta", "text", Pieces(a.Text), "")
	}
	for _, c := range a.Calls {
		args := string(c.Args)
		head := map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}
		w.block(head, "input_json_delta", "partial_json", []string{"", args[:len(args)/2], args[len(args)/2:]}, "")
	}
	if t.NoFinish {
		return w.b.String()
	}
	end := map[string]any{"delta": map[string]any{"stop_reason": t.stopReason(a), "stop_sequence": nil}}
	if !t.NoUsage {
		end["usage"] = map[string]any{"output_tokens": a.Usage.Output, "output_tokens_details": map[string]any{"thinking_tokens": a.Usage.Reasoning}}
	}
	w.send("message_delta", end)
	if !t.NoDone {
		w.send("message_stop", map[string]any{})
	}
	return w.b.String()
}

// stopReason returns the stop reason as sent.
func (t Turn) stopReason(a llm.Answer) string {
	switch {
	case t.Finish != "":
		return t.Finish
	case a.Finish == llm.Filtered:
		return "refusal"
	case a.Finish == llm.Length:
		return "max_tokens"
	case a.Finish == llm.ToolCall:
		return "tool_use"
	default:
		return "end_turn"
	}
}

// messagesWire writes events and counts the blocks.
type messagesWire struct {
	b     strings.Builder
	twice bool
	index int
}

// send writes an event.
func (w *messagesWire) send(kind string, fields map[string]any) {
	fields["type"] = kind
	b, err := json.Marshal(fields)
	if err != nil {
		panic("llmtest: " + err.Error()) // maps of plain values always have their JSON
	}
	times := 1
	if d, ok := fields["delta"].(map[string]any); w.twice && !(ok && d["partial_json"] != nil) {
		times = 2
	}
	for range times {
		fmt.Fprintf(&w.b, "event: %s\ndata: %s\n\n", kind, b)
	}
}

// block sends a block with its pieces, and a signature behind them if there is one.
func (w *messagesWire) block(head map[string]any, kind, field string, pieces []string, signature string) {
	delta := func(fields map[string]any) {
		w.send("content_block_delta", map[string]any{"index": w.index, "delta": fields})
	}
	w.send("content_block_start", map[string]any{"index": w.index, "content_block": head})
	for _, p := range pieces {
		delta(map[string]any{"type": kind, field: p})
	}
	if signature != "" {
		delta(map[string]any{"type": "signature_delta", "signature": signature})
	}
	w.send("content_block_stop", map[string]any{"index": w.index})
	w.index++
}

// MessagesBlock is a part of a message in the Messages protocol.
type MessagesBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

// parseMessages decodes a request of the Messages protocol into the form of Chat Completions: the system text becomes a message, calls are
// those of their message, results become messages of a tool. Thinking is only in Body.
func parseMessages(body []byte, h http.Header) (Request, error) {
	var w struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   []MessagesBlock `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content []MessagesBlock `json:"content"`
		} `json:"messages"`
		Tools []struct {
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
	for _, b := range w.System {
		r.Messages = append(r.Messages, Message{Role: "system", Content: b.Text})
	}
	for _, msg := range w.Messages {
		plain := Message{Role: msg.Role}
		for _, b := range msg.Content {
			switch b.Type {
			case "tool_result":
				text, err := textIn(b.Content)
				if err != nil {
					return Request{}, err
				}
				r.Messages = append(r.Messages, Message{Role: "tool", CallID: b.CallID, Content: text})
			case "tool_use":
				c := Call{ID: b.ID}
				c.Function.Name, c.Function.Arguments = b.Name, string(b.Input)
				plain.Calls = append(plain.Calls, c)
			case "text":
				plain.Content += b.Text
			case "image", "document":
				plain.Content += "<" + b.Type + ">"
			}
		}
		if plain.Content != "" || len(plain.Calls) > 0 {
			r.Messages = append(r.Messages, plain)
		}
	}
	return r, nil
}
