package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// The kinds of blocks that hob uses. Others concern only the server; they go back to it after a pause and are ignored otherwise.
const (
	textBlock     = "text"
	thinkingBlock = "thinking"
	sealedBlock   = "redacted_thinking"
	callBlock     = "tool_use"
)

// mostBlocks limits the blocks of one answer. Each block needs memory, although the event that begins it is short.
const mostBlocks = 4096

// gap separates two texts of an answer that have another block between them.
const gap = "\n\n"

// assembly builds one answer from the events of a stream (https://platform.claude.com/docs/en/build-with-claude/streaming). ReadAll feeds it;
// delta receives each piece of text at once; finish reads the result. After a pause, more streams follow: they add to the same answer.
type assembly struct {
	delta   func(llm.Delta)
	room    wire.Room
	said    bool // some text was given to delta
	thought bool // some thinking was

	before  []*part // of the streams before a pause
	parts   []*part // in the order in which they began
	byIndex map[int]*part
	stop    string // why the answer ended; "" until the server says it
	usage   wireUsage
}

// part is a block of an answer while it arrives.
type part struct {
	kind      string
	id, name  string          // of a call
	start     json.RawMessage // as it began
	body      strings.Builder // the text, the thinking, or the arguments
	signature string
	closed    bool
}

// streamEvent is the union of the fields of all events that hob reads.
type streamEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta piece           `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

// piece is what a delta adds.
type piece struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Input     string `json:"partial_json"`
	Stop      string `json:"stop_reason"`
}

// opened is a block as it begins.
type opened struct {
	piece
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// begin makes the assembly ready for a stream.
func (a *assembly) begin() {
	a.before = append(a.before, a.parts...)
	a.parts, a.byIndex, a.stop, a.usage = nil, map[int]*part{}, "", wireUsage{}
}

// Complete reports whether the server has said why the answer ended.
func (a *assembly) Complete() bool { return a.stop != "" }

// Left returns the room of the answer.
func (a *assembly) Left() wire.Room { return a.room }

// ReadAll reads events until the last one or the end of the stream. It returns io.EOF for both.
func (a *assembly) ReadAll(in *wire.Events) error {
	for over := false; ; {
		kind, data, err := in.Next()
		switch {
		case err != nil && over:
			return io.EOF // data after the end is read only to keep the connection usable
		case err != nil:
			return a.unstreamed(err)
		case over:
			continue
		}
		if over, err = a.take(kind, data); err != nil {
			return err
		}
	}
}

// unstreamed accepts a body that is one message object: some servers cannot stream. Otherwise it returns err unchanged.
func (a *assembly) unstreamed(err error) error {
	body, ok := errors.AsType[*wire.WholeBody](err)
	if !ok {
		return err
	}
	var whole struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(bytes.ToValidUTF8(body.JSON, []byte("\uFFFD")), &whole) != nil || whole.Type != "message" || whole.Stop == "" {
		return err
	}
	for i, raw := range whole.Content {
		if err := a.open(i, raw); err != nil {
			return err
		}
		a.byIndex[i].closed = true
	}
	a.counted(whole.Usage)
	a.stop = whole.Stop
	return io.EOF
}

// take handles one event, and reports whether it is the last.
func (a *assembly) take(kind string, data []byte) (over bool, err error) {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if kind == "error" {
		return false, failure(data)
	}
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("event: %w", err)}
	}
	if e.Type == "" {
		e.Type = kind
	}
	switch e.Type {
	case "message_start":
		a.counted(e.Message.Usage)
	case "content_block_start":
		return false, a.open(e.Index, e.Block)
	case "content_block_delta":
		return false, a.grow(e.Index, e.Delta)
	case "content_block_stop":
		if p := a.byIndex[e.Index]; p != nil {
			p.closed = true
		}
	case "message_delta":
		a.stop = cmp.Or(e.Delta.Stop, a.stop)
		a.counted(e.Usage)
	case "message_stop":
		return true, nil
	case "error":
		return false, failure(data)
	}
	return false, nil
}

// open begins a block. A block that has begun already is a repeated event.
func (a *assembly) open(index int, raw json.RawMessage) error {
	if a.byIndex[index] != nil {
		return nil
	}
	var o opened
	if err := json.Unmarshal(raw, &o); err != nil {
		return &llm.Error{Fault: llm.Malformed, Err: fmt.Errorf("block: %w", err)}
	}
	if len(a.parts) == mostBlocks {
		return &llm.Error{Fault: llm.Malformed, Text: fmt.Sprintf("an answer of more than %d blocks", mostBlocks)}
	}
	p := &part{kind: o.Type, id: o.ID, name: o.Name, start: bytes.Clone(raw)}
	a.parts = append(a.parts, p)
	a.byIndex[index] = p
	// Some servers send a whole block at once.
	if p.kind == callBlock && wire.Present(o.Input) && string(o.Input) != "{}" {
		p.body.Write(o.Input)
	}
	return a.say(p, o.piece)
}

// errOrder is the cause of an error for events in an impossible order.
var errOrder = errors.New("a piece of a block that has not begun or has ended")

// grow adds a piece to its block.
func (a *assembly) grow(index int, d piece) error {
	p := a.byIndex[index]
	if p == nil || p.closed {
		return &llm.Error{Fault: llm.Malformed, Err: errOrder}
	}
	return a.say(p, d)
}

// say appends to a block and passes text and thinking on to the listener. It ignores pieces that do not fit the block's kind.
func (a *assembly) say(p *part, d piece) error {
	if err := a.room.Spend(len(d.Text) + len(d.Thinking) + len(d.Signature) + len(d.Input)); err != nil {
		return err
	}
	p.signature += d.Signature
	switch {
	case p.kind == textBlock && d.Text != "":
		if a.said && p.body.Len() == 0 && !a.adjacent(p) {
			a.delta(llm.Delta{Text: gap})
		}
		a.said = true
		p.body.WriteString(d.Text)
		a.delta(llm.Delta{Text: d.Text})
	case p.kind == thinkingBlock && d.Thinking != "":
		if a.thought && p.body.Len() == 0 {
			a.delta(llm.Delta{Reasoning: gap})
		}
		a.thought = true
		p.body.WriteString(d.Thinking)
		a.delta(llm.Delta{Reasoning: d.Thinking})
	case d.Input != "":
		p.body.WriteString(d.Input)
	}
	return nil
}

// adjacent reports whether a text follows the previous text without another block between them. The two are then one text.
func (a *assembly) adjacent(p *part) bool {
	all := a.all()
	i := slices.Index(all, p)
	return i > 0 && all[i-1].kind == textBlock
}

// all returns the blocks of all streams.
func (a *assembly) all() []*part { return append(a.before[:len(a.before):len(a.before)], a.parts...) }

// failure returns the error for an error event. The response itself had status 200, so the HTTP status follows from the error's type.
func failure(data []byte) error {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	raw := json.RawMessage(data)
	if json.Unmarshal(data, &e) == nil && wire.Present(e.Error) {
		raw = e.Error
	}
	return wire.CodedError(raw, statusOf)
}

// statusOf returns the HTTP status of an error's type (https://platform.claude.com/docs/en/api/errors), 0 for an unknown one.
func statusOf(code string) int {
	return map[string]int{
		"invalid_request_error": http.StatusBadRequest,
		"authentication_error":  http.StatusUnauthorized,
		"billing_error":         http.StatusPaymentRequired,
		"permission_error":      http.StatusForbidden,
		"not_found_error":       http.StatusNotFound,
		"conflict_error":        http.StatusConflict,
		"request_too_large":     http.StatusRequestEntityTooLarge,
		"rate_limit_error":      http.StatusTooManyRequests,
		"api_error":             http.StatusInternalServerError,
		"timeout_error":         http.StatusGatewayTimeout,
		"overloaded_error":      529,
	}[code]
}
