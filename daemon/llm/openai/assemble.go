package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hob/daemon/llm"
)

// assembly puts the chunks of one answer together. It keeps one copy of the text and none of the chunks.
type assembly struct {
	delta   func(llm.Delta)
	text    strings.Builder
	thought strings.Builder
	named   bool // reasoning came as reasoning_content, which some servers want to see again
	refused bool
	finish  string
	calls   []*callPieces
	byIndex map[int]int // the server's index → position in calls
	usage   *wireUsage
	details []json.RawMessage
}

type callPieces struct {
	id, name string
	args     strings.Builder
	extra    json.RawMessage
}

type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index  int    `json:"index"`
	Delta  piece  `json:"delta"`
	Finish string `json:"finish_reason"`
}

type piece struct {
	Content          words           `json:"content"`
	ReasoningContent words           `json:"reasoning_content"`
	Reasoning        words           `json:"reasoning"`
	Refusal          words           `json:"refusal"`
	ToolCalls        []callPiece     `json:"tool_calls"`
	Details          json.RawMessage `json:"reasoning_details"`
}

type callPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments words  `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// words is a text that some servers send as a list of parts, or (arguments) as an object.
type words string

// UnmarshalJSON takes a string, null, a list of {"text"} parts (others are left out), or anything else as its JSON.
func (w *words) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(w))
	case 'n':
		return nil
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return fmt.Errorf("parts of a text: %w", err)
		}
		for _, p := range parts {
			*w += words(p.Text)
		}
	default:
		*w = words(b)
	}
	return nil
}

func newAssembly(delta func(llm.Delta)) *assembly {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	return &assembly{delta: delta, byIndex: map[int]int{}}
}

// complete reports whether the server has said that, and why, the answer ended.
func (a *assembly) complete() bool { return a.finish != "" }

// readAll takes events until the end mark or the end of the stream, which is io.EOF.
func (a *assembly) readAll(in *events) error {
	for {
		name, data, err := in.next()
		if err != nil {
			return err
		}
		if string(data) == "[DONE]" {
			return drain(in)
		}
		if err := a.take(name, data); err != nil {
			return err
		}
	}
}

// drain reads on to the end, which frees the connection; what comes there does not matter.
func drain(in *events) error {
	for {
		if _, _, err := in.next(); err != nil {
			return io.EOF
		}
	}
}

func (a *assembly) take(name string, data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("chunk: %w", err)}
	}
	if present(c.Error) {
		return streamError(c.Error)
	}
	if name == "error" {
		return streamError(data)
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // one answer was asked for
		}
		a.choice(&c.Choices[i])
	}
	return nil
}

func (a *assembly) choice(c *choice) {
	p := &c.Delta
	thought := p.ReasoningContent
	if thought == "" {
		thought = p.Reasoning
	} else {
		a.named = true
	}
	a.refused = a.refused || p.Refusal != ""
	said := string(p.Content + p.Refusal)
	a.text.WriteString(said)
	a.thought.WriteString(string(thought))
	if said != "" || thought != "" {
		a.delta(llm.Delta{Text: said, Reasoning: string(thought)})
	}
	for i := range p.ToolCalls {
		a.call(&p.ToolCalls[i])
	}
	if present(p.Details) {
		a.details = append(a.details, p.Details)
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
}

// call adds a piece to the call it belongs to. Servers disagree about the index: some leave it out, some send 0 for
// every call; a new id then tells where the next call begins, and where there is no id either, a name does.
func (a *assembly) call(p *callPiece) {
	at := a.position(p)
	c := a.calls[at]
	if c.id == "" {
		c.id = p.ID
	}
	if c.name == "" {
		c.name = p.Function.Name // sent whole; some servers repeat it with every piece
	}
	c.args.WriteString(string(p.Function.Arguments))
	if present(p.Extra) {
		c.extra = p.Extra
	}
}

func (a *assembly) position(p *callPiece) int {
	at := len(a.calls) - 1
	if p.Index != nil {
		known, ok := a.byIndex[*p.Index]
		if !ok {
			known = -1
		}
		at = known
	}
	begins := p.Index == nil && p.ID == "" && p.Function.Name != ""
	if at >= 0 && !begins && (p.ID == "" || a.calls[at].id == "" || a.calls[at].id == p.ID) {
		return at
	}
	a.calls = append(a.calls, &callPieces{})
	at = len(a.calls) - 1
	if p.Index != nil {
		a.byIndex[*p.Index] = at
	}
	return at
}

// errNoName is a call that names no tool.
var errNoName = errors.New("a call without a tool's name")

// made returns the calls, in the order in which they began.
func (a *assembly) made() ([]llm.Call, error) {
	var out []llm.Call
	for i, c := range a.calls {
		if c.name == "" {
			return nil, &llm.Error{Fault: llm.Malformed, Err: errNoName}
		}
		args := strings.TrimSpace(c.args.String())
		if args == "" {
			args = "{}" // what some servers send for a tool without arguments
		}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d", i+1)
		}
		out = append(out, llm.Call{ID: c.id, Name: c.name, Args: json.RawMessage(args)})
	}
	return out, nil
}
