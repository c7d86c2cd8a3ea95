package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// The same rules as in request.go: hob's own structs, and growing parts last.

// responsesRequest is the body of POST /responses (https://platform.openai.com/docs/api-reference/responses/create).
type responsesRequest struct {
	Model           string             `json:"model"`
	Stream          bool               `json:"stream"`
	Store           bool               `json:"store"` // false: the server stores nothing; the Codex backend accepts nothing else
	Include         []string           `json:"include"`
	Reasoning       responsesReasoning `json:"reasoning"`
	MaxOutputTokens int                `json:"max_output_tokens,omitempty"`
	CacheKey        string             `json:"prompt_cache_key"`
	ParallelCalls   bool               `json:"parallel_tool_calls,omitempty"`
	ToolChoice      string             `json:"tool_choice,omitempty"`
	Instructions    string             `json:"instructions,omitempty"`
	Tools           []responsesTool    `json:"tools,omitempty"`
	Input           []inputItem        `json:"input"`
}

// responsesReasoning asks for a level of thinking, and for a summary that people can read.
type responsesReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary"`
}

// responsesTool is a tool that the model may call. In this protocol its fields are not nested.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // false: strict schemas must require every property
}

// inputItem is a message, a call of an earlier answer, the result of the call with the same id, or earlier reasoning, which only the server that sent it
// can decrypt; Type says which. They have the order of the conversation.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role,omitempty"`
	Phase     string          `json:"phase,omitempty"`
	Content   []inputPart     `json:"content,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Output    any             `json:"output,omitempty"` // a text or a list of parts
	Summary   json.RawMessage `json:"summary,omitempty"`
	Encrypted string          `json:"encrypted_content,omitempty"`
}

// inputPart is a text, an image or a file. Text is a pointer because an empty text must be sent, too.
type inputPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Detail   string  `json:"detail,omitempty"`
	ImageURL string  `json:"image_url,omitempty"`
	Filename string  `json:"filename,omitempty"`
	FileData string  `json:"file_data,omitempty"`
}

// noInstructions replaces an empty system text: the Codex backend rejects a request without one.
const noInstructions = "You are a helpful assistant."

// encoded is a request in its wire form.
type encoded struct {
	body  []byte
	key   string // the session's cache key
	shows bool   // it contains images or files
}

// encode writes a request. An equal request gives equal bytes, if its files can still be opened.
func (m *responses) encode(ctx context.Context, r llm.Request, replay bool) (encoded, error) {
	think, _ := effort(m.Config.Thinking)
	w := responsesRequest{
		Model: m.Config.Model, Stream: true, Include: []string{"reasoning.encrypted_content"},
		Reasoning: responsesReasoning{Effort: think, Summary: "auto"}, Instructions: r.System,
	}
	if m.Config.Auth == nil {
		w.MaxOutputTokens = m.Limit(r.MaxOutput) // the Codex backend rejects it: {"detail":"Unsupported parameter: max_output_tokens"}
	} else if r.System == "" {
		w.Instructions = noInstructions
	}
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	// Without tools, a server may reject these two fields.
	if len(w.Tools) > 0 {
		w.ParallelCalls, w.ToolChoice = true, "auto"
	}
	w.CacheKey = cacheKey(r)
	// The transcript comes last in the body, so that a longer one shares all bytes before it.
	t := inputItems{m: m, replay: replay, left: wire.MaxFiles, out: make([]inputItem, 0, len(r.Messages))}
	for _, msg := range r.Messages {
		if err := t.add(ctx, msg); err != nil {
			return encoded{}, err
		}
	}
	w.Input = t.out
	body, err := m.Encode(w)
	return encoded{body: body, key: w.CacheKey, shows: t.shows}, err
}

// cacheKey is a digest of a session's beginning: equal for all requests of a session, different between sessions.
func cacheKey(r llm.Request) string {
	h := sha256.New()
	// The length before each text keeps two different lists from having the same bytes.
	add := func(text string) { h.Write([]byte(strconv.Itoa(len(text)) + ":" + text)) }
	add(r.System)
	for _, t := range r.Tools {
		add(t.Name)
		add(t.Description)
		add(string(t.Parameters))
	}
	if len(r.Messages) > 0 {
		add(wire.TextOf(r.Messages[0]))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// inputItems writes the transcript. A message never depends on later ones, so a longer transcript only appends.
type inputItems struct {
	m      *responses
	replay bool
	shows  bool            // it contains an image or a file
	left   wire.FileBudget // budget for the rest; every request sends all files again
	out    []inputItem
}

// add writes one message as input items.
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
		t.out = append(t.out, inputItem{Type: "message", Role: "user", Content: parts})
		return nil
	}
	// A result with files is a list of parts. A plain text is what all servers accept.
	r := inputItem{Type: "function_call_output", CallID: msg.CallID, Output: parts}
	if len(parts) == 1 {
		r.Output = parts[0].Text
	}
	t.out = append(t.out, r)
	return nil
}

// spoken returns an earlier message of the model as items. If this model wrote it, they keep their order; otherwise the text comes first.
// Reasoning without a following item is left out: the protocol requires the item that it led to.
func (m *responses) spoken(msg llm.Message, replay bool) []inputItem {
	var out []inputItem
	// whole is the length of out up to its last text or call.
	text, calls, whole := wire.TextOf(msg), msg.Calls, 0
	say := func(phase string) {
		if said := text; said != "" {
			out = append(out, inputItem{Type: "message", Role: "assistant", Phase: phase, Content: []inputPart{{Type: "output_text", Text: &said}}})
			text, whole = "", len(out)
		}
	}
	call := func() {
		if len(calls) > 0 {
			out = append(out, inputItem{Type: "function_call", CallID: calls[0].ID, Name: calls[0].Name, Arguments: string(calls[0].Args)})
			calls, whole = calls[1:], len(out)
		}
	}
	// The raw items of the answer have the order in which the model wrote text, calls and reasoning. Reasoning is replayed only to the same
	// model.
	for _, k := range m.kept(msg.Raw) {
		switch {
		case k.Type == itemMessage:
			say(k.Phase)
		case k.Type == itemCall:
			call()
		case k.Encrypted != "" && replay:
			out = append(out, inputItem{Type: itemReasoning, Summary: k.Summary, Encrypted: k.Encrypted})
		}
	}
	// Texts and calls that no raw item covers follow. Items after the last text or call are dropped: reasoning needs a successor.
	say("")
	for len(calls) > 0 {
		call()
	}
	return out[:whole]
}

// parts returns the content of a message: one part or more, the first of them text.
func (t *inputItems) parts(ctx context.Context, msg llm.Message) ([]inputPart, error) {
	pieces, shows, err := t.m.Fragments(ctx, msg.QuotedParts(), msg.Envelope, &t.left)
	if err != nil {
		return nil, err
	}
	t.shows = t.shows || shows
	var parts []inputPart
	for _, p := range pieces {
		switch {
		case p.Media == nil:
			parts = append(parts, inputPart{Type: "input_text", Text: &p.Text})
		case p.Media.Image:
			parts = append(parts, inputPart{Type: "input_image", Detail: "auto", ImageURL: p.Media.URL()})
		default:
			parts = append(parts, inputPart{Type: "input_file", Filename: p.Media.Name, FileData: p.Media.URL()})
		}
	}
	return parts, nil
}
