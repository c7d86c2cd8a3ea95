package anthropic

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// pauseTurn is the finish reason of an answer that the server has interrupted and will continue.
const pauseTurn = "pause_turn"

// wireUsage is the token count of one request. Later events repeat the count and may add the input of the server's own tools, so what they
// contain replaces what was there.
type wireUsage struct {
	Input    float64 `json:"input_tokens"` // neither read from the cache nor written to it
	Output   float64 `json:"output_tokens"`
	Read     float64 `json:"cache_read_input_tokens"`
	Written  float64 `json:"cache_creation_input_tokens"`
	Creation struct {
		Hour float64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// counted takes over what an event contains of the usage. JSON leaves the other fields as they are.
func (a *assembly) counted(usage json.RawMessage) {
	if wire.Present(usage) && json.Unmarshal(usage, &a.usage) != nil {
		a.usage.Input = math.MaxInt32 // that is not credible, so the usage is estimated
	}
}

// finish makes the answer from all streams. sent is the size of the last request in bytes.
func (m *model) finish(a *assembly, sent int) (llm.Answer, error) {
	if a.stop == "error" {
		return llm.Answer{}, &llm.Error{Fault: llm.Broken, Text: "the server ended the answer with an error"}
	}
	calls, err := a.calls()
	if err != nil {
		return llm.Answer{}, err
	}
	out := llm.Answer{Text: a.text(), Reasoning: a.reasoning(), Calls: calls, Finish: llm.Stop}
	switch {
	case a.stop == "max_tokens" || a.stop == "model_context_window_exceeded":
		out.Finish = llm.Length
	case a.stop == "refusal":
		out.Finish, out.Calls = llm.Filtered, nil
	case len(calls) > 0:
		out.Finish = llm.ToolCall
	}
	w := a.usage
	input := wire.Tokens(w.Input) + wire.Tokens(w.Read) + wire.Tokens(w.Written)
	out.Usage = m.Usage(wire.Counts{
		Input: float64(input), Output: w.Output, Cached: w.Read, Written: w.Written, Hour: w.Creation.Hour, Reasoning: w.Details.Thinking,
	}, out, sent)
	out.Raw = m.keep(a, len(out.Calls))
	return out, nil
}

// text returns the texts of the answer.
func (a *assembly) text() string {
	var b strings.Builder
	for _, p := range a.all() {
		if p.kind != textBlock || p.body.Len() == 0 {
			continue
		}
		if b.Len() > 0 && !a.adjacent(p) {
			b.WriteString(gap)
		}
		b.WriteString(p.body.String())
	}
	return b.String()
}

// reasoning returns the thinking of the answer, as far as the server shows it.
func (a *assembly) reasoning() string {
	var list []string
	for _, p := range a.all() {
		if p.kind == thinkingBlock && p.body.Len() > 0 {
			list = append(list, p.body.String())
		}
	}
	return strings.Join(list, gap)
}

// calls returns the complete calls. The last call of an answer that was cut off may be incomplete and is then dropped. In any other answer
// an incomplete call is an error. Arguments that are not JSON are passed on, because the agent rejects them with a message that the model
// understands.
func (a *assembly) calls() ([]llm.Call, error) {
	var out wire.Calls
	for i, p := range a.all() {
		if p.kind != callBlock {
			continue
		}
		args := strings.TrimSpace(p.body.String())
		switch {
		case p.name == "" || args == "":
		case !p.closed && !json.Valid([]byte(args)) && a.stop != callBlock:
			continue
		case !p.closed && !json.Valid([]byte(args)):
			return nil, &llm.Error{Fault: llm.Malformed, Text: "a call without an end"}
		}
		if err := out.Add(i+1, p.id, p.name, args); err != nil {
			return nil, err
		}
	}
	return out.List, nil
}

// kept is the provider data of an answer that later requests repeat: its blocks in their order.
type kept struct {
	wire.Author
	Blocks []keptBlock `json:"blocks"`
}

// keptBlock is a block of thinking in that data. Of a text or a call it holds only the position, because the transcript has the content.
type keptBlock struct {
	Type   string          `json:"type"`
	Length int             `json:"length,omitempty"` // of a text, in bytes
	Kept   json.RawMessage `json:"block,omitempty"`
}

// keep collects the provider data. It returns nil if the transcript alone is enough. calls is the number of the answer's calls.
func (m *model) keep(a *assembly, calls int) json.RawMessage {
	k, thinking := kept{Author: m.Author()}, false
	for _, p := range a.all() {
		switch raw := p.sentBack(); {
		case p.kind == thinkingBlock && p.signature != "", p.kind == sealedBlock:
			thinking = true
			k.Blocks = append(k.Blocks, keptBlock{Type: p.kind, Kept: raw})
		case p.kind == textBlock && p.body.Len() > 0:
			if n := len(k.Blocks); n > 0 && k.Blocks[n-1].Type == textBlock {
				k.Blocks[n-1].Length += p.body.Len()
				continue
			}
			k.Blocks = append(k.Blocks, keptBlock{Type: textBlock, Length: p.body.Len()})
		case p.kind == callBlock && calls > 0:
			calls--
			k.Blocks = append(k.Blocks, keptBlock{Type: callBlock})
		}
	}
	if !thinking {
		return nil
	}
	return wire.JSON(k)
}

// replay decodes the data of keep, if this same model wrote it. Another model cannot read it.
func (m *model) replay(raw json.RawMessage) []keptBlock {
	var k kept
	if !m.Kept(raw, &k) {
		return nil
	}
	return slices.DeleteFunc(k.Blocks, func(b keptBlock) bool {
		return (b.Type == thinkingBlock || b.Type == sealedBlock) == (b.Kept == nil)
	})
}

// sentBack returns the blocks of the current stream as the next request repeats them after a pause.
func (a *assembly) sentBack() []any {
	var content []any
	for _, p := range a.parts {
		if raw := p.sentBack(); raw != nil {
			content = append(content, raw)
		}
	}
	return content
}

// sentBack returns a block as the next request repeats it: the start of the block with everything that was added. It returns nil for an
// empty block, which the server refuses.
func (p *part) sentBack() json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(p.start, &fields) != nil {
		return nil
	}
	set := func(name, value string) { fields[name] = wire.JSON(value) }
	switch p.kind {
	case textBlock:
		if p.body.Len() == 0 {
			return nil
		}
		delete(fields, "citations")
		set("text", p.body.String())
	case thinkingBlock:
		set("thinking", p.body.String())
		set("signature", p.signature)
	case sealedBlock:
	default:
		if args := p.body.String(); json.Valid([]byte(args)) {
			fields["input"] = json.RawMessage(args)
		}
	}
	return wire.JSON(fields)
}
