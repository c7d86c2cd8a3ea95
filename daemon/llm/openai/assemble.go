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
	delta   func(llm.Delta)
	room    wire.Room
	tags    tags
	text    strings.Builder
	thought strings.Builder
	named   bool // reasoning arrived as reasoning_content, which some servers require back
	spelled bool // reasoning arrived in a field of its own, so reasoning_details only repeats it
	refused bool
	finish  string
	calls   []*callPieces
	byIndex map[int]int // the server's index → position in calls
	usage   *wireUsage
	details []json.RawMessage
}

// callPieces is a tool call whose arguments are still arriving.
type callPieces struct {
	id, name string
	args     strings.Builder
	extra    json.RawMessage

	read            int // bytes of args that closed has scanned; the next fields are its state
	depth           int
	quoted, escaped bool
}

// chunk is one event of the stream. The fields are the union of what the known servers send.
type chunk struct {
	Object  string          `json:"object"`
	Choices few[choice]     `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// choice is one alternative of an answer. Only index 0 is used.
type choice struct {
	Index   int    `json:"index"`
	Delta   piece  `json:"delta"`
	Message *piece `json:"message"` // of an answer that is not streamed
	Finish  string `json:"finish_reason"`
}

// piece is the new part of an answer. Servers use three different fields for reasoning.
type piece struct {
	Content          contents        `json:"content"`
	ReasoningContent thought         `json:"reasoning_content"`
	Reasoning        thought         `json:"reasoning"`
	Thinking         thought         `json:"thinking"`
	Refusal          words           `json:"refusal"`
	ToolCalls        few[callPiece]  `json:"tool_calls"`
	Details          json.RawMessage `json:"reasoning_details"`
}

// callPiece is the new part of a tool call. The first piece has the id and the name, the later ones have arguments.
type callPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments words  `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// few is a list of limited length. A short JSON text can hold very many empty elements, and each would take memory.
type few[T any] []T

// most is the longest list that is accepted; no answer needs more.
const most = 4096

// UnmarshalJSON decodes a list of at most most elements.
func (f *few[T]) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return json.Unmarshal(b, (*[]T)(f))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for d.More() {
		if len(*f) == most {
			return fmt.Errorf("a list of more than %d elements", most)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("element of a list: %w", err)
		}
		*f = append(*f, v)
	}
	return nil
}

// words is a text that some servers send as another type: a tool's arguments as an object, for example.
type words string

// UnmarshalJSON takes a string or null. Any other value is kept as its JSON text.
func (w *words) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(w))
	case 'n':
		return nil
	default:
		*w = words(b)
		return nil
	}
}

// contents is the text of a message. Some servers send it as a list of parts, with reasoning among them.
type contents struct {
	said    words
	thought thought
}

// UnmarshalJSON takes a list of {"text"} and {"thinking"} parts, ignoring others, or a value that words takes.
func (c *contents) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return c.said.UnmarshalJSON(b)
	}
	var parts few[struct {
		Text     string  `json:"text"`
		Thinking thought `json:"thinking"`
	}]
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("parts of a text: %w", err)
	}
	for _, p := range parts {
		c.said += words(p.Text)
		c.thought += p.Thinking
	}
	return nil
}

// thought is a text of reasoning.
type thought string

// UnmarshalJSON takes a string or a list of parts with a text or a summary. It ignores other values: they are not meant for reading.
func (t *thought) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case '[':
		var parts few[struct {
			Text    string `json:"text"`
			Summary string `json:"summary"`
		}]
		if json.Unmarshal(b, &parts) != nil {
			return nil
		}
		for _, p := range parts {
			*t += thought(p.Text + p.Summary)
		}
	}
	return nil
}

// newAssembly starts an answer that may have the given number of tokens.
func (m chat) newAssembly(delta func(llm.Delta), tokens int) *assembly {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	// Bytes are counted, because the tokens of an answer are only known at its end.
	a := &assembly{delta: delta, room: wire.NewRoom(tokens), byIndex: map[int]int{}}
	switch m.Config.Provider {
	case openAI, openRouter:
		a.tags.done = true // they send reasoning in separate fields, so tags in the text are text
	}
	return a
}

// Complete reports whether the server has sent a finish reason.
func (a *assembly) Complete() bool { return a.finish != "" }

// ReadAll reads events until the end mark or the end of the stream. It returns io.EOF for both.
func (a *assembly) ReadAll(in *wire.Events) error {
	for {
		name, data, err := in.Next()
		if err != nil {
			return a.unstreamed(err)
		}
		// The end mark of Chat Completions. It is not JSON.
		if string(data) == "[DONE]" {
			return drain(in)
		}
		if err := a.take(name, data); err != nil {
			return err
		}
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
	if wrong != nil || !slices.ContainsFunc(c.Choices, func(c choice) bool { return c.Index == 0 && c.Message != nil && c.Finish != "" }) {
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
		return a.absorb(&c, c.Object == "chat.completion")
	}
}

// absorb adds a chunk to the answer. whole means that it holds complete messages instead of pieces.
func (a *assembly) absorb(c *chunk, whole bool) error {
	// Some servers report a growing usage with every chunk; the last one is the sum.
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
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
	if whole && c.Message != nil {
		p = c.Message
	}
	// Count before storing: an endless answer must not fill the memory.
	thought, said := a.thoughtIn(p), string(p.Content.said)
	if err := a.room.Spend(len(thought) + len(said) + len(p.Refusal)); err != nil {
		return err
	}
	// Tags in the text are a second source of reasoning, next to the fields.
	text, inner := a.tags.take(said)
	a.refused = a.refused || p.Refusal != ""
	a.say(text+string(p.Refusal), thought+inner)
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

// say appends to the answer and passes the piece on to the listener.
func (a *assembly) say(text, thought string) {
	a.text.WriteString(text)
	a.thought.WriteString(thought)
	if text != "" || thought != "" {
		a.delta(llm.Delta{Text: text, Reasoning: thought})
	}
}

// call adds a piece to the call that it belongs to; a whole call is always a new one. Servers disagree about the index: some omit it, some
// send 0 for every call. Then a new id starts the next call, and without an id a new name does.
func (a *assembly) call(p *callPiece, whole bool) error {
	if err := a.room.Spend(len(p.Function.Arguments)); err != nil {
		return err
	}
	at := -1
	if !whole {
		at = a.position(p)
	}
	if at < 0 {
		a.calls = append(a.calls, &callPieces{})
		at = len(a.calls) - 1
		if p.Index != nil {
			a.byIndex[*p.Index] = at
		}
	}
	c := a.calls[at]
	// The id and the name count once; only arguments grow.
	if c.id == "" {
		c.id = p.ID
	}
	if c.name == "" {
		c.name = p.Function.Name // servers send the name whole; some repeat it with every piece
	}
	c.args.WriteString(string(p.Function.Arguments))
	if wire.Present(p.Extra) {
		c.extra = p.Extra
	}
	return nil
}

// position returns the index of the call that a piece belongs to, or -1 for a new call.
func (a *assembly) position(p *callPiece) int {
	at := len(a.calls) - 1
	// With an index that was not seen before, the call is new. Otherwise it is the indexed call, and without an index the newest.
	if p.Index != nil {
		known, ok := a.byIndex[*p.Index]
		if !ok {
			return -1
		}
		at = known
	}
	if at < 0 {
		return -1
	}
	c := a.calls[at]
	// A name, complete arguments or another id can still show that a new call begins.
	switch named := p.Function.Name != ""; {
	case named && p.Index == nil && p.ID == "":
		return -1
	case named && p.Function.Arguments != "" && c.closed():
		return -1 // two calls that share an id
	case p.ID != "" && c.id != "" && p.ID != c.id:
		return -1
	default:
		return at
	}
}

// closed reports whether the arguments so far are one complete JSON object. Another piece could only break it. The scan continues where the
// last one stopped.
func (c *callPieces) closed() bool {
	args := c.args.String()
	for ; c.read < len(args); c.read++ {
		switch b := args[c.read]; {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
		case b == '}' || b == ']':
			c.depth--
		}
	}
	return c.depth == 0 && !c.quoted && strings.HasSuffix(args, "}")
}

// made returns the calls in the order in which they began. Malformed arguments are passed on as they are: the agent rejects them with a
// message that the model understands. Ids are made unique. A call that equals an earlier one, including its id, is a repeated chunk and
// dropped.
func (a *assembly) made() ([]llm.Call, error) {
	var out []llm.Call
	used := map[string]int{}
	for i, c := range a.calls {
		if c.name == "" {
			return nil, &llm.Error{Fault: llm.Malformed, Err: wire.ErrNoName}
		}
		// Fill in what some servers leave out: the arguments and the id.
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = "{}" // some servers send nothing for a tool without parameters
		}
		if c.id != "" && slices.ContainsFunc(a.calls[:i], func(d *callPieces) bool {
			return d.id == c.id && d.name == c.name && d.args.String() == c.args.String()
		}) {
			continue
		}
		id := c.id
		if id == "" {
			id = fmt.Sprintf("call_%d", i+1)
		}
		out = append(out, llm.Call{ID: wire.Unique(id, used), Name: c.name, Args: json.RawMessage(args)})
	}
	return out, nil
}
