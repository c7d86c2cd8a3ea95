// Package openai talks to language models over two protocols: Chat Completions with streaming
// (https://platform.openai.com/docs/api-reference/chat) for lmstudio, ollama, openrouter, openai and every compatible server, and Responses
// (https://platform.openai.com/docs/api-reference/responses) for codex.
//
// A request passes through three steps. encode writes the body from the transcript (request.go, responses_request.go). package wire posts it
// and guards against silent servers. An assembly of the protocol builds the answer from the stream, piece by piece (assemble.go,
// responses_events.go), and finish adds the usage (answer.go, responses_answer.go). list*.go and discover.go list models.
//
// One call is one attempt: the package never retries, except once with new credentials and without what a refusal has named (wire.Adapt),
// never falls back to another model, and never reads the environment.
package openai

import (
	"net"
	"net/url"
	"slices"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// Defaults, in tokens.
const (
	codexOutput    = 128_000 // for account models, whose output cannot be limited by the request
	defaultContext = 200_000
	homeContext    = 32_768 // for servers at home, which often cut longer requests silently
)

// chat implements llm.Model over Chat Completions.
type chat struct{ *wire.Server }

// New checks a configuration and returns its model. It does not connect. Errors are *event.Fault.
func New(c llm.Config) (llm.Model, error) {
	c = withDefaults(c)
	if err := check(c); err != nil {
		return nil, err
	}
	s := wire.NewServer(c)
	s.Local, s.Usual, s.Send = free(c), contextOf(c.Provider), newPoster(s.Config).send
	// Only the servers in this list accept a PDF file as a part of a message.
	s.Documents = slices.Contains([]string{openAI, openRouter, codex}, c.Provider)
	if c.Provider == codex {
		return &responses{Server: s}, nil
	}
	return chat{s}, nil
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
		c.MaxOutput = wire.OrElse(c.MaxOutput, codexOutput)
	}
	return c
}

// contextOf returns the default size of a request, in tokens.
func contextOf(provider string) int {
	if provider == lmStudio || provider == ollama || provider == compatible {
		return homeContext
	}
	return defaultContext
}

// check returns what the owner must correct in the config.
func check(c llm.Config) error {
	if err := wire.Check(c); err != nil {
		return err
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
