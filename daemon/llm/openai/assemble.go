package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// assembly builds one answer from the chunks of a Chat Completions stream. ReadAll feeds it; delta receives each piece of text at once;
// finish reads the result. It keeps one copy of the text and none of the chunks.
type assembly struct {
	delta        func(llm.Delta)
	room         wire.Room
	filter       filter
	tools        []llm.Tool
	said, thinks joint
	text         strings.Builder
	thought      strings.Builder
	named        bool // reasoning arrived as reasoning_content, which some servers require back
	spelled      bool // reasoning arrived in a field of its own, so reasoning_details only repeats it
	started      bool // a piece has said something, so a message may be a repetition
	refused      bool
	finish       reason
	calls        []*callPieces
	byIndex      map[int]int // the server's index → position in calls
	usage        *wireUsage
	details      []json.RawMessage
	repaired     []string // see llm.Answer
}

// chunk is one event of the stream. The fields are the union of what the known servers send.
type chunk struct {
	Object  optional[string]     `json:"object"`
	Choices few[choice]          `json:"choices"`
	Usage   optional[*wireUsage] `json:"usage"`
	Error   json.RawMessage      `json:"error"`
}

// choice is one alternative of an answer. Only index 0 is used.
type choice struct {
	Index   optional[number] `json:"index"`
	Delta   piece            `json:"delta"`
	Message *piece           `json:"message"` // of an answer that is not streamed
	Finish  reason           `json:"finish_reason"`
}

// piece is the new part of an answer. Servers use three different fields for reasoning.
type piece struct {
	Content          contents        `json:"content"`
	ReasoningContent thought         `json:"reasoning_content"`
	Reasoning        thought         `json:"reasoning"`
	Thinking         thought         `json:"thinking"`
	Refusal          words           `json:"refusal"`
	ToolCalls        few[callPiece]  `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"` // the protocol's older form of one call
	Details          json.RawMessage `json:"reasoning_details"`
}

// callPiece is the new part of a tool call. The first piece has the id and the name, the later ones have arguments. Some gateways leave out the
// object around the name and the arguments.
type callPiece struct {
	Index    optional[*number]  `json:"index"`
	ID       words              `json:"id"`
	Function optional[function] `json:"function"`
	function
	Extra json.RawMessage `json:"extra_content"`
}

// function is the name and a piece of the arguments. Some servers give these the name that they have in other protocols.
type function struct {
	Name       words `json:"name"`
	Arguments  words `json:"arguments"`
	Parameters words `json:"parameters"`
	Input      words `json:"input"`
}

func (f function) args() words { return cmp.Or(f.Arguments, f.Parameters, f.Input) }

// newAssembly starts an answer that may have the given number of tokens, to a request with these tools.
func (m chat) newAssembly(delta func(llm.Delta), tokens int, tools []llm.Tool) *assembly {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	// Bytes are counted, because the tokens of an answer are only known at its end.
	a := &assembly{delta: delta, room: wire.NewRoom(tokens), tools: tools, byIndex: map[int]int{}}
	switch m.Config.Provider {
	case openAI, openRouter:
		a.filter.off = true // they send reasoning and calls in fields of their own, so what looks like them in the text is text
	}
	return a
}

// Complete reports whether the server has sent a finish reason.
func (a *assembly) Complete() bool { return a.finish != "" }

// Left returns the room of the answer.
func (a *assembly) Left() wire.Room { return a.room }

// ReadAll reads events until the end mark or the end of the stream. It returns io.EOF for both.
func (a *assembly) ReadAll(in *wire.Events) error {
	for {
		name, data, err := in.Next()
		if err != nil {
			return a.unstreamed(err)
		}
		// The end mark of Chat Completions. It is not JSON.
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			a.done()
			return drain(in)
		}
		if err := a.take(name, data); err != nil {
			return err
		}
	}
}

// done handles the end mark. A server that sends it without a finish reason has said all, if no call is cut off.
func (a *assembly) done() {
	cut := slices.ContainsFunc(a.calls, func(c *callPieces) bool { return !json.Valid([]byte(c.args())) })
	if a.finish == "" && !cut && (len(a.calls) > 0 || a.text.Len() > 0) {
		a.finish = "stop"
		a.repair("an end without a finish reason")
	}
}

// unstreamed accepts a body that is one chat.completion object: some servers cannot stream at all, or not with tools. Otherwise it returns
// err unchanged.
func (a *assembly) unstreamed(err error) error {
	body, ok := errors.AsType[*wire.WholeBody](err)
	if !ok {
		return err
	}
	// The object counts only if it has a finish reason. Otherwise the caller gets the error with the body's beginning.
	c, wrong := decodeChunk(body.JSON)
	if wrong != nil || !slices.ContainsFunc(c.Choices, func(c choice) bool { return c.Index.value == 0 && c.Message != nil && c.Finish != "" }) {
		return err
	}
	if err := a.absorb(&c, true); err != nil {
		return err
	}
	return io.EOF
}

// drain reads the stream to its end, so that the connection can be used again. It ignores the content.
func drain(in *wire.Events) error {
	for {
		if _, _, err := in.Next(); err != nil {
			return io.EOF
		}
	}
}

// decodeChunk decodes one event. Invalid UTF-8 is replaced, since one broken character should not cost the answer.
func decodeChunk(data []byte) (chunk, error) {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return chunk{}, &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("chunk: %w", err)}
	}
	return c, nil
}

// take handles one event. An error can arrive as a field of a chunk or as an event named "error".
func (a *assembly) take(name string, data []byte) error {
	c, err := decodeChunk(data)
	switch {
	case err != nil:
		return err
	case wire.Present(c.Error):
		return wire.StreamError(c.Error)
	case name == "error":
		return wire.StreamError(data)
	default:
		return a.absorb(&c, c.Object.value == "chat.completion")
	}
}

// absorb adds a chunk to the answer. whole means that it holds complete messages instead of pieces.
func (a *assembly) absorb(c *chunk, whole bool) error {
	// Some servers report a growing usage with every chunk; the last one is the sum.
	if c.Usage.value != nil {
		a.usage = c.Usage.value
	}
	for i := range c.Choices {
		if c.Choices[i].Index.value != 0 {
			continue // hob asked for one answer only
		}
		if err := a.choice(&c.Choices[i], whole); err != nil {
			return err
		}
	}
	return nil
}

// choice adds one piece: its text and reasoning, its tool calls, and the finish reason.
func (a *assembly) choice(c *choice, whole bool) error {
	p := &c.Delta
	if whole = (whole || !a.started) && c.Message != nil; whole {
		p = c.Message
	}
	// Count before storing: an endless answer must not fill the memory.
	thought, said := a.thoughtIn(p), string(p.Content.said)
	if err := a.room.Spend(len(thought) + len(said) + len(p.Refusal)); err != nil {
		return err
	}
	a.started = a.started || thought+said != "" || p.Refusal != "" || len(p.ToolCalls) > 0 || p.FunctionCall != nil
	// The text is a second source of reasoning, next to the fields.
	text, inner := a.filter.take(a.said.take(said))
	a.refused = a.refused || p.Refusal != ""
	a.say(text+string(p.Refusal), a.thinks.take(thought)+inner)
	if p.FunctionCall != nil {
		a.repair("a call in the older form function_call")
		p.ToolCalls = append(p.ToolCalls, callPiece{Index: optional[*number]{new(number)}, function: *p.FunctionCall})
	}
	for i := range p.ToolCalls {
		if err := a.call(&p.ToolCalls[i], whole); err != nil {
			return err
		}
	}
	if wire.Present(p.Details) {
		a.details = append(a.details, p.Details)
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
	return nil
}

// thoughtIn returns the reasoning of a piece. A server with several fields for it sends the same text in each, so only the first counts.
func (a *assembly) thoughtIn(p *piece) string {
	a.named = a.named || p.ReasoningContent != ""
	t := cmp.Or(p.ReasoningContent, p.Reasoning, p.Thinking)
	a.spelled = a.spelled || t != ""
	if !a.spelled && wire.Present(p.Details) {
		_ = t.UnmarshalJSON(p.Details) // it accepts every value, so it returns no error
	}
	return string(t + p.Content.thought)
}

// repair notes once what was read otherwise than the protocol says.
func (a *assembly) repair(what string) {
	if !slices.Contains(a.repaired, what) {
		a.repaired = append(a.repaired, what)
	}
}

// say appends to the answer and passes the piece on to the listener.
func (a *assembly) say(text, thought string) {
	a.text.WriteString(text)
	a.thought.WriteString(thought)
	if text != "" || thought != "" {
		a.delta(llm.Delta{Text: text, Reasoning: thought})
	}
}
