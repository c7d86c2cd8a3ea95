// Package openai speaks to language models over the Chat Completions protocol with streaming,
// the common tongue of lmstudio, ollama, openrouter, openai and every compatible server
// (https://platform.openai.com/docs/api-reference/chat), and over the Responses protocol with
// codex (https://platform.openai.com/docs/api-reference/responses). One request is one attempt:
// it never retries, never falls back to another model, and never reads the environment.
package openai

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/wire"
	"hob/daemon/sys"
)

// Limits and defaults.
const (
	defaultIdle      = 60 * time.Second
	defaultFirst     = 120 * time.Second
	defaultMaxOutput = 8192
	codexOutput      = 128_000 // what the models of an account may say, which nobody can limit there
	defaultContext   = 200_000
	homeContext      = 32_768 // of servers that people run themselves, which often cut what is longer without a word
)

// The backends that need special care.
const (
	lmStudio   = "lmstudio"
	ollama     = "ollama"
	openRouter = "openrouter"
	openAI     = "openai"
	codex      = "codex"
	compatible = "compatible"
)

// Config is one model at one server. Zero values mean the default that is named with each field.
type Config struct {
	Provider  string             // backend name, one of Backends
	Model     string             // the server's name of the model; required
	BaseURL   string             // up to and without "/chat/completions" or "/responses"; default: DefaultBaseURL, of codex with a key: openai's
	APIKey    string             // the key itself, not a reference; empty: no Authorization header
	MaxOutput int                // tokens of one answer at most; 8192
	Context   int                // tokens that fit into one request; 200,000, of servers that people run themselves 32,768
	Thinking  string             // off minimal low medium high xhigh; empty: the model's own way, nothing is sent
	Idle      time.Duration      // longest silence in the middle of an answer; 60 s
	First     time.Duration      // longest wait for its first byte; 120 s
	HTTP      *http.Client       // its redirects are not followed unless it says how; default: a client of its own
	Price     llm.Price          // for answers whose cost the server does not tell
	Files     llm.Files          // opens images and files of messages; nil: they are named in words
	Auth      Auth               // of codex, instead of APIKey
	Spoiled   func(token string) // is told that the server has refused what Auth gave, which is then asked once more; nil: it is not
	Now       func() time.Time   // wall time, for Retry-After dates of servers that send no Date; the machine's clock
}

// Auth gives the credentials of one request; it may refresh them, and blocks for that long. Errors are *llm.Error.
type Auth func(ctx context.Context) (Credentials, error)

// Credentials are what an account's request carries.
type Credentials struct {
	Token   string // bearer token
	Account string // the account's id, "" when there is none
}

// server is one model at one address: what its protocols have in common.
type server struct {
	*wire.Server
	cfg   Config
	blind atomic.Bool // it has refused an image: they are named in words from then on
}

// chat speaks Chat Completions.
type chat struct{ *server }

// Backends names the backends that this package serves, in the order in which they are shown.
func Backends() []string { return []string{lmStudio, ollama, openRouter, openAI, codex, compatible} }

// DefaultBaseURL is where a backend usually listens; empty for "compatible" and for names that are not Backends.
func DefaultBaseURL(backend string) string {
	switch backend {
	case lmStudio:
		return "http://127.0.0.1:1234/v1"
	case ollama:
		return "http://127.0.0.1:11434/v1"
	case openRouter:
		return "https://openrouter.ai/api/v1"
	case openAI:
		return "https://api.openai.com/v1"
	case codex:
		return "https://chatgpt.com/backend-api/codex"
	default:
		return ""
	}
}

// New checks a configuration and makes a model of it; it does not connect. Errors are *event.Fault.
func New(c Config) (llm.Model, error) {
	c = withDefaults(c)
	if err := check(c); err != nil {
		return nil, err
	}
	s := &server{cfg: c, Server: wire.New(wire.Config{
		Model: c.Model, BaseURL: c.BaseURL, APIKey: c.APIKey, HTTP: c.HTTP, First: c.First, Idle: c.Idle, Now: c.Now,
	})}
	if c.Provider == codex {
		return &responses{server: s}, nil
	}
	return chat{s}, nil
}

// Info says what the model is. A backend that runs on this machine costs nothing and counts as local.
func (m *server) Info() llm.Info {
	return llm.Info{
		Provider: m.cfg.Provider, Model: m.cfg.Model, Server: m.cfg.BaseURL + "#" + sys.Digest(m.cfg.APIKey), Local: free(m.cfg),
		Context: m.cfg.Context, MaxOutput: m.cfg.MaxOutput, Price: m.cfg.Price,
	}
}

func withDefaults(c Config) Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL(c.Provider)
		if c.Provider == codex && c.Auth == nil {
			c.BaseURL = DefaultBaseURL(openAI) // no key opens the other door
		}
	}
	if c.Provider == codex && c.Auth != nil {
		c.MaxOutput = orElse(c.MaxOutput, codexOutput)
	}
	c.MaxOutput = orElse(c.MaxOutput, defaultMaxOutput)
	c.Context = orElse(c.Context, contextOf(c.Provider))
	c.Idle = orElse(c.Idle, defaultIdle)
	c.First = orElse(c.First, defaultFirst)
	c.HTTP = client(c.HTTP)
	if c.Now == nil {
		c.Now = sys.RealClock().Wall
	}
	return c
}

func orElse[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// contextOf is how many tokens fit into a request where nobody says it.
func contextOf(provider string) int {
	switch provider {
	case lmStudio, ollama, compatible:
		return homeContext
	default:
		return defaultContext
	}
}

// client is the given one, else one of its own.
func client(given *http.Client) *http.Client {
	if given != nil {
		return given
	}
	c := &http.Client{}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // nothing is taken from the environment
		c.Transport = t
	}
	return c
}

func check(c Config) error {
	if strings.TrimSpace(c.Model) == "" {
		return event.NewFault(event.Invalid, `set model = "…" in [model]`, "the model has no name")
	}
	if c.BaseURL == "" {
		return event.NewFault(event.Invalid, "set base_url, or use one of the backends "+strings.Join(Backends(), ", "),
			"no address is known for the backend %q", c.Provider)
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return event.NewFault(event.Invalid, `write it as "https://host/v1"`, "base_url %q is not a web address", c.BaseURL)
	}
	if c.Provider == codex && c.Auth == nil && c.APIKey == "" {
		return event.NewFault(event.Invalid, "sign in to ChatGPT, or set api_key", "the backend %q has no credentials", c.Provider)
	}
	if _, ok := effort(c.Thinking); !ok {
		return event.NewFault(event.Invalid, "use off, minimal, low, medium, high or xhigh", "thinking %q is not known", c.Thinking)
	}
	return nil
}

// free reports whether the server is one that runs models on this very machine.
func free(c Config) bool {
	if c.Provider != lmStudio && c.Provider != ollama {
		return false
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
