package llm

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Chain holds the models in the owner's order of preference. A model that failed lately cools down: the chain asks models that are not
// cooling down first. A Chain is safe for concurrent use.
type Chain struct {
	models []Model

	mu    sync.Mutex
	rests map[string]Rest
	last  map[string]string // by model: why its last request failed, "" after an answer; nothing before the first request
}

// Rest is the cool-down of a model or of a server. Until it ends, other models are asked first.
type Rest struct {
	Fault Fault     `json:"fault"`
	Text  string    `json:"text"` // the error's text
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Times int       `json:"times"` // failures in a row; each one doubles the length
}

// NewChain makes a chain of one or more models, the preferred one first.
func NewChain(first Model, more ...Model) *Chain {
	return &Chain{models: append([]Model{first}, more...), rests: map[string]Rest{}, last: map[string]string{}}
}

// First returns the model that the owner prefers.
func (c *Chain) First() Model { return c.models[0] }

// Models returns all models in the owner's order.
func (c *Chain) Models() []Model { return slices.Clone(c.models) }

// Resting returns the cool-down that holds for m at now, if there is one. The model's own and its server's count; the longer one wins.
func (c *Chain) Resting(m Model, now time.Time) (Rest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resting(m.Info(), now)
}

// resting returns the longest rest that the model or its server still has.
func (c *Chain) resting(i Info, now time.Time) (longest Rest, found bool) {
	for _, key := range []string{i.model(), i.server()} {
		if r, ok := c.rests[key]; ok && r.Until.After(now) && r.Until.After(longest.Until) {
			longest, found = r, true
		}
	}
	return longest, found
}

// Last returns why the last request to m failed, "" after an answer. tried is false before the first request.
func (c *Chain) Last(m Model) (fault string, tried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fault, tried = c.last[m.Info().model()]
	return fault, tried
}

// Tried notes the result of a request that belongs to no plan: why it failed, or "" for an answer, which ends the cool-downs.
func (c *Chain) Tried(match func(Info) bool, fault string) {
	for _, m := range c.models {
		switch i := m.Info(); {
		case !match(i):
		case fault == "":
			c.worked(i)
		default:
			c.note(i, fault)
		}
	}
}

// note keeps the result of the last request to a model.
func (c *Chain) note(i Info, fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[i.model()] = fault
}

// Is reports whether both are the same model at the same server, whatever is known about it.
func (i Info) Is(other Info) bool { return i.model() == other.model() }

func (i Info) server() string { return "server " + i.Provider + " " + i.Server }
func (i Info) model() string  { return "model " + i.Provider + " " + i.Server + " " + i.Model }

// failed starts or extends a cool-down. A fault of the key or of the connection cools down the whole server, another one only the model. A
// fault that belongs to a single request (BadRequest, TooLarge, …) starts none: it does not predict the next request.
func (c *Chain) failed(i Info, err error, now time.Time) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Fault.ofRequest() {
		return
	}
	key, first, longest := i.model(), 30*time.Second, 10*time.Minute
	switch e.Fault {
	case Forbidden:
		first = time.Minute
	case Auth, Payment, Untrusted:
		key, first, longest = i.server(), 10*time.Minute, time.Hour
	case NotFound, NoTools:
		first, longest = 10*time.Minute, time.Hour
	case Network:
		key, first, longest = i.server(), 15*time.Second, 5*time.Minute
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Rest{Fault: e.Fault, Text: e.Error(), Since: now, Times: 1}
	if old, ok := c.rests[key]; ok {
		r.Since, r.Times = old.Since, old.Times+1
	}
	// The length doubles with each failure, up to longest. A server's own Retry-After may be longer than both.
	r.Until = now.Add(max(min(first<<min(r.Times-1, 10), longest), e.RetryAfter))
	c.rests[key] = r
}

// Wake ends the cool-downs of the matching models, for example after the owner has signed in again.
func (c *Chain) Wake(match func(Info) bool) {
	for _, m := range c.models {
		if i := m.Info(); match(i) {
			c.rested(i)
		}
	}
}

// worked notes that a model has answered.
func (c *Chain) worked(i Info) {
	c.note(i, "")
	c.rested(i)
}

// rested ends the cool-downs of a model and of its server.
func (c *Chain) rested(i Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rests, i.model())
	delete(c.rests, i.server())
}
