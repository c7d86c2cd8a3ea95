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
	maxWait    = 10 * time.Second // for all requests of a list
	maxName    = 200              // characters of a name
)

// List asks a server for its models that can talk, sorted by ID: 10,000 at most, within 10 s, 16 MB for each response. What only
// some servers tell is asked for too; where that fails, the list goes without it. Names are safe to show: what no terminal
// should see in them is replaced.
//
// Errors are *event.Fault with a hint, around an *llm.Error of the kind that a call of the model would give; when ctx ends,
// its cause is returned, wrapped.
func List(ctx context.Context, s llm.Config) ([]llm.Entry, error) {
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
	switch a.server.Provider {
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
	byID   map[string]llm.Entry
	hidden map[string]bool // models that cannot talk
}

func newCollection() *collection {
	return &collection{byID: map[string]llm.Entry{}, hidden: map[string]bool{}}
}

// add merges an entry into the one with its ID: what it says counts, what it leaves open stays.
func (c *collection) add(e llm.Entry) {
	e.ID, e.Name = llm.Printable(e.ID, maxName), llm.Printable(e.Name, maxName)
	e.Parameters, e.Quantization = llm.Printable(e.Parameters, maxName), llm.Printable(e.Quantization, maxName)
	if e.Name == e.ID {
		e.Name = ""
	}
	old, ok := c.byID[e.ID]
	if e.ID == "" || !ok && len(c.byID) == maxEntries {
		return
	}
	c.byID[e.ID] = llm.Entry{
		ID: e.ID, Name: cmp.Or(e.Name, old.Name),
		Context: cmp.Or(e.Context, old.Context), LoadedContext: cmp.Or(e.LoadedContext, old.LoadedContext),
		MaxOutput: cmp.Or(e.MaxOutput, old.MaxOutput), Price: cmp.Or(e.Price, old.Price), Free: e.Free || old.Free,
		Tools: cmp.Or(e.Tools, old.Tools), Vision: cmp.Or(e.Vision, old.Vision), Loaded: cmp.Or(e.Loaded, old.Loaded),
		Bytes: cmp.Or(e.Bytes, old.Bytes), Parameters: cmp.Or(e.Parameters, old.Parameters), Quantization: cmp.Or(e.Quantization, old.Quantization),
	}
}

// hide leaves a model out of all lists and plans.
func (c *collection) hide(id string) { c.hidden[llm.Printable(id, maxName)] = true }

// entries are the models that can talk, by ID.
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
