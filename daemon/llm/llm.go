package llm

import (
	"cmp"
	"context"
	"encoding/json"

	"hob/daemon/event"
)

// Model answers requests. Every backend implements it; implementations are safe for concurrent use.
type Model interface {
	// Info describes the model and its price. It is cheap and never blocks.
	Info() Info
	// Answer sends one request and blocks until the answer is complete. It calls delta for each piece as it arrives, from the same
	// goroutine; delta may be nil. A stream that ends without a finish reason is an error. Errors are *Error where the cause is known.
	Answer(ctx context.Context, r Request, delta func(Delta)) (Answer, error)
}

// Builtin is the provider name of the built-in interpreter. It calls tools only for commands that the owner wrote himself.
const Builtin = "builtin"

// Info describes a model for the plan, the budget and the owner.
type Info struct {
	Provider    string // backend name: "builtin", "openrouter", …
	Model       string // the provider's name for the model
	Server      string // opaque; equal for models that share an address and a key
	Local       bool   // free of charge: the budget reserves nothing for it
	Interpreter bool   // reads the structured request, not text: it needs no stable prompt prefix
	Context     int    // largest request, in tokens
	MaxOutput   int    // largest answer, in tokens
	Few         bool   // requests describe few tools
	Price       Price
}

// SmallWindow is the window, in tokens, below which requests are fitted: they describe few tools, and the workspace files are shortened.
const SmallWindow = 16_384

// Small reports whether the model's window is small.
func (i Info) Small() bool { return i.Context > 0 && i.Context < SmallWindow }

// Name returns "backend/model", or just the backend's name when both are the same.
func (i Info) Name() string {
	if i.Model == "" || i.Model == i.Provider {
		return i.Provider
	}
	return i.Provider + "/" + i.Model
}

// Limits of the text of one file in a request. A token counts as three bytes, because it rarely has fewer.
const (
	maxFileText   = 200 << 10 // in bytes
	fileShare     = 25        // of the model's window, in percent
	bytesPerToken = 3
)

// FileText returns how many bytes of a text file a request shows at most.
func (i Info) FileText() int {
	if i.Context <= 0 {
		return maxFileText
	}
	return min(i.Context*fileShare/100*bytesPerToken, maxFileText)
}

// Files opens the artifacts that the parts of a message refer to.
type Files interface {
	// Bytes returns the content of an artifact: 8 MB at most.
	Bytes(ctx context.Context, artifact string) ([]byte, error)
}

// Price is in millionths of the budget's currency per million tokens. A zero Price is unknown.
type Price struct {
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached,omitempty"`     // read from the provider's cache; 0: as Input
	Written   int64 `json:"written,omitempty"`    // written to the provider's cache for some minutes; 0: as Input
	Written1h int64 `json:"written_1h,omitempty"` // written to it for an hour; 0: as Written
	Output    int64 `json:"output"`

	// Some models cost more when the input is long: from LongFrom tokens on, every token of the request costs LongTimes as much. 0: never.
	LongFrom  int   `json:"long_from,omitempty"`
	LongTimes int64 `json:"long_times,omitempty"`
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

// Of returns u with its cost by this price, rounded up, unless the server has reported the cost.
func (p Price) Of(u Usage) Usage {
	if u.Priced || !p.Known() {
		return u
	}
	written := cmp.Or(p.Written, p.Input)
	sum := int64(u.Input-u.Cached-u.Written)*p.Input + int64(u.Cached)*cmp.Or(p.Cached, p.Input) +
		int64(u.Written-u.Written1h)*written + int64(u.Written1h)*cmp.Or(p.Written1h, written) + int64(u.Output)*p.Output
	if p.LongFrom > 0 && u.Input >= p.LongFrom {
		sum *= max(p.LongTimes, 1)
	}
	u.Cost, u.Priced = (sum+999_999)/1_000_000, true
	return u
}

// Most returns the highest cost of a request with so many tokens, whatever the provider's cache does with them; 0 without a price.
func (p Price) Most(input, output int) int64 {
	dearest := p
	dearest.Input = max(p.Input, p.Cached, p.Written, p.Written1h)
	return dearest.Of(Usage{Input: input, Output: output}).Cost
}

// Bill returns u with its cost, where that is known. A local model costs nothing.
func (i Info) Bill(u Usage) Usage {
	u.Priced = u.Priced || i.Local
	return i.Price.Of(u)
}

// Request is one complete request: a stable prefix (System, Tools), so that providers can cache it, and the transcript.
type Request struct {
	System    string
	Tools     []Tool
	Messages  []Message
	MaxOutput int // 0: the model's own limit
}

// Tool describes a function to the model. Parameters is a JSON Schema with an object at the root.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Message is one entry of the transcript. An assistant's message has text, calls or both. A tool message with the same CallID follows each
// call before any other message.
type Message struct {
	Role     Role
	Envelope *Envelope // of a user's input: adapters write it before the text
	Parts    []event.Part
	Calls    []Call
	CallID   string // of a tool message
	IsError  bool   // of a tool message
	Raw      json.RawMessage
	Step     Place
}

// Place is the turn and the step that a message belongs to.
type Place struct {
	Turn int64
	Step int
}

// Call is one tool call. ID is the provider's until hob assigns its own.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage // as the model sent them; possibly malformed
}

// Delta is a piece of an answer while it is being streamed.
type Delta struct {
	Text      string
	Reasoning string
}

// Finish is the reason that an answer ended.
type Finish string

// Reasons for the end of an answer.
const (
	Stop     Finish = "stop"
	ToolCall Finish = "tool_calls"
	Length   Finish = "length"   // cut by the output limit
	Filtered Finish = "refused"  // refused or filtered
	NotDone  Finish = "not_done" // the built-in interpreter did not understand the request, or lacks the tool for it
)

// Answer is one complete answer.
type Answer struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    Finish
	Usage     Usage
	Raw       json.RawMessage // provider data that later requests must repeat
	Repaired  []string        // what the server or the model wrote otherwise than the protocol says, and how it was read; for people
}

// Usage counts the tokens of one request. Cost is in millionths of the budget's currency; Priced says whether it is known.
type Usage struct {
	Input     int   `json:"input"`                      // all input tokens, including those read from the cache and written to it
	Cached    int   `json:"cached"`                     // read from the provider's cache
	Written   int   `json:"cache_written,omitempty"`    // written to the provider's cache, for which some ask more
	Written1h int   `json:"cache_written_1h,omitempty"` // those of Written that stay there for an hour
	Output    int   `json:"output"`                     // all output tokens, including reasoning
	Reasoning int   `json:"reasoning"`
	Cost      int64 `json:"cost_micros"`
	Priced    bool  `json:"priced"`
	Estimated bool  `json:"estimated,omitempty"` // the server reported no count
}

// Add returns the sum of two usages. Its cost is known only if both are.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Cached: u.Cached + v.Cached, Written: u.Written + v.Written, Written1h: u.Written1h + v.Written1h,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning, Cost: u.Cost + v.Cost,
		Priced: u.Priced && v.Priced, Estimated: u.Estimated || v.Estimated,
	}
}

// Tokens returns the sum of input and output tokens.
func (u Usage) Tokens() int64 { return int64(u.Input) + int64(u.Output) }
