package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// responsesUsage is the token count of one request.
type responsesUsage struct {
	Input   float64 `json:"input_tokens"`
	Output  float64 `json:"output_tokens"`
	InputOf struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputOf struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// finish turns a complete stream into the answer. sent is the size of the request in bytes.
func (m *responses) finish(o *output, sent int) (llm.Answer, error) {
	calls, err := o.calls()
	if err != nil {
		return llm.Answer{}, err
	}
	reason, err := o.reason(len(calls))
	if err != nil {
		return llm.Answer{}, err
	}
	out := llm.Answer{Text: o.join(itemMessage), Reasoning: o.join(itemReasoning), Calls: calls, Finish: reason}
	w := cmp.Or(o.usage, &responsesUsage{})
	out.Usage = m.Usage(wire.Counts{Input: w.Input, Output: w.Output, Cached: w.InputOf.Cached, Reasoning: w.OutputOf.Reasoning}, out, sent)
	out.Raw = m.keep(o)
	return out, nil
}

// join returns the texts of all items of a kind.
func (o *output) join(kind string) string {
	var texts []string
	for _, it := range o.items {
		if it.kind == kind && it.body.Len() > 0 {
			texts = append(texts, it.body.String())
		}
	}
	return strings.Join(texts, gap)
}

// reason translates the end of the response into a finish reason.
func (o *output) reason(calls int) (llm.Finish, error) {
	refused := false
	for _, it := range o.items {
		refused = refused || it.refused
	}
	switch {
	// The reasons are those of incomplete_details in the protocol.
	case o.end == "incomplete: max_output_tokens":
		return llm.Length, nil
	case refused || o.end == "incomplete: content_filter":
		return llm.Filtered, nil
	case o.end != "completed":
		return "", &llm.Error{Fault: llm.Broken, Text: "the server ended the answer: " + o.end}
	case calls > 0:
		return llm.ToolCall, nil
	default:
		return llm.Stop, nil
	}
}

// calls returns the calls in their order. A call that was cut off with an incomplete answer is dropped: its arguments miss a part.
func (o *output) calls() ([]llm.Call, error) {
	var out wire.Calls
	for i, it := range o.items {
		if !o.made(it) {
			continue
		}
		if err := out.Add(i+1, it.callID, it.name, strings.TrimSpace(it.body.String())); err != nil {
			return nil, err
		}
	}
	return out.List, nil
}

// made reports whether an item is a complete call.
func (o *output) made(it *outputItem) bool {
	return it.kind == itemCall && (it.whole || o.end == "completed")
}

// keptOutput is the provider data of an answer that later requests send back: its items in their order.
type keptOutput struct {
	wire.Author
	Output []keptItem `json:"output"`
}

// keptItem holds encrypted reasoning. For a message or a call it holds only the position, because the transcript has the content.
type keptItem struct {
	Type      string          `json:"type"`
	Phase     string          `json:"phase,omitempty"`
	Summary   json.RawMessage `json:"summary,omitempty"`
	Encrypted string          `json:"encrypted_content,omitempty"`
}

// keep collects the provider data; nil when the transcript alone is enough.
func (m *responses) keep(o *output) json.RawMessage {
	k := keptOutput{Author: m.Author()}
	needed := false
	for _, it := range o.items {
		item := keptItem{Type: it.kind, Phase: it.phase}
		switch {
		// Reasoning that is not encrypted cannot be sent back, and a dropped call has no place in the transcript.
		case it.kind == itemReasoning && it.sealed == "", it.kind == itemCall && !o.made(it):
			continue
		case it.kind == itemReasoning:
			item.Summary, item.Encrypted = it.summary, it.sealed
			if item.Summary == nil {
				item.Summary = json.RawMessage("[]")
			}
		}
		// The position of texts and calls matters only next to encrypted reasoning or a phase.
		needed = needed || item.Encrypted != "" || item.Phase != ""
		k.Output = append(k.Output, item)
	}
	if !needed {
		return nil
	}
	return wire.JSON(k)
}

// kept decodes the data of keep, if this same model wrote it.
func (m *responses) kept(raw json.RawMessage) []keptItem {
	var k keptOutput
	if !m.Kept(raw, &k) {
		return nil
	}
	for i := range k.Output {
		// The protocol requires the field, empty or not.
		if k.Output[i].Summary == nil {
			k.Output[i].Summary = json.RawMessage("[]")
		}
	}
	return k.Output
}
