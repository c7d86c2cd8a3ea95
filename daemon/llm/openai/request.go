package openai

import (
	"context"
	"encoding/json"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// hob writes the request from its own structs. Provider caches are keyed by the bytes, so a release of a library must not change them, and a
// tool's schema must keep the order of its fields. Messages come last: a longer transcript then changes no byte
// of the earlier part.

// wireRequest is the body of POST /chat/completions (https://platform.openai.com/docs/api-reference/chat/create). The server gets either
// MaxTokens or MaxCompletionTokens, and at most one of the two fields for reasoning (think).
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

// wireStream asks for the usage, which a stream does not report otherwise.
type wireStream struct {
	IncludeUsage bool `json:"include_usage"`
}

// wireReasoning is OpenRouter's own form of reasoning_effort.
type wireReasoning struct {
	Effort string `json:"effort"`
}

// wireTool is a tool that the model may call. The protocol knows the type "function" only.
type wireTool struct {
	Type     string   `json:"type"`
	Function llm.Tool `json:"function"`
}

// wireMessage is one message. The reasoning fields and Extra go back to the server that sent them (replay).
type wireMessage struct {
	Role             string          `json:"role"`
	Content          any             `json:"content,omitempty"` // a text, or []wirePart with images or files
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []wireCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

// wirePart is a text, an image or a file; Type says which of the other fields is set.
type wirePart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *wireURL  `json:"image_url,omitempty"`
	File     *wireFile `json:"file,omitempty"`
}

// wireURL is the content of an image, as a data URL.
type wireURL struct {
	URL string `json:"url"`
}

// wireFile is a document with its name. FileData is a data URL.
type wireFile struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

// wireCall is a call of an earlier answer, with the id that its result refers to.
type wireCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

// wireFunction names the tool. Arguments is JSON text, not an object.
type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Answer sends one request and reads the stream to its end. When ctx ends, the error wraps ctx's cause; every other error is an *llm.Error.
func (m chat) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (answer llm.Answer, err error) {
	err = m.Adapt(r, func(r llm.Request) error {
		body, shows, err := m.encode(ctx, r)
		if err != nil {
			return err
		}
		a := m.newAssembly(delta, m.Limit(r.MaxOutput), r.Tools)
		err = m.Exchange(ctx, wire.Post{Path: "chat/completions", Body: body}, a)
		// If the refusal is about the images, the next attempt describes them in words.
		if err != nil && shows {
			err = m.AsNoImages(err)
		}
		if err == nil {
			answer, err = m.finish(a, len(body))
		}
		return err
	})
	return answer, m.Cleaned(err)
}

// encode writes the body of a request, and reports whether it shows images or files. An equal request gives equal bytes, if its files can
// still be opened.
func (m chat) encode(ctx context.Context, r llm.Request) (body []byte, shows bool, err error) {
	w := wireRequest{Model: m.Config.Model, Stream: true, StreamOptions: wireStream{IncludeUsage: true}}
	// OpenAI's newer models reject max_tokens; other servers do not know max_completion_tokens.
	if w.MaxTokens = m.Limit(r.MaxOutput); m.Config.Provider == openAI {
		w.MaxTokens, w.MaxCompletionTokens = 0, w.MaxTokens
	}
	m.think(&w)
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: t})
	}
	// The first message is the system text, hence one more than the transcript has.
	t := transcript{m: m, out: make([]wireMessage, 0, len(r.Messages)+1), left: wire.MaxFiles}
	if err := t.write(ctx, r); err != nil {
		return nil, false, err
	}
	w.Messages = t.out
	body, err = m.Encode(w)
	return body, t.shows, err
}

// transcript writes the messages of one request. A message never depends on later ones, so a longer transcript only appends.
type transcript struct {
	m     chat
	out   []wireMessage
	shows bool // it contains an image or a file

	open int             // calls of the last answer that still have no result
	late []wirePart      // images and files from the results of that answer
	left wire.FileBudget // budget for the rest; every request sends all files again
}

// write converts the system text and the messages.
func (t *transcript) write(ctx context.Context, r llm.Request) error {
	role := t.m.SystemRole()
	if r.System != "" {
		t.out = append(t.out, wireMessage{Role: role, Content: r.System})
	}
	for _, msg := range r.Messages {
		if err := t.add(ctx, msg); err != nil {
			return err
		}
	}
	if role == "user" {
		t.join()
	}
	return nil
}

// join makes one message of texts of the user that follow each other.
func (t *transcript) join() {
	out := t.out[:0]
	for _, msg := range t.out {
		text, is := msg.Content.(string)
		if n := len(out); n > 0 && is && msg.Role == "user" && out[n-1].Role == "user" {
			if before, also := out[n-1].Content.(string); also {
				out[n-1].Content = before + "\n\n" + text
				continue
			}
		}
		out = append(out, msg)
	}
	t.out = out
}

// add writes one message. Tool results come first, because they must follow their calls directly.
func (t *transcript) add(ctx context.Context, msg llm.Message) error {
	if msg.Role == llm.ToolRole {
		return t.result(ctx, msg)
	}
	// Any other message ends the results of the last answer, even if some are missing.
	t.settle()
	if msg.Role == llm.Assistant {
		t.out = append(t.out, t.m.spoken(msg, wire.TextOf(msg)))
		t.open = len(msg.Calls)
		return nil
	}
	pieces, shows, err := t.m.Fragments(ctx, msg.QuotedParts(), msg.Envelope, &t.left)
	if err != nil {
		return err
	}
	t.shows = t.shows || shows
	t.out = append(t.out, wireMessage{Role: "user", Content: contentOf(pieces)})
	return nil
}

// contentOf returns a plain text if there is nothing else, and otherwise a list of parts.
func contentOf(pieces []wire.Fragment) any {
	if len(pieces) == 1 {
		return pieces[0].Text
	}
	var parts []wirePart
	for _, p := range pieces {
		parts = append(parts, partOf(p))
	}
	return parts
}

// partOf converts a text, an image or a file.
func partOf(p wire.Fragment) wirePart {
	switch {
	case p.Media == nil:
		return wirePart{Type: "text", Text: p.Text}
	case p.Media.Image:
		return wirePart{Type: "image_url", ImageURL: &wireURL{URL: p.Media.URL()}}
	default:
		return wirePart{Type: "file", File: &wireFile{Filename: p.Media.Name, FileData: p.Media.URL()}}
	}
}

// result adds a tool's result. The protocol allows only text in tool messages, and no other message between the results of one answer.
// Images and files therefore follow in a user message after the last result.
func (t *transcript) result(ctx context.Context, msg llm.Message) error {
	w := wire.Writer{}
	for _, p := range msg.Parts {
		text, shown, err := t.m.Show(ctx, p, &t.left)
		if err != nil {
			return err
		}
		w.Say(text)
		// The text in front of a file names the call again, because the file no longer follows its result.
		if shown != nil {
			t.late = append(t.late, wirePart{Type: "text", Text: "[from the result of " + msg.CallID + "] " + wire.FileLine(p)}, partOf(wire.Fragment{Media: shown}))
		}
	}
	t.out = append(t.out, wireMessage{Role: "tool", Content: contentOf(w.Content(msg.Envelope)), ToolCallID: msg.CallID})
	t.open--
	if t.open == 0 {
		t.settle()
	}
	return nil
}

// settle adds the images and files from the results of the last answer.
func (t *transcript) settle() {
	if len(t.late) == 0 {
		return
	}
	t.out = append(t.out, wireMessage{Role: "user", Content: t.late})
	t.late, t.shows = nil, true
}

// spoken returns an earlier message of the model. Arguments go back byte for byte as they came.
func (m chat) spoken(msg llm.Message, text string) wireMessage {
	w := wireMessage{Role: "assistant"}
	// The protocol requires content in a message without calls.
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
