package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// The request is written out of hob's own structs, not the library's: the bytes are what provider caches are keyed by,
// so they may not change with a library's release, and a tool's schema keeps the order of its fields.
// Messages come last: a longer transcript changes nothing in front of what is new.

type wireRequest struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       wireStream     `json:"stream_options"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Reasoning           *wireReasoning `json:"reasoning,omitempty"`
	Tools               []wireTool     `json:"tools,omitempty"`
	Messages            []wireMessage  `json:"messages"`
}

type wireStream struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireReasoning struct {
	Effort string `json:"effort"`
}

type wireTool struct {
	Type     string   `json:"type"`
	Function llm.Tool `json:"function"`
}

type wireMessage struct {
	Role             string          `json:"role"`
	Content          *string         `json:"content,omitempty"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []wireCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encode writes the body of a request. The same request gives the same bytes.
func (m chat) encode(r llm.Request) ([]byte, error) {
	w := wireRequest{Model: m.cfg.Model, Stream: true, StreamOptions: wireStream{IncludeUsage: true}}
	m.limit(&w, r.MaxOutput)
	m.think(&w)
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: t})
	}
	w.Messages = m.messages(r)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return nil, &llm.Error{Fault: llm.BadRequest, Err: fmt.Errorf("write the request: %w", err)}
	}
	if b.Len() > maxBody {
		return nil, &llm.Error{Fault: llm.TooLarge, Text: fmt.Sprintf("the request has %d MB, at most %d MB are sent", b.Len()>>20, maxBody>>20)}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// limit sets the output limit under the name that the server knows: OpenAI's newer models refuse max_tokens, the others
// do not know max_completion_tokens.
func (m chat) limit(w *wireRequest, asked int) {
	n := m.cfg.MaxOutput
	if asked > 0 {
		n = min(n, asked)
	}
	if m.cfg.Provider == openAI {
		w.MaxCompletionTokens = n
		return
	}
	w.MaxTokens = n
}

func (m chat) think(w *wireRequest) {
	e, _ := effort(m.cfg.Thinking)
	switch {
	case e == "":
	case m.cfg.Provider == openRouter:
		w.Reasoning = &wireReasoning{Effort: e}
	default:
		w.ReasoningEffort = e
	}
}

// effort translates the config's word into the protocol's. The empty word sends nothing.
func effort(thinking string) (string, bool) {
	switch thinking {
	case "off":
		return "none", true
	case "", "minimal", "low", "medium", "high", "xhigh":
		return thinking, true
	default:
		return "", false
	}
}

func (m chat) messages(r llm.Request) []wireMessage {
	out := make([]wireMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		out = append(out, wireMessage{Role: "system", Content: &r.System})
	}
	for _, msg := range r.Messages {
		out = append(out, m.message(msg))
	}
	return out
}

func (m chat) message(msg llm.Message) wireMessage {
	text := content(msg)
	switch msg.Role {
	case llm.Assistant:
		return m.spoken(msg, text)
	case llm.ToolRole:
		return wireMessage{Role: "tool", Content: &text, ToolCallID: msg.CallID}
	default:
		return wireMessage{Role: "user", Content: &text}
	}
}

// spoken is what the model itself said earlier. Arguments go back as the very bytes that came.
func (m chat) spoken(msg llm.Message, text string) wireMessage {
	w := wireMessage{Role: "assistant"}
	if text != "" || len(msg.Calls) == 0 {
		w.Content = &text
	}
	kept := m.replay(msg.Raw)
	w.ReasoningContent, w.ReasoningDetails = kept.Content, kept.Details
	for i, c := range msg.Calls {
		call := wireCall{ID: c.ID, Type: "function", Function: wireFunction{Name: c.Name, Arguments: string(c.Args)}}
		if i < len(kept.Extra) {
			call.Extra = kept.Extra[i]
		}
		w.ToolCalls = append(w.ToolCalls, call)
	}
	return w
}

// content joins the parts of a message behind its envelope. Files and images are named in a line of their own:
// the protocol's text can only tell that they are there.
func content(msg llm.Message) string {
	text := ""
	for _, p := range msg.Parts {
		piece := p.Text
		if p.Kind != event.Text {
			piece = attachment(p)
		}
		if text != "" {
			text += "\n"
		}
		text += piece
	}
	if msg.Envelope != nil {
		return msg.Envelope.Draw() + " " + text
	}
	return text
}

func attachment(p event.Part) string {
	line := "[attached " + string(p.Kind)
	if p.Name != "" {
		line += " " + p.Name
	}
	if p.MIME != "" {
		line += " (" + p.MIME + ")"
	}
	if p.Artifact != "" {
		line += ", artifact " + p.Artifact
	}
	return line + "]"
}
