package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"hob/daemon/llm"
)

// As in request.go, the bytes are written out of own structs, and what grows comes last.

type responsesRequest struct {
	Model           string             `json:"model"`
	Stream          bool               `json:"stream"`
	Store           bool               `json:"store"` // false: nothing is kept there, and the Codex backend takes nothing else
	Include         []string           `json:"include"`
	Reasoning       responsesReasoning `json:"reasoning"`
	MaxOutputTokens int                `json:"max_output_tokens,omitempty"`
	CacheKey        string             `json:"prompt_cache_key"`
	ParallelCalls   bool               `json:"parallel_tool_calls,omitempty"`
	ToolChoice      string             `json:"tool_choice,omitempty"`
	Instructions    string             `json:"instructions,omitempty"`
	Tools           []responsesTool    `json:"tools,omitempty"`
	Input           []any              `json:"input"`
}

type responsesReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // false: strict schemas need every property to be required
}

type inputMessage struct {
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Phase   string      `json:"phase,omitempty"`
	Content []inputPart `json:"content"`
}

type inputPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Detail   string  `json:"detail,omitempty"`
	ImageURL string  `json:"image_url,omitempty"`
	Filename string  `json:"filename,omitempty"`
	FileData string  `json:"file_data,omitempty"`
}

type inputCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type inputResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a text, or a list of parts
}

type inputReasoning struct {
	Type      string          `json:"type"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

// noInstructions is sent where there is no system text: the Codex backend refuses a request without one.
const noInstructions = "You are a helpful assistant."

// encoded is a request as it is sent.
type encoded struct {
	body  []byte
	key   string // of its session
	shows bool   // there are images or files in it
}

// encode writes a request. The same request gives the same bytes, as long as its files can be opened.
func (m *responses) encode(ctx context.Context, r llm.Request, replay bool) (encoded, error) {
	think, _ := effort(m.cfg.Thinking)
	w := responsesRequest{
		Model: m.cfg.Model, Stream: true, Include: []string{"reasoning.encrypted_content"},
		Reasoning: responsesReasoning{Effort: think, Summary: "auto"}, Instructions: r.System,
	}
	if m.cfg.Auth == nil {
		w.MaxOutputTokens = m.limit(r.MaxOutput) // {"detail":"Unsupported parameter: max_output_tokens"} is what the Codex backend says
	} else if r.System == "" {
		w.Instructions = noInstructions
	}
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	if len(w.Tools) > 0 {
		w.ParallelCalls, w.ToolChoice = true, "auto"
	}
	w.CacheKey = cacheKey(r)
	t := inputItems{m: m, replay: replay, left: maxFiles, out: make([]any, 0, len(r.Messages))}
	for _, msg := range r.Messages {
		if err := t.add(ctx, msg); err != nil {
			return encoded{}, err
		}
	}
	w.Input = t.out
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return encoded{}, &llm.Error{Fault: llm.BadRequest, Err: fmt.Errorf("write the request: %w", err)}
	}
	if b.Len() > maxBody {
		return encoded{}, &llm.Error{Fault: llm.TooLarge, Text: fmt.Sprintf("the request has %d MB, at most %d MB are sent", b.Len()>>20, maxBody>>20)}
	}
	return encoded{body: bytes.TrimSuffix(b.Bytes(), []byte("\n")), key: w.CacheKey, shows: t.shows}, nil
}

// cacheKey is the same for all requests of a session, and another for another: a digest of what a session begins with.
func cacheKey(r llm.Request) string {
	h := sha256.New()
	add := func(text string) { h.Write([]byte(strconv.Itoa(len(text)) + ":" + text)) }
	add(r.System)
	for _, t := range r.Tools {
		add(t.Name)
		add(t.Description)
		add(string(t.Parameters))
	}
	if len(r.Messages) > 0 {
		add(content(r.Messages[0]))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// inputItems writes the transcript. What a message becomes depends on nothing behind it: a longer transcript only adds.
type inputItems struct {
	m      *responses
	replay bool
	shows  bool       // an image or a file is among them
	left   fileBudget // what the rest of the transcript may still show: all of it is sent again with each request
	out    []any
}

func (t *inputItems) add(ctx context.Context, msg llm.Message) error {
	if msg.Role == llm.Assistant {
		t.out = append(t.out, t.m.spoken(msg, t.replay)...)
		return nil
	}
	parts, err := t.parts(ctx, msg)
	if err != nil {
		return err
	}
	if msg.Role != llm.ToolRole {
		t.out = append(t.out, inputMessage{Type: "message", Role: "user", Content: parts})
		return nil
	}
	r := inputResult{Type: "function_call_output", CallID: msg.CallID, Output: parts}
	if len(parts) == 1 {
		r.Output = parts[0].Text
	}
	t.out = append(t.out, r)
	return nil
}

// spoken is what the model itself said earlier, in the order in which it came if this very model said it, else the text first.
// Reasoning with nothing behind it is left out: the protocol wants it in front of what it led to.
func (m *responses) spoken(msg llm.Message, replay bool) []any {
	var out []any
	text, calls, whole := content(msg), msg.Calls, 0
	say := func(phase string) {
		if said := text; said != "" {
			out = append(out, inputMessage{Type: "message", Role: "assistant", Phase: phase, Content: []inputPart{{Type: "output_text", Text: &said}}})
			text, whole = "", len(out)
		}
	}
	call := func() {
		if len(calls) > 0 {
			out = append(out, inputCall{Type: "function_call", CallID: calls[0].ID, Name: calls[0].Name, Arguments: string(calls[0].Args)})
			calls, whole = calls[1:], len(out)
		}
	}
	for _, k := range m.kept(msg.Raw) {
		switch {
		case k.Type == itemMessage:
			say(k.Phase)
		case k.Type == itemCall:
			call()
		case k.Encrypted != "" && replay:
			out = append(out, inputReasoning{Type: itemReasoning, Summary: k.Summary, Encrypted: k.Encrypted})
		}
	}
	say("")
	for len(calls) > 0 {
		call()
	}
	return out[:whole]
}

// parts is the content of a message: at least one part, the first of them text.
func (t *inputItems) parts(ctx context.Context, msg llm.Message) ([]inputPart, error) {
	w := writer{}
	for _, p := range msg.Drawn() {
		shows, err := w.add(ctx, t.m.server, p, &t.left)
		if err != nil {
			return nil, err
		}
		t.shows = t.shows || shows
	}
	var parts []inputPart
	for _, p := range w.content(msg.Envelope) {
		switch {
		case p.media == nil:
			parts = append(parts, inputPart{Type: "input_text", Text: &p.text})
		case p.media.Image:
			parts = append(parts, inputPart{Type: "input_image", Detail: "auto", ImageURL: p.media.URL()})
		default:
			parts = append(parts, inputPart{Type: "input_file", Filename: p.media.Name, FileData: p.media.URL()})
		}
	}
	return parts, nil
}
