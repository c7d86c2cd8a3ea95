package toolset

import (
	"context"
	"path/filepath"
	"time"

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

// OpenMemory makes the index of the memory, over the workspace of the tools in force. It reads nothing yet. history reads the conversations, redact replaces known secrets before
// anything is stored.
func (b *Deps) OpenMemory(ctx context.Context, live *Active, history memory.HistorySource, redact func(string) string, now func() time.Time) {
	b.Remembers = memory.New(ctx, memory.Options{Path: filepath.Join(b.State, "index.db"), Guard: live.Guard, History: history, Redact: redact, Now: now, Log: b.Log})
	b.Index = b.Remembers
}

// CloseMemory closes the index, if there is one. It may be called without any dependencies.
func (b *Deps) CloseMemory() error {
	if b == nil || b.Remembers == nil {
		return nil
	}
	return b.Remembers.Close()
}
