package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// codexClient is the client version that requests report. The server hides models that need a newer client.
const codexClient = "1.0.0"

// models requests the standard list (https://platform.openai.com/docs/api-reference/models/list). Codex has a list of its own, documented
// only by the source of OpenAI's client (openai/codex, codex-rs/codex-api/src/endpoint/models.rs).
func (a asker) models(ctx context.Context) (*wire.Collection, error) {
	u := a.Below("models")
	if a.Config.Provider == codex {
		u.RawQuery = "client_version=" + codexClient
	}
	body, err := a.Fetch(ctx, u)
	if err != nil {
		return nil, err
	}
	l, err := a.parse(body)
	if err != nil {
		return nil, err
	}
	// codex has a list of its own form; the others must answer with the list of the protocol, though some omit its type.
	c := wire.NewCollection()
	switch {
	case a.Config.Provider == codex && l.Models != nil:
		l.addCodex(c)
		return c, nil
	case a.Config.Provider == codex || l.Data == nil && l.Object != "list":
		return nil, a.NoList(body)
	}
	for _, m := range rows[wireModel](l.Data) {
		c.Add(m.entry(a.Config.Provider))
		if !m.talks() {
			c.Hide(m.ID)
		}
	}
	return c, nil
}

// wireList is a list in any of its forms: {"object": "list", "data": […]}, {"models": […]}, or a bare […].
type wireList struct {
	Object string            `json:"object"`
	Data   []json.RawMessage `json:"data"`
	Models []json.RawMessage `json:"models"`
}

// parse decodes a list. Anything else is malformed, even with the status 200.
func (a asker) parse(body []byte) (wireList, error) {
	var l wireList
	var err error
	if bytes.HasPrefix(body, []byte("[")) {
		err = json.Unmarshal(body, &l.Data)
	} else {
		err = json.Unmarshal(body, &l)
	}
	if err != nil || l.Data == nil && l.Models == nil && l.Object != "list" { // ollama writes null for an empty list
		return wireList{}, a.NoList(body)
	}
	return l, nil
}

// rows decodes the rows of a list. A field of an unexpected type stays empty; a row that is not an object is dropped.
func rows[T any](raw []json.RawMessage) []T {
	all := make([]T, 0, len(raw))
	for _, r := range raw {
		var row T
		// Field is empty when the row itself has the wrong type.
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(r, &row)); ok && wrong.Field == "" {
			continue
		}
		all = append(all, row)
	}
	return all
}

// wireModel is a row of the standard list. Except for id, each field belongs to one kind of server.
type wireModel struct {
	ID            string  `json:"id"`
	Name          string  `json:"name"`                  // OpenRouter (https://openrouter.ai/docs/models)
	ContextLength float64 `json:"context_length"`        // OpenRouter
	ContextWindow float64 `json:"context_window"`        // Groq
	MaxModelLen   float64 `json:"max_model_len"`         // vLLM, SGLang
	MaxContext    float64 `json:"max_context_length"`    // Mistral
	MaxCompletion float64 `json:"max_completion_tokens"` // Groq
	Meta          struct {
		Context float64 `json:"n_ctx"`
		Trained float64 `json:"n_ctx_train"`
		Bytes   float64 `json:"size"`
	} `json:"meta"` // llama.cpp
	Top struct {
		Context       float64 `json:"context_length"`
		MaxCompletion float64 `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Pricing struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		CacheRead  string `json:"input_cache_read"`
	} `json:"pricing"`
	Architecture struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	Parameters []string `json:"supported_parameters"`
}

// talks reports whether the model produces text. Without information it does.
func (m wireModel) talks() bool {
	return m.Architecture.Output == nil || slices.Contains(m.Architecture.Output, "text")
}

// entry converts a row. Where a server has several fields for a value, the more specific one wins.
func (m wireModel) entry(backend string) llm.Entry {
	e := llm.Entry{
		ID: m.ID, Name: m.Name,
		Context:   count(m.ContextLength, m.Top.Context, m.ContextWindow, m.MaxModelLen, m.MaxContext, m.Meta.Context, m.Meta.Trained),
		Window:    count(m.Top.Context, m.ContextLength, m.ContextWindow, m.MaxModelLen, m.MaxContext, m.Meta.Context),
		MaxOutput: count(m.Top.MaxCompletion, m.MaxCompletion),
		Bytes:     size(m.Meta.Bytes),
		Tools:     among(m.Parameters, "tools"),
		Vision:    among(m.Architecture.Input, "image"),
	}
	if backend == openRouter { // other servers use the same fields with other units
		e.Price, e.Free = price(m.Pricing.Prompt, m.Pricing.CacheRead, m.Pricing.Completion)
	}
	return e
}

// count returns the first number that is a possible count of tokens.
func count(numbers ...float64) int {
	for _, n := range numbers {
		if n >= 1 && n <= math.MaxInt32 {
			return int(n)
		}
	}
	return 0
}

// size converts a number of bytes; an impossible one is 0.
func size(n float64) int64 {
	if n < 1 || n > 1<<53 {
		return 0
	}
	return int64(n)
}

// among reports whether the list contains name; nil without a list.
func among(list []string, name string) *bool {
	if list == nil {
		return nil
	}
	found := slices.Contains(list, name)
	return &found
}

// price converts prices per token, in dollars as decimal texts. A negative price means that it varies, so it is unknown.
func price(input, cached, output string) (p llm.Price, free bool) {
	// Both prices must be known: with one of them the cost of a request would be too low.
	in, okIn := perMillion(input)
	out, okOut := perMillion(output)
	if !okIn || !okOut {
		return llm.Price{}, false
	}
	p = llm.Price{Input: in, Output: out}
	p.Cached, _ = perMillion(cached) // unknown is 0
	return p, in == 0 && out == 0
}

// perMillion converts dollars per token to millionths of a dollar per million tokens. A price above 0 never becomes 0.
func perMillion(dollars string) (int64, bool) {
	f, err := strconv.ParseFloat(dollars, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, false
	}
	// A million tokens and a million millionths per dollar give the factor 1e12.
	micros := int64(math.Round(f * 1e12))
	// Zero would mean that the model is free.
	if micros == 0 && f > 0 {
		micros = 1
	}
	return micros, true
}

// addCodex adds Codex's list. It has another shape, and some of its models are not meant to be chosen (openai/codex,
// codex-rs/protocol/src/openai_models.rs).
func (l wireList) addCodex(c *wire.Collection) {
	type wireCodex struct {
		Slug       string   `json:"slug"`
		Name       string   `json:"display_name"`
		Visibility string   `json:"visibility"` // list, hide, none
		Context    float64  `json:"context_window"`
		Input      []string `json:"input_modalities"`
	}
	for _, m := range rows[wireCodex](l.Models) {
		c.Add(llm.Entry{ID: m.Slug, Name: m.Name, Context: count(m.Context), Window: count(m.Context), Vision: among(m.Input, "image")})
		if m.Visibility != "list" {
			c.Hide(m.Slug)
		}
	}
}
