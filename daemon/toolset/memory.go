package toolset

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"

	"hob/config"
	"hob/daemon/embed"
	"hob/daemon/memory"
)

type (
	// MemoryOptions configure the index.
	MemoryOptions = memory.Options
	// MemoryGone is what was removed from conversations or memory files.
	MemoryGone = memory.Gone
	// ContextItem is a context item, as the index of the memory reads it.
	ContextItem = memory.ContextItem
	// ContextSource reads the context items.
	ContextSource = memory.ContextSource
	// MemoryRemoval is a fact that is removed from a memory file.
	MemoryRemoval = memory.Removal
	// MemoryTraces is what had it.
	MemoryTraces = memory.Traces
	// HistoryQuery is a search.
	HistoryQuery = memory.Query
)

// Network is how the memory reaches the server for embeddings that the config names.
type Network struct {
	Config  func() *config.Snapshot
	Resolve func(ctx context.Context, name, ref string) (string, error)            // a reference to a secret
	Client  func(ctx context.Context, section, proxy string) (*http.Client, error) // nil: no proxy
	Direct  *http.Client                                                           // without a proxy
	Reserve embed.Reserve
}

// endpoint returns the server that the config names at this moment.
func (n Network) endpoint(ctx context.Context) (embed.Endpoint, error) {
	web, err := n.Client(ctx, "memory.embeddings", "")
	if err != nil {
		return embed.Endpoint{}, err
	}
	return embed.Of(ctx, n.Config(), n.Resolve, cmp.Or(web, n.Direct))
}

// OpenMemory makes the index of the memory, over the workspace of the tools in force. It reads nothing yet. o says where the conversations are and which secrets are
// replaced.
func (b *Deps) OpenMemory(ctx context.Context, live *Active, o MemoryOptions, n Network) {
	o.Path, o.Guard, o.Log = indexFile(b.State), live.Guard, b.Log
	o.Vectors = &embed.Service{Endpoint: n.endpoint, Reserve: n.Reserve, Now: o.Now}
	b.Remembers = memory.New(ctx, o)
	b.Index = b.Remembers
}

// RemoveMemory removes the index of a state folder that no hob uses: its database is about to be another one.
func RemoveMemory(state string) error { return memory.Remove(indexFile(state)) }

func indexFile(state string) string { return filepath.Join(state, "index.db") }

// CloseMemory closes the index, if there is one. It may be called without any dependencies.
func (b *Deps) CloseMemory() error {
	if b == nil || b.Remembers == nil {
		return nil
	}
	return b.Remembers.Close()
}
