package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hob/daemon/llm"
)

// Limits of one list.
const (
	maxEntries = 10_000
	maxWait    = 10 * time.Second // for all requests of one list
	maxName    = 200              // length of a name, in characters
)

// List asks a server for the models that produce text, sorted by ID: at most 10,000 models, within 10 s, 16 MB per response. It also asks
// for details in the server's own protocol; without them the list is shorter on facts but valid. Names are safe to show: characters that a
// terminal would interpret are replaced.
//
// Errors are *event.Fault with a hint. They wrap the *llm.Error that a call of the model would return. When ctx ends, the result wraps its
// cause.
func List(ctx context.Context, s llm.Config) ([]llm.Entry, error) {
	a, err := newAsker(s)
	if err != nil {
		return nil, err
	}
	defer a.close()
	// One limit covers the required list and all the details after it.
	inner, stop := context.WithTimeoutCause(ctx, maxWait, errSlow)
	defer stop()
	found, err := a.models(inner)
	if err != nil {
		return nil, a.explain(ctx, inner, err)
	}
	more, err := a.more(inner, found)
	// A caller that has left gets an error, even if the required list was complete.
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, a.explain(ctx, inner, err)
	}
	return more.entries(), nil
}

// more adds details from the backend's own protocol. Details that the server does not give are left out; an error is a bug in this package.
func (a *asker) more(ctx context.Context, c *collection) (*collection, error) {
	switch a.server.Provider {
	case lmStudio:
		a.addLMStudio(ctx, c)
	case ollama:
		// First the models on disk, then which of them are loaded, then the newest in detail.
		names := a.addTags(ctx, c)
		a.addRunning(ctx, c)
		return c, a.addShown(ctx, c, names[:min(len(names), maxShown)])
	}
	return c, nil
}

// collection merges the facts of several responses about the same models.
type collection struct {
	byID   map[string]llm.Entry
	hidden map[string]bool // models that produce no text, such as embeddings
}

// newCollection returns an empty collection.
func newCollection() *collection {
	return &collection{byID: map[string]llm.Entry{}, hidden: map[string]bool{}}
}

// add merges an entry into the existing one with the same ID. A field that e leaves empty keeps its value.
func (c *collection) add(e llm.Entry) {
	// The texts come from a server and are shown in a terminal.
	e.ID, e.Name = llm.Printable(e.ID, maxName), llm.Printable(e.Name, maxName)
	e.Parameters, e.Quantization = llm.Printable(e.Parameters, maxName), llm.Printable(e.Quantization, maxName)
	if e.Name == e.ID {
		e.Name = ""
	}
	old, ok := c.byID[e.ID]
	// Above the limit, known models still get details; new ones are dropped.
	if e.ID == "" || !ok && len(c.byID) == maxEntries {
		return
	}
	c.byID[e.ID] = llm.Entry{
		ID: e.ID, Name: cmp.Or(e.Name, old.Name),
		Context: cmp.Or(e.Context, old.Context), LoadedContext: cmp.Or(e.LoadedContext, old.LoadedContext), Window: cmp.Or(e.Window, old.Window),
		MaxOutput: cmp.Or(e.MaxOutput, old.MaxOutput), Price: cmp.Or(e.Price, old.Price), Free: e.Free || old.Free,
		Tools: cmp.Or(e.Tools, old.Tools), Vision: cmp.Or(e.Vision, old.Vision), Loaded: cmp.Or(e.Loaded, old.Loaded),
		Bytes: cmp.Or(e.Bytes, old.Bytes), Parameters: cmp.Or(e.Parameters, old.Parameters), Quantization: cmp.Or(e.Quantization, old.Quantization),
	}
}

// hide removes a model from the result, whenever it is added.
func (c *collection) hide(id string) { c.hidden[llm.Printable(id, maxName)] = true }

// entries returns the visible models by ID.
func (c *collection) entries() []llm.Entry {
	all := make([]llm.Entry, 0, len(c.byID))
	for id, e := range c.byID {
		if !c.hidden[id] {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b llm.Entry) int { return strings.Compare(a.ID, b.ID) })
	return all
}
