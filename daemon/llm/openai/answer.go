package openai

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// wireUsage is the token count of one request. One whose two sums cannot be read is none.
type wireUsage struct {
	Prompt     number           `json:"prompt_tokens"`
	Completion number           `json:"completion_tokens"`
	CacheHit   optional[number] `json:"prompt_cache_hit_tokens"` // DeepSeek's field for cached tokens
	PromptOf   optional[struct {
		Cached optional[number] `json:"cached_tokens"`
	}] `json:"prompt_tokens_details"`
	CompletionOf optional[struct {
		Reasoning optional[number] `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
	Cost   optional[*number] `json:"cost"` // openrouter: credits charged
	BYOK   optional[bool]    `json:"is_byok"`
	CostOf optional[struct {
		Upstream optional[number] `json:"upstream_inference_cost"` // paid to the upstream provider when the key is the user's own
	}] `json:"cost_details"`
}

// finish turns a complete stream into the answer. sent is the size of the request in bytes.
func (m chat) finish(a *assembly, sent int) (llm.Answer, error) {
	// The stream has ended, so what was held back counts now.
	text, inner := a.filter.take(a.said.rest())
	a.say(text, inner+a.thinks.rest())
	a.say(a.filter.rest())
	calls, err := a.made()
	if err != nil {
		return llm.Answer{}, err
	}
	a.reread(len(calls) > 0)
	text, spoken := a.spoken(len(calls))
	calls = append(calls, spoken...)
	if len(spoken) > 0 {
		a.repair(llm.CallsAsText)
	}
	if answer, inner := settled(text); !a.filter.off && answer != text {
		text = answer
		a.thought.WriteString(inner)
		if inner == "" {
			a.repair(llm.TemplateWords)
		}
		a.filter.mixed = a.filter.mixed || inner != ""
	}
	if a.filter.mixed {
		a.repair(llm.ThinkingInText)
	}
	reason := reasonOf(a, len(calls))
	if reason == "" {
		return llm.Answer{}, &llm.Error{Fault: llm.Broken, Text: "the server ended the answer with an error"}
	}
	out := llm.Answer{Text: text, Reasoning: a.thought.String(), Calls: calls, Finish: reason, Repaired: a.repaired}
	out.Usage = m.count(a, out, sent)
	out.Raw = m.keep(a)
	return out, nil
}

// reasonOf translates the finish reason. "" means that the server broke off.
func reasonOf(a *assembly, calls int) llm.Finish {
	switch strings.ToLower(string(a.finish)) {
	case "error":
		return ""
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded": // also of Anthropic, Gemini and Mistral
		return llm.Length
	case "content_filter", "refusal", "safety":
		return llm.Filtered
	}
	switch {
	case a.refused:
		return llm.Filtered
	case calls > 0:
		return llm.ToolCall // many servers say "stop" here
	default:
		return llm.Stop
	}
}

// count returns the usage. The cost that the server charges counts before the price of the config.
func (m chat) count(a *assembly, out llm.Answer, sent int) llm.Usage {
	w := cmp.Or(a.usage, &wireUsage{})
	u := m.Usage(wire.Counts{
		Input: float64(w.Prompt), Output: float64(w.Completion), Cached: float64(max(w.PromptOf.value.Cached.value, w.CacheHit.value)),
		Reasoning: float64(w.CompletionOf.value.Reasoning.value),
	}, out, sent)
	if micros, ok := charged(w); ok && !u.Estimated {
		u.Cost, u.Priced = micros, true
	}
	return u
}

// charged returns the cost that the server reports, in millionths, rounded up.
func charged(w *wireUsage) (int64, bool) {
	if w.Cost.value == nil {
		return 0, false
	}
	cost := float64(*w.Cost.value)
	// With the user's own key, the service charges only its fee; the upstream provider's bill comes on top of it.
	if w.BYOK.value {
		cost += float64(w.CostOf.value.Upstream.value)
	}
	// A server that sends such a number is wrong; the price of the config is then used instead.
	if math.IsNaN(cost) || cost < 0 || cost > 1e9 {
		return 0, false
	}
	return int64(math.Ceil(math.Round(cost*1e9) / 1e3)), true // rounding to billionths first keeps 0.00014 at 140 instead of 141
}

// kept is the provider data that must be sent back with an assistant's message: signed or encrypted reasoning, and for calls extra content
// such as Gemini's thought signatures. It travels in llm.Answer.Raw to the transcript and returns in llm.Message.Raw.
type kept struct {
	wire.Author
	Content string            `json:"reasoning_content,omitempty"`
	Details json.RawMessage   `json:"reasoning_details,omitempty"`
	Extra   []json.RawMessage `json:"extra_content,omitempty"` // in the order of the calls; null for a call without any
}

// keep collects the provider data of an answer; nil when there is none.
func (m chat) keep(a *assembly) json.RawMessage {
	k := kept{Author: m.Author(), Details: joinDetails(a.details)}
	if a.named && len(a.calls) > 0 {
		k.Content = a.thought.String() // DeepSeek and Kimi reject a call without the reasoning that led to it
	}
	for i, c := range a.calls {
		if c.extra != nil {
			// Earlier calls without extra content get null, so that the index of a call is the index of its content.
			for len(k.Extra) < i {
				k.Extra = append(k.Extra, json.RawMessage("null"))
			}
			k.Extra = append(k.Extra, c.extra)
		}
	}
	if k.Content == "" && k.Details == nil && k.Extra == nil {
		return nil
	}
	return wire.JSON(k)
}

// replay decodes the data of keep, if this same model wrote it. Another model cannot read it.
func (m chat) replay(raw json.RawMessage) kept {
	var k kept
	if !m.Kept(raw, &k) {
		return kept{}
	}
	for i, e := range k.Extra {
		// null in the list means that the call has no extra content.
		if !wire.Present(e) {
			k.Extra[i] = nil
		}
	}
	return k
}

// joinDetails merges the pieces of streamed reasoning_details. Consecutive pieces with the same type and index form one block, whose text,
// summary and data arrive in pieces (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func joinDetails(pieces []json.RawMessage) json.RawMessage {
	var blocks []map[string]any
	for _, p := range listed(pieces) {
		// A piece without an index is a block of its own.
		if n := len(blocks); n > 0 && p["index"] != nil && blocks[n-1]["index"] == p["index"] && blocks[n-1]["type"] == p["type"] {
			extend(blocks[n-1], p)
			continue
		}
		blocks = append(blocks, p)
	}
	if blocks == nil {
		return nil
	}
	return wire.JSON(blocks)
}

// listed flattens the lists of pieces. It drops anything but lists of objects, which could not be sent back.
func listed(lists []json.RawMessage) []map[string]any {
	var all []map[string]any
	for _, raw := range lists {
		var list []map[string]any
		if json.Unmarshal(raw, &list) != nil {
			continue
		}
		for _, p := range list {
			if p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// extend merges the next piece into a block: texts are appended, other fields replaced.
func extend(block, more map[string]any) {
	for k, v := range more {
		old, wasText := block[k].(string)
		s, isText := v.(string)
		switch {
		// A later piece may write null for a field that an earlier one has set.
		case v == nil:
		case isText && wasText && (k == "text" || k == "summary" || k == "data"):
			block[k] = old + s
		default:
			block[k] = v
		}
	}
}
