package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"hob/daemon/llm"
)

// Break is a way in which a stream breaks.
type Break int

// The breaks happen after Turn.At bytes of the stream.
const (
	Whole Break = iota // it does not break
	Cut                // the connection ends regularly, as if the stream was complete
	Drop               // the connection ends within a chunk
	Reset              // the connection is reset
	Hang               // nothing more is sent
)

// Turn is the server's response to one request.
type Turn struct {
	Answer llm.Answer // the content of the stream
	Finish string     // the finish reason as sent; default: derived from the answer

	Status int         // neither 0 nor 200: send this status with Header and Body instead of a stream
	Header http.Header // also of a stream
	Body   string
	Raw    string // the bytes of the stream, instead of Answer; nothing is billed

	RawMessages string // the same for the Messages protocol, where Raw is of another

	Break    Break
	At       int  // bytes sent before the break; 0 with Hang: not even the head
	NoFinish bool // no finish reason, usage and end mark
	NoUsage  bool
	NoDone   bool // no "[DONE]"
	Twice    bool // every text chunk is sent twice; in the Messages protocol every event but the pieces of calls
	ZeroAt   bool // all calls have index 0, as ollama sends them

	Hold <-chan struct{} // the head is sent when this closes
}

// Streamed returns a turn that streams an answer without faults.
func Streamed(a llm.Answer) Turn { return Turn{Answer: a} }

// Failed returns a turn with an error status and an error object with the message.
func Failed(status int, message string) Turn {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
	if err != nil {
		panic("llmtest: " + err.Error()) // a text always has its JSON
	}
	return Turn{Status: status, Body: string(body)}
}

// Wire returns the stream of a turn in Chat Completions, for a request of that many bytes.
func (t Turn) Wire(request int) string {
	if t.Raw != "" {
		return t.Raw
	}
	a := completed(t.Answer, request)
	w := &strings.Builder{}
	chunk(w, map[string]any{"role": "assistant", "content": ""}, nil)
	t.words(w, "reasoning_content", a.Reasoning)
	t.words(w, "content", a.Text)
	t.calls(w, a.Calls)
	if t.NoFinish {
		return w.String()
	}
	chunk(w, map[string]any{}, t.reason(a))
	if !t.NoUsage {
		send(w, map[string]any{"object": "chat.completion.chunk", "choices": []any{}, "usage": usage(a.Usage)})
	}
	if !t.NoDone {
		w.WriteString("data: [DONE]\n\n")
	}
	return w.String()
}

// reason returns the finish reason as sent.
func (t Turn) reason(a llm.Answer) string {
	switch {
	case t.Finish != "":
		return t.Finish
	case a.Finish == llm.Filtered:
		return "content_filter"
	default:
		return string(a.Finish)
	}
}

// words sends a text word by word, in the named field.
func (t Turn) words(w *strings.Builder, name, text string) {
	for _, piece := range Pieces(text) {
		chunk(w, map[string]any{name: piece}, nil)
		if t.Twice {
			chunk(w, map[string]any{name: piece}, nil)
		}
	}
}

// calls sends the head of each call, then its arguments in two pieces. The pieces of all calls are interleaved, unless they all have index
// 0.
func (t Turn) calls(w *strings.Builder, calls []llm.Call) {
	if t.ZeroAt {
		for _, c := range calls {
			for part := range 3 {
				callPiece(w, 0, c, part)
			}
		}
		return
	}
	for part := range 3 {
		for i, c := range calls {
			callPiece(w, i, c, part)
		}
	}
}

// callPiece sends one part of a call: 0 the head, 1 and 2 the arguments.
func callPiece(w *strings.Builder, index int, c llm.Call, part int) {
	args := string(c.Args)
	piece := map[string]any{"index": index}
	switch part {
	case 0:
		piece["id"], piece["type"] = c.ID, "function"
		piece["function"] = map[string]any{"name": c.Name, "arguments": ""}
	case 1:
		piece["function"] = map[string]any{"arguments": args[:len(args)/2]}
	default:
		piece["function"] = map[string]any{"arguments": args[len(args)/2:]}
	}
	chunk(w, map[string]any{"tool_calls": []any{piece}}, nil)
}

// usage returns the usage as sent.
func usage(u llm.Usage) map[string]any {
	m := map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.Cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
	if u.Priced {
		m["cost"] = float64(u.Cost) / 1e6
	}
	return m
}

func chunk(w *strings.Builder, delta map[string]any, finish any) {
	send(w, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

// send writes an event.
func send(w *strings.Builder, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("llmtest: " + err.Error()) // maps of plain values always have their JSON
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
}
