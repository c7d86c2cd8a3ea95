package toolset

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"time"

	"hob/config"
	"hob/daemon/embed"
	"hob/daemon/memory"
)

type (
	// HistoryItem is a message or an answer, as the index of the memory reads it.
	HistoryItem = memory.HistoryItem
	// HistoryBatch is a part of the history.
	HistoryBatch = memory.HistoryBatch
	// HistorySource reads the history.
	HistorySource = memory.HistorySource
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

// OpenMemory makes the index of the memory, over the workspace of the tools in force. It reads nothing yet. history reads the conversations,
// redact replaces known secrets before anything is stored or sent.
func (b *Deps) OpenMemory(ctx context.Context, live *Active, history memory.HistorySource, redact func(string) string, now func() time.Time, n Network) {
	vectors := &embed.Service{Endpoint: n.endpoint, Reserve: n.Reserve, Now: now}
	b.Remembers = memory.New(ctx, memory.Options{Path: filepath.Join(b.State, "index.db"), Guard: live.Guard, History: history, Redact: redact, Vectors: vectors, Now: now, Log: b.Log})
	b.Index = b.Remembers
}

// CloseMemory closes the index, if there is one. It may be called without any dependencies.
func (b *Deps) CloseMemory() error {
	if b == nil || b.Remembers == nil {
		return nil
	}
	return b.Remembers.Close()
}
