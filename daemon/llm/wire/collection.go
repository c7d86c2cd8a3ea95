package wire

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hob/daemon/llm"
)

// Limits of one list.
const (
	maxEntries = 10_000
	maxName    = 200 // length of a name, in characters
)

// Collection merges the facts of several responses about the same models.
type Collection struct {
	byID   map[string]llm.Entry
	hidden map[string]bool // models that produce no text, such as embeddings
}

// NewCollection returns an empty collection.
func NewCollection() *Collection {
	return &Collection{byID: map[string]llm.Entry{}, hidden: map[string]bool{}}
}

// Add merges an entry into the existing one with the same ID. A field that e leaves empty keeps its value.
func (c *Collection) Add(e llm.Entry) {
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

// Hide removes a model from the result, whenever it is added.
func (c *Collection) Hide(id string) { c.hidden[llm.Printable(id, maxName)] = true }

// Entries returns the visible models by ID.
func (c *Collection) Entries() []llm.Entry {
	all := make([]llm.Entry, 0, len(c.byID))
	for id, e := range c.byID {
		if !c.hidden[id] {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b llm.Entry) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// IDs returns the IDs of all models, visible or not, in no order.
func (c *Collection) IDs() []string { return slices.Collect(maps.Keys(c.byID)) }
