package openai

import (
	"bytes"
	"context"
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
	Content          any             `json:"content,omitempty"` // a text, or []wirePart where there is an image or a file
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []wireCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type wirePart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *wireURL  `json:"image_url,omitempty"`
	File     *wireFile `json:"file,omitempty"`
}

type wireURL struct {
	URL string `json:"url"`
}

type wireFile struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
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

// Answer sends one request and reads the stream to its end. When ctx ends, its error is returned as it is, wrapped;
// every other error is an *llm.Error.
func (m chat) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	body, shows, err := m.encode(ctx, r)
	if err != nil {
		return llm.Answer{}, err
	}
	a := m.newAssembly(delta, m.most(r))
	err = m.exchange(ctx, "chat/completions", body, a)
	if err != nil && shows {
		err = m.unsighted(err)
	}
	if err != nil {
		return llm.Answer{}, m.cleaned(err)
	}
	answer, err := m.finish(a, len(body))
	return answer, m.cleaned(err)
}

// encode writes the body of a request, and says whether it shows images or files. The same request gives the same bytes, as long
// as its files can be opened.
func (m chat) encode(ctx context.Context, r llm.Request) (body []byte, shows bool, err error) {
	w := wireRequest{Model: m.cfg.Model, Stream: true, StreamOptions: wireStream{IncludeUsage: true}}
	m.limit(&w, m.most(r))
	m.think(&w)
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: t})
	}
	t := transcript{m: m, out: make([]wireMessage, 0, len(r.Messages)+1), left: maxFiles}
	if err := t.write(ctx, r); err != nil {
		return nil, false, err
	}
	w.Messages = t.out
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return nil, false, &llm.Error{Fault: llm.BadRequest, Err: fmt.Errorf("write the request: %w", err)}
	}
	if b.Len() > maxBody {
		return nil, false, &llm.Error{Fault: llm.TooLarge, Text: fmt.Sprintf("the request has %d MB, at most %d MB are sent", b.Len()>>20, maxBody>>20)}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), t.shows, nil
}

// most is how many tokens the answer may have.
func (m chat) most(r llm.Request) int {
	if r.MaxOutput > 0 {
		return min(m.cfg.MaxOutput, r.MaxOutput)
	}
	return m.cfg.MaxOutput
}

// limit sets the output limit under the name that the server knows: OpenAI's newer models refuse max_tokens, the others
// do not know max_completion_tokens.
func (m chat) limit(w *wireRequest, n int) {
	if m.cfg.Provider == openAI {
		w.MaxCompletionTokens = n
		return
	}
	w.MaxTokens = n
}

// transcript writes the messages of one request. What a message becomes depends on nothing behind it: a longer transcript only adds.
type transcript struct {
	m     chat
	out   []wireMessage
	shows bool // an image or a file is among them

	open int        // calls of the last answer whose results have not come
	late []wirePart // what the results of that answer show
	left fileBudget // what the rest of the transcript may still show: all of it is sent again with each request
}

func (t *transcript) write(ctx context.Context, r llm.Request) error {
	if r.System != "" {
		t.out = append(t.out, wireMessage{Role: "system", Content: r.System})
	}
	for _, msg := range r.Messages {
		if err := t.add(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

func (t *transcript) add(ctx context.Context, msg llm.Message) error {
	if msg.Role == llm.ToolRole {
		return t.result(ctx, msg)
	}
	t.settle()
	if msg.Role == llm.Assistant {
		t.out = append(t.out, t.m.spoken(msg, content(msg)))
		t.open = len(msg.Calls)
		return nil
	}
	w := writer{}
	for _, p := range msg.Drawn() {
		shows, err := w.add(ctx, t.m.server, p, &t.left)
		if err != nil {
			return err
		}
		t.shows = t.shows || shows
	}
	t.out = append(t.out, wireMessage{Role: "user", Content: contentOf(w.content(msg.Envelope))})
	return nil
}

// contentOf is a plain text where there is nothing else.
func contentOf(pieces []fragment) any {
	if len(pieces) == 1 {
		return pieces[0].text
	}
	var parts []wirePart
	for _, p := range pieces {
		parts = append(parts, partOf(p))
	}
	return parts
}

func partOf(p fragment) wirePart {
	switch {
	case p.media == nil:
		return wirePart{Type: "text", Text: p.text}
	case p.media.Image:
		return wirePart{Type: "image_url", ImageURL: &wireURL{URL: p.media.URL()}}
	default:
		return wirePart{Type: "file", File: &wireFile{Filename: p.media.Name, FileData: p.media.URL()}}
	}
}

// result adds what a tool gave. The protocol's tool messages hold only text; what they show follows as a message of the user's
// when the last result of the answer has come, because nothing may stand between the results of one answer.
func (t *transcript) result(ctx context.Context, msg llm.Message) error {
	w := writer{}
	for _, p := range msg.Parts {
		text, shown, err := t.m.show(ctx, p, &t.left)
		if err != nil {
			return err
		}
		w.say(text)
		if shown != nil {
			t.late = append(t.late, wirePart{Type: "text", Text: "[from the result of " + msg.CallID + "] " + fileLine(p)}, partOf(fragment{media: shown}))
		}
	}
	t.out = append(t.out, wireMessage{Role: "tool", Content: contentOf(w.content(msg.Envelope)), ToolCallID: msg.CallID})
	t.open--
	if t.open == 0 {
		t.settle()
	}
	return nil
}

// settle adds what the results of the last answer show.
func (t *transcript) settle() {
	if len(t.late) == 0 {
		return
	}
	t.out = append(t.out, wireMessage{Role: "user", Content: t.late})
	t.late, t.shows = nil, true
}

// spoken is what the model itself said earlier. Arguments go back as the very bytes that came.
func (m chat) spoken(msg llm.Message, text string) wireMessage {
	w := wireMessage{Role: "assistant"}
	if text != "" || len(msg.Calls) == 0 {
		w.Content = text
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
			piece = fileLine(p)
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
