// Package openai talks to language models over two protocols: Chat Completions with streaming
// (https://platform.openai.com/docs/api-reference/chat) for lmstudio, ollama, openrouter, openai and every compatible server, and Responses
// (https://platform.openai.com/docs/api-reference/responses) for codex.
//
// A request passes through three steps. encode writes the body from the transcript (request.go, responses_request.go). exchange posts it
// and guards against silent servers (exchange.go, events.go). An assembly of the protocol builds the answer from the stream, piece by piece
// (assemble.go, responses_events.go), and finish adds the usage (answer.go, responses_answer.go). refusal.go turns HTTP errors into
// llm.Error; list*.go and discover.go list models.
//
// One call is one attempt: the package never retries, except once with new credentials, never falls back to another model, and never reads
// the environment.
package openai

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"

	api "github.com/openai/openai-go/v3/responses"
)

// Limits and defaults.
const (
	defaultIdle      = 60 * time.Second
	defaultFirst     = 120 * time.Second
	defaultMaxOutput = 8192
	codexOutput      = 128_000 // for account models, whose output cannot be limited by the request
	defaultContext   = 200_000
	homeContext      = 32_768 // for servers at home, which often cut longer requests silently
)

// server is one model at one address: the part that both protocols share.
type server struct {
	cfg   llm.Config
	api   api.ResponseService
	blind atomic.Bool // the model has refused an image; later requests describe images in words
}

// chat implements llm.Model over Chat Completions.
type chat struct{ *server }

// New checks a configuration and returns its model. It does not connect. Errors are *event.Fault.
func New(c llm.Config) (llm.Model, error) {
	c = withDefaults(c)
	if err := check(c); err != nil {
		return nil, err
	}
	s := newServer(c)
	if c.Provider == codex {
		return &responses{server: s}, nil
	}
	return chat{s}, nil
}

// Info describes the model. A backend that runs on this machine costs nothing and counts as local.
func (s *server) Info() llm.Info {
	return llm.Info{
		Provider: s.cfg.Provider, Model: s.cfg.Model, Server: s.cfg.BaseURL + "#" + sys.Digest(s.cfg.APIKey), Local: free(s.cfg),
		Context: s.window(), MaxOutput: s.cfg.MaxOutput, Price: s.cfg.Price,
	}
}

// window returns the size of one request: what the server has told, else what is configured, else the usual size. A configured size
// below the server's own holds, because the owner may want shorter requests than possible.
func (s *server) window() int {
	told := 0
	if s.cfg.Window != nil {
		told = s.cfg.Window()
	}
	switch {
	case told <= 0:
		return orElse(s.cfg.Context, contextOf(s.cfg.Provider))
	case s.cfg.Context > 0:
		return min(told, s.cfg.Context)
	default:
		return told
	}
}

// withDefaults fills in the zero values of c.
func withDefaults(c llm.Config) llm.Config {
	if c.BaseURL == "" {
		c.BaseURL = defaultURL(c.Provider)
		if c.Provider == codex && c.Auth == nil {
			c.BaseURL = defaultURL(openAI) // Codex's own service accepts only accounts
		}
	}
	if c.Provider == codex && c.Auth != nil {
		c.MaxOutput = orElse(c.MaxOutput, codexOutput)
	}
	// The general defaults fill in what the config and the backend leave open.
	c.MaxOutput = orElse(c.MaxOutput, defaultMaxOutput)
	c.Idle = orElse(c.Idle, defaultIdle)
	c.First = orElse(c.First, defaultFirst)
	c.HTTP = client(c.HTTP)
	if c.Now == nil {
		c.Now = sys.RealClock().Wall
	}
	return c
}

// orElse returns v if it is positive, and the other value if not.
func orElse[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// contextOf returns the default size of a request, in tokens.
func contextOf(provider string) int {
	switch provider {
	case lmStudio, ollama, compatible:
		return homeContext
	default:
		return defaultContext
	}
}

// client returns the given client, or a new one without a proxy.
func client(given *http.Client) *http.Client {
	if given != nil {
		return given
	}
	c := &http.Client{}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // the environment's proxy settings are ignored
		c.Transport = t
	}
	return c
}

// check returns what the owner must correct in the config.
func check(c llm.Config) error {
	if strings.TrimSpace(c.Model) == "" {
		return event.NewFault(event.Invalid, `set model = "…" in [model]`, "the model has no name")
	}
	if c.BaseURL == "" {
		return event.NewFault(event.Invalid, "set base_url, or use one of the backends "+strings.Join([]string{lmStudio, ollama, openRouter, openAI, codex, compatible}, ", "),
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

// free reports whether the server runs models on this machine.
func free(c llm.Config) bool {
	if c.Provider != lmStudio && c.Provider != ollama {
		return false
	}
	// The name of the backend does not prove where it runs: base_url may be another machine's.
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
