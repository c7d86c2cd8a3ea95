package anthropic

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// hob writes the request from its own structs. The provider's cache compares the bytes before a breakpoint, so an equal transcript must
// give equal bytes.

// wireRequest is the body of POST /messages (https://platform.claude.com/docs/en/api/messages/create).
type wireRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	Stream    bool          `json:"stream"`
	Thinking  *wireThinking `json:"thinking,omitempty"`
	Output    *wireOutput   `json:"output_config,omitempty"`
	Tools     []wireTool    `json:"tools,omitempty"`
	System    []*block      `json:"system,omitempty"`
	Messages  []message     `json:"messages"`
}

// wireTool is a tool that the model may call.
type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *breakpoint     `json:"cache_control,omitempty"`
}

// message is one message. Content holds *block, and json.RawMessage for data that is repeated unchanged.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// block is a part of a message; Type says which of the other fields are set.
type block struct {
	Type   string          `json:"type"` // text, image, document, tool_use, tool_result
	Text   string          `json:"text,omitempty"`
	Source *source         `json:"source,omitempty"`
	Title  string          `json:"title,omitempty"`
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	CallID string          `json:"tool_use_id,omitempty"`
	Parts  []*block        `json:"content,omitempty"`
	Failed bool            `json:"is_error,omitempty"`
	Cache  *breakpoint     `json:"cache_control,omitempty"`
}

// source is the content of an image or a document.
type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  string `json:"data"`
}

// words returns a block of text. The protocol refuses one without any visible character.
func words(text string) *block {
	if strings.TrimSpace(text) == "" {
		text = "(nothing)"
	}
	return &block{Type: "text", Text: text}
}

// transcript is the messages of a request. A message never depends on later ones, so a longer transcript only appends.
type transcript struct {
	m        *model
	messages []message
	replayed []digest // the thinking in it
	bare     bool     // the last answer has calls, and no thinking before them
	shows    bool     // it contains an image or a file
	left     wire.FileBudget
}

// transcript writes the messages of a request.
func (m *model) transcript(ctx context.Context, r llm.Request) (*transcript, error) {
	t := &transcript{m: m, left: wire.MaxFiles, messages: make([]message, 0, len(r.Messages))}
	for i, msg := range r.Messages {
		// The protocol wants a user's message first.
		if i == 0 && msg.Role != llm.User {
			t.messages = append(t.messages, message{Role: "user", Content: []any{words("[hob] The conversation goes on.")}})
		}
		if err := t.add(ctx, msg); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add writes one message. The results of one answer share a message.
func (t *transcript) add(ctx context.Context, msg llm.Message) error {
	switch msg.Role {
	case llm.Assistant:
		t.messages = append(t.messages, message{Role: "assistant", Content: t.spoken(msg)})
		return nil
	case llm.ToolRole:
		return t.result(ctx, msg)
	}
	pieces, shows, err := t.m.Fragments(ctx, msg.QuotedParts(), msg.Envelope, &t.left)
	if err != nil {
		return err
	}
	t.shows = t.shows || shows
	var content []any
	for _, b := range blocks(pieces) {
		content = append(content, b)
	}
	t.messages = append(t.messages, message{Role: "user", Content: content})
	return nil
}

// blocks converts texts, images and documents. An empty text next to something else is left out.
func blocks(pieces []wire.Fragment) []*block {
	var list []*block
	for _, p := range pieces {
		switch {
		case p.Media == nil && strings.TrimSpace(p.Text) == "" && len(pieces) > 1:
		case p.Media == nil:
			list = append(list, words(p.Text))
		case p.Media.Image:
			list = append(list, &block{Type: "image", Source: &source{"base64", p.Media.Type, p.Media.Base64()}})
		default:
			list = append(list, &block{Type: "document", Title: p.Media.Name, Source: &source{"base64", p.Media.Type, p.Media.Base64()}})
		}
	}
	return list
}

// result adds a tool's result.
func (t *transcript) result(ctx context.Context, msg llm.Message) error {
	pieces, shows, err := t.m.Fragments(ctx, msg.Parts, nil, &t.left)
	if err != nil {
		return err
	}
	// The protocol allows only texts in an error.
	b := &block{Type: "tool_result", CallID: msg.CallID, Parts: blocks(pieces), Failed: msg.IsError && !shows}
	t.shows = t.shows || shows
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == "user" && isResult(t.messages[n-1].Content[0]) {
		t.messages[n-1].Content = append(t.messages[n-1].Content, b)
		return nil
	}
	t.messages = append(t.messages, message{Role: "user", Content: []any{b}})
	return nil
}

// isResult reports whether a part of a message is a tool's result.
func isResult(part any) bool {
	b, ok := part.(*block)
	return ok && b.Type == "tool_result"
}

// spoken returns the parts of an earlier answer: those that its data lists, in their order, and then the rest.
func (t *transcript) spoken(msg llm.Message) []any {
	var content []any
	text, calls := strings.TrimRight(wire.TextOf(msg), " \t\r\n"), msg.Calls
	kept := t.m.replay(msg.Raw)
	if len(kept) > 0 {
		d := digest(sha256.Sum256(msg.Raw))
		if t.m.stale.has(d) {
			kept = nil
		} else {
			t.replayed = append(t.replayed, d)
		}
	}
	for i, k := range kept {
		switch {
		case k.Kept != nil:
			content = append(content, k.Kept)
		case k.Type == "text":
			var said string
			said, text = cutText(text, k.Length, lastText(kept[i+1:]))
			if said != "" {
				content = append(content, words(said))
			}
		case len(calls) > 0:
			content, calls = append(content, use(calls[0])), calls[1:]
		}
	}
	if text != "" {
		content = append(content, words(text))
	}
	for _, c := range calls {
		content = append(content, use(c))
	}
	if len(content) == 0 {
		content = append(content, words(""))
	}
	_, thought := content[0].(json.RawMessage)
	t.bare = len(msg.Calls) > 0 && !thought
	return content
}

// lastText reports whether no further text follows.
func lastText(rest []keptBlock) bool {
	return !slices.ContainsFunc(rest, func(k keptBlock) bool { return k.Kept == nil && k.Type == "text" })
}

// cutText removes the next block's text from the front of an answer's text. If the text has changed, for example because a secret in it was
// replaced, the first block gets all of it.
func cutText(text string, length int, last bool) (said, rest string) {
	if last || length >= len(text) || !strings.HasPrefix(text[length:], gap) {
		return text, ""
	}
	return text[:length], text[length+len(gap):]
}

// use returns a call. The protocol accepts only objects as arguments; anything else is put into an object as text.
func use(c llm.Call) *block {
	var object map[string]json.RawMessage
	args := c.Args
	if json.Unmarshal(args, &object) != nil || object == nil {
		args = wire.JSON(map[string]string{"not_an_object": string(args)})
	}
	return &block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: args}
}

// encode writes the body of a request.
func (m *model) encode(r llm.Request, t *transcript) ([]byte, error) {
	w := wireRequest{Model: m.Config.Model, MaxTokens: m.Limit(r.MaxOutput), Stream: true, Messages: t.messages}
	w.Thinking, w.Output = m.facts.think(m.Config.Thinking, w.MaxTokens, t.bare)
	for _, tool := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Name: tool.Name, Description: tool.Description, Schema: tool.Parameters})
	}
	if strings.TrimSpace(r.System) != "" {
		w.System = []*block{words(r.System)}
	}
	w.mark()
	return m.Encode(w)
}

// asError returns the *llm.Error in err.
func asError(err error) (*llm.Error, bool) { return errors.AsType[*llm.Error](err) }
