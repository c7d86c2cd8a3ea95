// Package catalog finds out what models there are and what one of them can do: it lists a server's models, looks for
// servers on this machine, guesses what a wrong name may have meant, and puts a model to a small trial. It decides nothing,
// keeps nothing and retries nothing.
package catalog

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"hob/daemon/llm"
)

// Limits of one list.
const (
	maxBody    = 16 << 20 // bytes of one response
	maxEntries = 10_000
	maxWait    = 10 * time.Second // for all requests of a list
	maxName    = 200              // characters of a name
)

// The backends whose servers tell more than the common list.
const (
	lmStudio   = "lmstudio"
	ollama     = "ollama"
	openRouter = "openrouter"
	codex      = "codex"
	compatible = "compatible"
)

// Server is where models are served.
type Server struct {
	Backend string       // lmstudio ollama openrouter openai codex compatible
	BaseURL string       // up to and without "/models"; required
	APIKey  string       // the key itself, not a reference; empty: no Authorization header
	HTTP    *http.Client // it is copied: redirects are never followed; default: a client of its own

	// Auth gives the credentials of one request, instead of APIKey; account is "" where there is none. Errors are *llm.Error.
	Auth func(ctx context.Context) (token, account string, err error)
}

// Entry is one model of a server. What the server does not tell is zero, or nil.
type Entry struct {
	ID            string    `json:"id"` // what requests call it
	Name          string    `json:"name,omitempty"`
	Context       int       `json:"context_tokens,omitempty"`        // tokens that fit into one request at most
	LoadedContext int       `json:"loaded_context_tokens,omitempty"` // of a loaded model: those that fit as it is loaded
	MaxOutput     int       `json:"max_output_tokens,omitempty"`     // tokens of one answer at most
	Price         llm.Price `json:"price,omitzero"`
	Free          bool      `json:"free,omitempty"` // the server says that it costs nothing
	Tools         *bool     `json:"tools,omitempty"`
	Vision        *bool     `json:"vision,omitempty"`
	Loaded        *bool     `json:"loaded,omitempty"`       // it is in memory: the first answer comes without a wait
	Bytes         int64     `json:"bytes,omitempty"`        // on disk
	Parameters    string    `json:"parameters,omitempty"`   // as the server writes it: "8.0B"
	Quantization  string    `json:"quantization,omitempty"` // "Q4_K_M"
}

// List asks a server for its models that can talk, sorted by ID: 10,000 at most, within 10 s, 16 MB for each response. What only
// some servers tell is asked for too; where that fails, the list goes without it. Names are safe to show: what no terminal
// should see in them is replaced.
//
// Errors are *event.Fault with a hint, around an *llm.Error of the kind that a call of the model would give; when ctx ends,
// its cause is returned, wrapped.
func List(ctx context.Context, s Server) ([]Entry, error) {
	a, err := newAsker(s)
	if err != nil {
		return nil, err
	}
	defer a.close()
	inner, stop := context.WithTimeoutCause(ctx, maxWait, errSlow)
	defer stop()
	found, err := a.models(inner)
	if err != nil {
		return nil, a.explain(ctx, inner, err)
	}
	more, err := a.more(inner, found)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, a.explain(ctx, inner, err)
	}
	return more.entries(), nil
}

// more adds what the backend tells in ways of its own. What cannot be had is left out; an error is a mistake in here.
func (a *asker) more(ctx context.Context, c *collection) (*collection, error) {
	switch a.server.Backend {
	case lmStudio:
		a.addLMStudio(ctx, c)
	case ollama:
		names := a.addTags(ctx, c)
		a.addRunning(ctx, c)
		return c, a.addShown(ctx, c, names[:min(len(names), maxShown)])
	}
	return c, nil
}

// collection gathers what several responses say of the same models.
type collection struct {
	byID   map[string]Entry
	hidden map[string]bool // models that cannot talk
}

func newCollection() *collection {
	return &collection{byID: map[string]Entry{}, hidden: map[string]bool{}}
}

// add merges an entry into the one with its ID: what it says counts, what it leaves open stays.
func (c *collection) add(e Entry) {
	e.ID, e.Name = safe(e.ID, maxName), safe(e.Name, maxName)
	e.Parameters, e.Quantization = safe(e.Parameters, maxName), safe(e.Quantization, maxName)
	if e.Name == e.ID {
		e.Name = ""
	}
	old, ok := c.byID[e.ID]
	if e.ID == "" || !ok && len(c.byID) == maxEntries {
		return
	}
	c.byID[e.ID] = Entry{
		ID: e.ID, Name: either(e.Name, old.Name),
		Context: either(e.Context, old.Context), LoadedContext: either(e.LoadedContext, old.LoadedContext),
		MaxOutput: either(e.MaxOutput, old.MaxOutput), Price: either(e.Price, old.Price), Free: e.Free || old.Free,
		Tools: either(e.Tools, old.Tools), Vision: either(e.Vision, old.Vision), Loaded: either(e.Loaded, old.Loaded),
		Bytes: either(e.Bytes, old.Bytes), Parameters: either(e.Parameters, old.Parameters), Quantization: either(e.Quantization, old.Quantization),
	}
}

// hide leaves a model out, whoever names it.
func (c *collection) hide(id string) { c.hidden[safe(id, maxName)] = true }

// entries are the models that can talk, by ID.
func (c *collection) entries() []Entry {
	all := make([]Entry, 0, len(c.byID))
	for id, e := range c.byID {
		if !c.hidden[id] {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
