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
)

// assembly puts the chunks of one answer together. It keeps one copy of the text and none of the chunks.
type assembly struct {
	delta   func(llm.Delta)
	room    int // bytes that may still come
	tags    tags
	text    strings.Builder
	thought strings.Builder
	named   bool // reasoning came as reasoning_content, which some servers want to see again
	spelled bool // reasoning came under a name of its own: reasoning_details only repeat it
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

	read            int // bytes of args that closed has seen
	depth           int
	quoted, escaped bool
}

type chunk struct {
	Object  string          `json:"object"`
	Choices few[choice]     `json:"choices"`
	Usage   *wireUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int    `json:"index"`
	Delta   piece  `json:"delta"`
	Message *piece `json:"message"` // of an answer that is not streamed
	Finish  string `json:"finish_reason"`
}

type piece struct {
	Content          contents        `json:"content"`
	ReasoningContent thought         `json:"reasoning_content"`
	Reasoning        thought         `json:"reasoning"`
	Thinking         thought         `json:"thinking"`
	Refusal          words           `json:"refusal"`
	ToolCalls        few[callPiece]  `json:"tool_calls"`
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

// few is a list with an end: a small text can stand for very many empty elements, each of which would take its room in memory.
type few[T any] []T

// most is how many elements a list may have: more than any answer needs.
const most = 4096

// UnmarshalJSON takes a list of at most most elements.
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

// words is a text that some servers send as something else: a tool's arguments as an object.
type words string

// UnmarshalJSON takes a string, null, or anything else as its JSON.
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

// contents is what a message says, which some servers send as a list of parts, thoughts among them.
type contents struct {
	said    words
	thought thought
}

// UnmarshalJSON takes a list of {"text"} and {"thinking"} parts (others are left out), or what words takes.
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

// thought is a text of reasoning. What is neither a string nor a list of parts is not meant for reading.
type thought string

// UnmarshalJSON takes a string or a list of parts, whose text or summary counts; anything else is left out.
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

// newAssembly makes the assembly of an answer of so many tokens at most.
func (m chat) newAssembly(delta func(llm.Delta), tokens int) *assembly {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	a := &assembly{delta: delta, room: max(min(tokens, maxBody)*mostPerToken, leastRoom), byIndex: map[int]int{}}
	switch m.cfg.Provider {
	case openAI, openRouter:
		a.tags.done = true // their thoughts have fields of their own
	}
	return a
}

// Complete reports whether the server has said that, and why, the answer ended.
func (a *assembly) Complete() bool { return a.finish != "" }

// ReadAll takes events until the end mark or the end of the stream, which is io.EOF.
func (a *assembly) ReadAll(in *events) error {
	for {
		name, data, err := in.Next()
		if err != nil {
			return a.unstreamed(err)
		}
		if string(data) == "[DONE]" {
			return drain(in)
		}
		if err := a.take(name, data); err != nil {
			return err
		}
	}
}

// unstreamed takes a body that is one chat.completion object: some servers cannot stream, or not with tools. What is not one
// stays the error that it is.
func (a *assembly) unstreamed(err error) error {
	body, ok := errors.AsType[*wholeBody](err)
	if !ok {
		return err
	}
	c, wrong := decodeChunk(body.JSON)
	if wrong != nil || !slices.ContainsFunc(c.Choices, func(c choice) bool { return c.Index == 0 && c.Message != nil && c.Finish != "" }) {
		return err
	}
	if err := a.absorb(&c, true); err != nil {
		return err
	}
	return io.EOF
}

// drain reads on to the end, which frees the connection; what comes there does not matter.
func drain(in *events) error {
	for {
		if _, _, err := in.Next(); err != nil {
			return io.EOF
		}
	}
}

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

func (a *assembly) take(name string, data []byte) error {
	c, err := decodeChunk(data)
	switch {
	case err != nil:
		return err
	case present(c.Error):
		return streamError(c.Error)
	case name == "error":
		return streamError(data)
	default:
		return a.absorb(&c, c.Object == "chat.completion")
	}
}

// absorb takes the pieces of a chunk, or whole messages.
func (a *assembly) absorb(c *chunk, whole bool) error {
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // one answer was asked for
		}
		if err := a.choice(&c.Choices[i], whole); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) choice(c *choice, whole bool) error {
	p := &c.Delta
	if whole && c.Message != nil {
		p = c.Message
	}
	thought, said := a.thoughtIn(p), string(p.Content.said)
	if err := a.spend(len(thought) + len(said) + len(p.Refusal)); err != nil {
		return err
	}
	text, inner := a.tags.take(said)
	a.refused = a.refused || p.Refusal != ""
	a.say(text+string(p.Refusal), thought+inner)
	for i := range p.ToolCalls {
		if err := a.call(&p.ToolCalls[i], whole); err != nil {
			return err
		}
	}
	if present(p.Details) {
		a.details = append(a.details, p.Details)
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
	return nil
}

// thoughtIn finds the reasoning in a piece. Servers that know several names for it send the same text under each.
func (a *assembly) thoughtIn(p *piece) string {
	a.named = a.named || p.ReasoningContent != ""
	t := cmp.Or(p.ReasoningContent, p.Reasoning, p.Thinking)
	a.spelled = a.spelled || t != ""
	if !a.spelled && present(p.Details) {
		_ = t.UnmarshalJSON(p.Details) // it takes whatever is there
	}
	return string(t + p.Content.thought)
}

// say adds to the answer and passes it on.
func (a *assembly) say(text, thought string) {
	a.text.WriteString(text)
	a.thought.WriteString(thought)
	if text != "" || thought != "" {
		a.delta(llm.Delta{Text: text, Reasoning: thought})
	}
}

// spend counts what came. An answer far over its limit is cut off: a server that ignores the limit may go on for ever.
func (a *assembly) spend(n int) error {
	a.room -= n
	if a.room < 0 {
		return &llm.Error{Fault: llm.Endless, Text: "the answer is far longer than its limit"}
	}
	return nil
}

// call adds a piece to the call it belongs to; a whole call is one by itself. Servers disagree about the index: some leave it
// out, some send 0 for every call; a new id then tells where the next call begins, and where there is no id either, a name does.
func (a *assembly) call(p *callPiece, whole bool) error {
	if err := a.spend(len(p.Function.Arguments)); err != nil {
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
	return nil
}

// position finds the call that a piece belongs to; -1 is a new one.
func (a *assembly) position(p *callPiece) int {
	at := len(a.calls) - 1
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
	switch named := p.Function.Name != ""; {
	case named && p.Index == nil && p.ID == "":
		return -1
	case named && p.Function.Arguments != "" && c.closed():
		return -1 // two calls with one id
	case p.ID != "" && c.id != "" && p.ID != c.id:
		return -1
	default:
		return at
	}
}

// closed reports whether the arguments so far are one JSON object, which more of them could only break.
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

// errNoName is a call that names no tool.
var errNoName = errors.New("a call without a tool's name")

// made returns the calls, in the order in which they began. Arguments are passed on as they came, malformed ones too: who
// carries the call out refuses it with words that the model understands. Ids are made unique; a call that came twice, id and all, is
// one call whose chunk was sent twice.
func (a *assembly) made() ([]llm.Call, error) {
	var out []llm.Call
	used := map[string]int{}
	for i, c := range a.calls {
		if c.name == "" {
			return nil, &llm.Error{Fault: llm.Malformed, Err: errNoName}
		}
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = "{}" // what some servers send for a tool without arguments
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
		out = append(out, llm.Call{ID: unique(id, used), Name: c.name, Args: json.RawMessage(args)})
	}
	return out, nil
}

// unique adds a number to an id that was used before. used counts how often each was.
func unique(id string, used map[string]int) string {
	free := id
	for used[free] > 0 {
		used[id]++
		free = fmt.Sprintf("%s_%d", id, used[id])
	}
	used[free]++
	return free
}
