package llm

import (
	"context"
	"encoding/json"

	"hob/daemon/event"
)

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Info says what the model is and what it may cost; it is cheap and never blocks.
	Info() Info
	// Answer sends one request and blocks until the whole answer is there, calling delta for each piece as it comes
	// (from the same goroutine; delta may be nil). A stream that ends without a finish reason is an error.
	// Errors are *Error where the cause is known.
	Answer(ctx context.Context, r Request, delta func(Delta)) (Answer, error)
}

// Builtin is the provider of the built-in interpreter, which calls tools only as the owner's own words say.
const Builtin = "builtin"

// Info describes a model.
type Info struct {
	Provider  string // backend name: "builtin", "openrouter", …
	Model     string // the provider's name of the model
	Server    string // what models with one address and one key have in common; opaque
	Local     bool   // it costs nothing: nothing is reserved for it
	Bare      bool   // it reads structure, not text: no prefix is kept for it
	Context   int    // tokens that fit into one request
	MaxOutput int    // tokens of one answer at most
	Price     Price
}

// Name is "backend/model", or just the backend's name where that says it all.
func (i Info) Name() string {
	if i.Model == "" || i.Model == i.Provider {
		return i.Provider
	}
	return i.Provider + "/" + i.Model
}

// Files opens what the parts of a message refer to.
type Files interface {
	// Bytes returns the content of an artifact: 8 MB at most.
	Bytes(ctx context.Context, artifact string) ([]byte, error)
}

// Price is in millionths of the budget's currency for a million tokens. Zero values mean that the price is not known.
type Price struct {
	Input  int64 `json:"input"`
	Cached int64 `json:"cached,omitempty"`
	Output int64 `json:"output"`
}

// Known reports whether there is a price.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

// Of adds the cost of a request by this price, rounded up, unless the server has told it. A cached token costs as much as a
// fresh one unless it has a price of its own.
func (p Price) Of(u Usage) Usage {
	if u.Priced || !p.Known() {
		return u
	}
	cached := p.Cached
	if cached == 0 {
		cached = p.Input
	}
	sum := int64(u.Input-u.Cached)*p.Input + int64(u.Cached)*cached + int64(u.Output)*p.Output
	u.Cost, u.Priced = (sum+999_999)/1_000_000, true
	return u
}

// Bill is a usage with what it costs, where that is known; a model of the owner's own machine costs nothing.
func (i Info) Bill(u Usage) Usage {
	u.Priced = u.Priced || i.Local
	return i.Price.Of(u)
}

// Request is a whole request: a stable prefix (System, Tools) and the transcript.
type Request struct {
	System    string
	Tools     []Tool
	Messages  []Message
	MaxOutput int // 0: the model's own limit
}

// Tool is a function that the model may call. Parameters is a JSON Schema with an object at the root.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Message is one entry of a transcript. An assistant's message has text, calls or both;
// each call is followed by a tool message with its ID before any other message.
type Message struct {
	Role     Role
	Envelope *Envelope // of a user's input; adapters draw it before the text
	Parts    []event.Part
	Calls    []Call
	CallID   string // of a tool message
	IsError  bool   // of a tool message
	Raw      json.RawMessage
	Step     Place
}

// Place says which turn and step an entry belongs to.
type Place struct {
	Turn int64
	Step int
}

// Call is one tool call. ID is the provider's until hob has minted its own.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage // as the model sent them; may be malformed
}

// Delta is a piece of an answer on its way.
type Delta struct {
	Text      string
	Reasoning string
}

// Finish says why an answer ended.
type Finish string

// The reasons that an answer ends.
const (
	Stop     Finish = "stop"
	ToolCall Finish = "tool_calls"
	Length   Finish = "length"  // cut by the output limit
	Filtered Finish = "refused" // refused or filtered
)

// Answer is one complete answer.
type Answer struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    Finish
	Usage     Usage
	Raw       json.RawMessage // what the provider wants to see again
}

// Usage counts one request. Cost is in millionths of the budget's currency; Priced says whether it is known.
type Usage struct {
	Input     int   `json:"input"` // all input tokens, the cached ones among them
	Cached    int   `json:"cached"`
	Output    int   `json:"output"` // all output tokens, the reasoning ones among them
	Reasoning int   `json:"reasoning"`
	Cost      int64 `json:"cost_micros"`
	Priced    bool  `json:"priced"`
	Estimated bool  `json:"estimated,omitempty"` // the server has counted nothing
}

// Tokens is what the request used in all.
func (u Usage) Tokens() int64 { return int64(u.Input) + int64(u.Output) }
