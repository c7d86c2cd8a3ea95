package store

import (
	"context"
	"slices"
	"sync"

	"hob/daemon/llm"
	"hob/daemon/sqlite"
)

// Limits of the transcripts that stay in memory.
const (
	keptTranscripts = 4       // the main conversation, and those of sub-agents
	largestKept     = 1 << 20 // bytes of one transcript
)

// transcripts caches the transcripts that were read last, so that a turn of a long conversation reads only new items. Items are only
// appended. A changed item, such as a transcribed voice note, drops the cached transcripts.
type transcripts struct {
	mu      sync.Mutex
	kept    []keptTranscript // the newest last
	changes int64            // times that an item was changed
}

// keptTranscript is the transcript of a session as it was committed. Its items are shared, so nobody may change them.
type keptTranscript struct {
	session int64
	items   []llm.Item
}

// get returns the cached transcript of a session, and the number of changes so far. Appending to the list copies it.
func (k *transcripts) get(session int64) ([]llm.Item, int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.kept {
		if one.session == session {
			return slices.Clip(one.items), k.changes
		}
	}
	return nil, k.changes
}

// changed returns the number of changes so far.
func (k *transcripts) changed() int64 {
	_, n := k.get(0)
	return n
}

// put caches a transcript that was read completely from committed rows. changes is the number that get returned before the rows were read.
func (k *transcripts) put(session int64, items []llm.Item, changes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// An item changed while the rows were read, so the list may be outdated.
	if k.changes != changes {
		return
	}
	k.kept = slices.DeleteFunc(k.kept, func(one keptTranscript) bool { return one.session == session })
	if sizeOfItems(items) > largestKept {
		return
	}
	// The least recently stored transcript is dropped.
	if len(k.kept) == keptTranscripts {
		k.kept = slices.Delete(k.kept, 0, 1)
	}
	k.kept = append(k.kept, keptTranscript{session, items})
}

// forget drops all transcripts. It is called before and after a commit that changes an item.
func (k *transcripts) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.kept = nil
}

// sizeOfItems estimates the memory of items in bytes. The constants cover their fixed fields.
func sizeOfItems(items []llm.Item) (n int) {
	for _, it := range items {
		n += len(it.Args) + len(it.Raw) + 300
		for _, p := range it.Parts {
			n += len(p.Text) + 100
		}
	}
	return n
}

// Transcript reads the items that the requests of a session contain, in the order of a request: the summaries of the newest compaction,
// then the items from its cut on. Callers may not change the items, because later calls return the same slice.
func (s Turns) Transcript(ctx context.Context, session int64) ([]llm.Item, error) {
	old, changes := s.core.transcripts.get(session)
	if old == nil {
		c, err := scanInForce(s.core.read().QueryContext(ctx, newestCompaction, session))
		if err != nil {
			return nil, err
		}
		where, args := c.whole(session)
		items, err := s.core.items(ctx, where, args...)
		if err != nil {
			return nil, err
		}
		s.core.transcripts.put(session, c.arranged(items), changes)
		return slices.Clip(items), nil
	}
	added, err := s.core.items(ctx, addedItems, session, lastSeq(old))
	if err != nil {
		return nil, err
	}
	if len(added) == 0 {
		return old, nil
	}
	items := append(old, added...) //nolint:gocritic // the kept list is clipped, so this copies it
	s.core.transcripts.put(session, items, changes)
	return slices.Clip(items), nil
}

// recentItems selects the items of a turn, and those of the turns that wrote the newest items of its session.
const recentItems = `turn IN (SELECT ?1 UNION SELECT turn FROM (SELECT turn FROM items WHERE session = (SELECT session FROM turns WHERE id = ?1) ORDER BY seq DESC LIMIT 50))
	AND session = (SELECT session FROM turns WHERE id = ?1) AND kind <> 'summary'`

// Recent reads the items of a turn and of the newest turns of its session, oldest first.
func (s Turns) Recent(ctx context.Context, id int64) ([]llm.Item, error) {
	return s.core.items(ctx, recentItems, id)
}

// addedItems selects the items that were added since a transcript was read. A compaction drops the cached transcript, so no summary is
// among these items.
const addedItems = "session = ? AND seq > ? AND kind <> 'summary'"

// transcriptIn is Transcript inside a transaction. It caches nothing, because the items of the transaction may be rolled back.
func transcriptIn(tx *Tx, session int64) ([]llm.Item, error) {
	old, _ := tx.core.transcripts.get(session)
	if old == nil {
		c, err := scanInForce(tx.Query(newestCompaction, session))
		if err != nil {
			return nil, err
		}
		where, args := c.whole(session)
		items, err := itemsIn(tx, where, args...)
		return c.arranged(items), err
	}
	added, err := itemsIn(tx, addedItems, session, lastSeq(old))
	return append(old, added...), err
}

// itemsIn reads items inside a transaction, oldest first.
func itemsIn(tx *Tx, where string, args ...any) ([]llm.Item, error) {
	rs, err := tx.Query("SELECT "+itemColumns+" FROM items WHERE "+where+" ORDER BY seq", args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, scanItem)
}

// lastSeq returns the number of the last item; 0 for none. Later items of the session have higher numbers.
func lastSeq(items []llm.Item) int64 {
	if len(items) == 0 {
		return 0
	}
	return items[len(items)-1].Seq
}
