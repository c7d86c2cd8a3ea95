// Package anthropic talks to Anthropic's models over the Messages API (https://platform.claude.com/docs/en/api/messages).
//
// A request passes through three steps. encode writes the body from the transcript, with the breakpoints of the prompt cache (request.go,
// cache.go, thinking.go). Package wire posts it. An assembly builds the answer from the stream (events.go), and finish adds the usage
// (answer.go). list.go lists models, known.go has what the list does not tell: prices and how a model thinks.
//
// One call is one attempt: the package never retries, except without what a refusal has named (wire.Adapt), never falls back to another
// model, and never reads the environment.
package anthropic

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

const (
	name    = "anthropic"
	baseURL = "https://api.anthropic.com/v1"
	version = "2023-06-01" // of the protocol

	defaultOutput  = 16_384  // tokens; thinking counts too
	defaultContext = 200_000 // tokens, where neither the server nor known.go tells the window
	mostImage      = 3_900_000
	mostPauses     = 4 // how often one answer may pause
)

// Anthropic is the service of Anthropic, and every server that speaks its protocol.
func Anthropic() llm.Backend {
	return llm.Backend{Name: name, BaseURL: baseURL, Title: "Anthropic", KeyName: "ANTHROPIC_API_KEY", New: New, List: List}
}

// model implements llm.Model.
type model struct {
	*wire.Server
	facts facts
	stale stale
}

// New checks a configuration and returns its model. It does not connect. Errors are *event.Fault.
func New(c llm.Config) (llm.Model, error) {
	if c.BaseURL == "" {
		c.BaseURL = baseURL
	}
	if err := wire.Check(c); err != nil {
		return nil, err
	}
	f := factsOf(c.Model)
	if _, ok := f.levels()[c.Thinking]; !ok && c.Thinking != "" {
		return nil, event.NewFault(event.Invalid, "use off, minimal, low, medium, high or xhigh", "thinking %q is not known", c.Thinking)
	}
	c.MaxOutput = wire.OrElse(c.MaxOutput, defaultOutput)
	if f.output > 0 {
		c.MaxOutput = min(c.MaxOutput, f.output)
	}
	c.Price = f.priced(c.Price)
	s := wire.NewServer(c)
	s.Usual, s.Documents, s.MostImage, s.RequestID = wire.OrElse(f.window, defaultContext), true, mostImage, "Request-Id"
	s.Header = http.Header{}
	sign(s.Header, llm.Credentials{Token: c.APIKey})
	return &model{Server: s, facts: f}, nil
}

// sign adds the key and the version of the protocol.
func sign(h http.Header, who llm.Credentials) {
	h.Set("anthropic-version", version)
	if who.Token != "" {
		h.Set("x-api-key", who.Token)
	}
}

// Answer sends one request and reads the stream to its end. If the answer pauses, it is sent back and the server continues it. When ctx
// ends, the error wraps its cause; every other error is an *llm.Error.
func (m *model) Answer(ctx context.Context, r llm.Request, delta func(llm.Delta)) (llm.Answer, error) {
	if delta == nil {
		delta = func(llm.Delta) {}
	}
	t, err := m.transcript(ctx, r)
	if err != nil {
		return llm.Answer{}, m.Cleaned(err)
	}
	whole := &assembly{delta: delta, room: wire.NewRoom(m.Limit(r.MaxOutput))}
	var used llm.Usage
	for pauses := 0; ; pauses++ {
		var answer llm.Answer
		err := m.Adapt(r, func(r llm.Request) error {
			body, err := m.encode(r, t)
			if err != nil {
				return err
			}
			whole.begin()
			if err := m.Exchange(ctx, wire.Post{Path: "messages", Body: body}, whole); err != nil {
				return m.sorted(err, t, pauses)
			}
			answer, err = m.finish(whole, len(body))
			return err
		})
		if err != nil {
			return llm.Answer{}, m.Cleaned(err)
		}
		if pauses > 0 {
			answer.Usage = used.Add(answer.Usage)
		}
		if whole.stop != pauseTurn || pauses == mostPauses {
			return answer, nil
		}
		used = answer.Usage
		t.messages = append(t.messages, message{Role: "assistant", Content: whole.sentBack()})
	}
}

// sorted corrects an error by the content of the request. After a pause, a part of the request has been billed.
func (m *model) sorted(err error, t *transcript, pauses int) error {
	e, ok := asError(err)
	if !ok {
		return err
	}
	e.Begun = e.Begun || pauses > 0
	switch {
	case e.Fault != llm.BadRequest:
	case spent(e.Text):
		e.Fault = llm.Payment
	case len(t.replayed) > 0 && refusesThinking(e.Text):
		m.stale.add(t.replayed)
		e.Fault = llm.Overloaded // the next request leaves the thinking out, so it may be sent again
	}
	if t.shows {
		return m.AsNoImages(err)
	}
	return err
}

// digest identifies the thinking of one answer.
type digest [sha256.Size]byte

// mostStale limits the number of remembered digests.
const mostStale = 10_000

// stale remembers thinking that the server no longer accepts, for example after a change of the account or of the conversation before it.
// It is safe for concurrent use.
type stale struct {
	mu   sync.Mutex
	seen map[digest]bool
}

// add remembers the digest of thinking.
func (s *stale) add(list []digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) > mostStale {
		s.seen = map[digest]bool{}
	}
	for _, d := range list {
		s.seen[d] = true
	}
}

// has reports whether thinking was refused before.
func (s *stale) has(d digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[d]
}
