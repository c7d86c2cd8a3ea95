package llm

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Backend is one kind of model server. The key backend of a model's section names it, and package llm/all lists all of them. The built-in
// interpreter is not a Backend: it has no server, and every installation has it.
type Backend struct {
	Name    string // lower case, unique
	BaseURL string // where its servers usually listen; "" when the config must set it
	Account bool   // requests use an account that signs in; Config.Auth is set
	Title   string // how people know a service that takes a key; "" for the other backends
	KeyName string // the environment variable in which its key usually is
	Bills   bool   // its answers say what they cost, or cost nothing but a subscription: the config needs no price
	Loads   bool   // its servers choose the window of a model when they load it, so they are asked for it again and again

	// New checks a configuration and makes a model of it; it does not connect. Errors are *event.Fault.
	New func(Config) (Model, error)
	// List asks a server for its models. It ignores Config.Model. Errors are *event.Fault with a hint.
	List func(context.Context, Config) ([]Entry, error)
	// Discover looks for model servers on this machine, of whatever backend; env looks up the environment. It takes less than a second. nil: it
	// finds none.
	Discover func(ctx context.Context, env func(string) string, log *slog.Logger) []Found
}

// Found is a server on this machine with its models.
type Found struct {
	Backend string // its name
	BaseURL string
	Models  []Entry
}

// Config describes one model at one server. A zero value means the backend's default.
type Config struct {
	Provider  string        // the backend's name
	Model     string        // the server's name of the model; required
	BaseURL   string        // without the protocol's own path, such as "/chat/completions"
	APIKey    string        // the key itself, not a reference; empty: no Authorization header
	MaxOutput int           // limit of one answer, in tokens
	Context   int           // size of one request, in tokens
	Learned   *Learned      // what the server has told of the model; nil: nothing yet
	Tools     string        // few or all: which tools requests describe; empty: few if the window is small
	Thinking  string        // off minimal low medium high xhigh; empty: nothing is sent and the model decides
	Idle      time.Duration // longest silence within an answer; default 60 s
	First     time.Duration // longest wait for the first byte; default 120 s
	HTTP      *http.Client  // redirects are refused unless it has a CheckRedirect; default: a client of its own
	Watch     Watch         // wraps the transport of that client; nil: nothing does
	Price     Price         // used when the server does not report the cost
	Files     Files         // opens the images and files of messages; nil: the request only names them

	// Auth returns the credentials of one request when an account is used instead of APIKey. It may refresh them, and blocks until that is
	// done. Errors are *Error.
	Auth func(context.Context) (Credentials, error)

	Rejected func(token string) // called when the server has rejected what Auth returned; the request is then sent once more
	Now      func() time.Time   // wall time, to measure Retry-After dates of servers that send no Date; default: the machine's clock
}

// Watch returns a transport that sees what another one sends and gets.
type Watch func(http.RoundTripper) http.RoundTripper

// Credentials authorize the requests of an account.
type Credentials struct {
	Token   string // bearer token
	Account string // the account's id; "" when there is none
}

// Entry is one model in a server's list. A field that the server does not report is zero or nil.
type Entry struct {
	ID            string `json:"id"` // the name that requests use
	Name          string `json:"name,omitempty"`
	Context       int    `json:"context_tokens,omitempty"`        // largest request, in tokens
	LoadedContext int    `json:"loaded_context_tokens,omitempty"` // of a loaded model: the largest request with its current settings
	Window        int    `json:"-"`                               // the largest request that the server accepts now; 0 if Context may only be the size for which the model was trained
	MaxOutput     int    `json:"max_output_tokens,omitempty"`     // largest answer, in tokens
	Price         Price  `json:"price,omitzero"`
	Free          bool   `json:"free,omitempty"` // the server says that the model costs nothing
	Tools         *bool  `json:"tools,omitempty"`
	Vision        *bool  `json:"vision,omitempty"`
	Loaded        *bool  `json:"loaded,omitempty"`       // the model is in memory, so the first answer needs no loading time
	Bytes         int64  `json:"bytes,omitempty"`        // size on disk
	Parameters    string `json:"parameters,omitempty"`   // as the server writes it: "8.0B"
	Quantization  string `json:"quantization,omitempty"` // "Q4_K_M"
}
