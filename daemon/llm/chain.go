package llm

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Chain is the models in the order in which the owner wants them asked. It remembers which of them have failed lately: they rest,
// and those that do not are asked before them. It is safe for concurrent use.
type Chain struct {
	models []Model

	mu    sync.Mutex
	rests map[string]Rest
}

// Rest is a cool-down: until it is over, other models are asked first.
type Rest struct {
	Fault Fault     `json:"fault"`
	Text  string    `json:"text"` // what went wrong
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Times int       `json:"times"` // failures in a row
}

// NewChain makes a chain of at least one model.
func NewChain(first Model, more ...Model) *Chain {
	return &Chain{models: append([]Model{first}, more...), rests: map[string]Rest{}}
}

// First is the model that the owner wants.
func (c *Chain) First() Model { return c.models[0] }

// Models are all of them, in the owner's order.
func (c *Chain) Models() []Model { return slices.Clone(c.models) }

// Resting returns a model's cool-down, its own or its server's, if one holds at now.
func (c *Chain) Resting(m Model, now time.Time) (Rest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resting(m.Info(), now)
}

func (c *Chain) resting(i Info, now time.Time) (longest Rest, found bool) {
	for _, key := range []string{i.model(), i.server()} {
		if r, ok := c.rests[key]; ok && r.Until.After(now) && r.Until.After(longest.Until) {
			longest, found = r, true
		}
	}
	return longest, found
}

func (i Info) server() string { return "server " + i.Provider + " " + i.Server }
func (i Info) model() string  { return "model " + i.Provider + " " + i.Server + " " + i.Model }

// failed lets a model rest, or its whole server where the fault is the key's or the line's. What is wrong with one request says
// nothing about the next.
func (c *Chain) failed(i Info, err error, now time.Time) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return
	}
	key, first, longest := i.model(), 30*time.Second, 10*time.Minute
	switch e.Fault {
	case BadRequest, TooLarge, NoImages, Endless, Unfunded:
		return
	case Forbidden:
		first = time.Minute
	case Auth, Payment, Untrusted:
		key, first, longest = i.server(), 10*time.Minute, time.Hour
	case NotFound:
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
	r.Until = now.Add(max(min(first<<min(r.Times-1, 10), longest), e.RetryAfter))
	c.rests[key] = r
}

// Wake ends the cool-downs of the models that match: somebody has mended what was wrong.
func (c *Chain) Wake(match func(Info) bool) {
	for _, m := range c.models {
		if i := m.Info(); match(i) {
			c.worked(i)
		}
	}
}

// worked ends the cool-downs of a model that answered.
func (c *Chain) worked(i Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rests, i.model())
	delete(c.rests, i.server())
}
