package llm

import (
	"context"
	"net/http"
	"time"
)

// Backend is one kind of model server, as a section's key backend names it. Package llm/all lists them. The built-in interpreter is not
// among them: it has no server, and every installation has it.
type Backend struct {
	Name    string // in lower case, unique
	BaseURL string // where its servers usually listen; "" when a section must say it
	Account bool   // it is used with an account that signs in: Config.Auth is set

	// New checks a configuration and makes a model of it; it does not connect. Errors are *event.Fault.
	New func(Config) (Model, error)
	// List asks a server which models it has. Config.Model is not used. Errors are *event.Fault with a hint.
	List func(context.Context, Config) ([]Entry, error)
}

// Config is one model at one server. Zero values mean the backend's default.
type Config struct {
	Provider  string        // the backend's name
	Model     string        // the server's name of the model; required
	BaseURL   string        // up to and without a protocol's own path, such as "/chat/completions"
	APIKey    string        // the key itself, not a reference; empty: no Authorization header
	MaxOutput int           // tokens of one answer at most
	Context   int           // tokens that fit into one request
	Thinking  string        // off minimal low medium high xhigh; empty: nothing is sent, the model decides
	Idle      time.Duration // longest silence in the middle of an answer; 60 s
	First     time.Duration // longest wait for its first byte; 120 s
	HTTP      *http.Client  // its redirects are not followed unless it says how; default: a client of its own
	Price     Price         // for answers whose cost the server does not report
	Files     Files         // opens images and files of messages; nil: the request only names them

	// Auth returns the credentials of one request, of an account instead of APIKey; it may refresh them, and blocks for that long. Errors
	// are *Error.
	Auth func(context.Context) (Credentials, error)

	Spoiled func(token string) // called when the server has refused what Auth returned; the request is then sent once more
	Now     func() time.Time   // wall time, for Retry-After dates of servers that send no Date; the machine's clock
}

// Credentials are what an account's request carries.
type Credentials struct {
	Token   string // bearer token
	Account string // the account's id, "" when there is none
}

// Entry is one model of a server's list. What the server does not report is zero, or nil.
type Entry struct {
	ID            string `json:"id"` // what requests call it
	Name          string `json:"name,omitempty"`
	Context       int    `json:"context_tokens,omitempty"`        // tokens that fit into one request at most
	LoadedContext int    `json:"loaded_context_tokens,omitempty"` // of a loaded model: those that fit as it is loaded
	MaxOutput     int    `json:"max_output_tokens,omitempty"`     // tokens of one answer at most
	Price         Price  `json:"price,omitzero"`
	Free          bool   `json:"free,omitempty"` // the server says that it costs nothing
	Tools         *bool  `json:"tools,omitempty"`
	Vision        *bool  `json:"vision,omitempty"`
	Loaded        *bool  `json:"loaded,omitempty"`       // it is in memory: the first answer comes without a wait
	Bytes         int64  `json:"bytes,omitempty"`        // on disk
	Parameters    string `json:"parameters,omitempty"`   // as the server writes it: "8.0B"
	Quantization  string `json:"quantization,omitempty"` // "Q4_K_M"
}
