package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// ContextItem is a context item in one of its revisions.
type ContextItem struct {
	Name    string // DRIVE:PATH
	Foreign string // why it is somebody else's text; "": it is the owner's own
	At      time.Time
	Text    string
}

// ContextSource reads the context items.
type ContextSource struct {
	// State changes with every change of an item. It is cheap.
	State func(context.Context) (string, error)
	// Revisions returns when each item was written, in microseconds since 1970, by its revision. A new content has a new one.
	Revisions func(context.Context) (map[int64]int64, error)
	// Item returns the item with a revision; false if it has another one now, or is gone.
	Item func(ctx context.Context, revision int64) (ContextItem, bool, error)
}

// items reports whether a query may find context items.
func (q Query) items() bool { return q.Owner && (q.Scope == All || q.Scope == ContextScope) }

// contextRows is a part of the context items that is committed at once.
type contextRows struct {
	gone []int64
	new  map[int64]ContextItem
	size int
}

// indexContext indexes the context items that have changed since the last time, and removes those that are gone. A commit has whole items, and the state
// is stored after the last one, so that it continues after a kill.
func indexContext(ctx context.Context, x *Index) error {
	if x.o.Context.State == nil {
		return nil
	}
	select {
	case x.history.turn <- struct{}{}:
	case <-ctx.Done():
		return errBehind
	}
	defer func() { <-x.history.turn }()
	if missing(x) {
		if now, err := x.o.Context.Revisions(ctx); err != nil || len(now) == 0 {
			return err
		}
	}
	return x.use(ctx, func(db *sqlite.DB) error {
		// The state is read before the revisions: a change in between makes the next call look again.
		state, err := x.o.Context.State(ctx)
		if err != nil {
			return err
		}
		have, err := meta(ctx, db.Reader(), "context")
		if err != nil || have == state {
			return err
		}
		defer x.counts.forget()
		if err := (itemIndexer{x, db}).changes(ctx); err != nil {
			return err
		}
		return db.Write(ctx, func(tx *sqlite.Conn) error { return setMeta(tx, "context", state) })
	})
}

// eraseItems removes what is left of deleted items in the file of the index. It takes too long for a search.
func eraseItems(ctx context.Context, x *Index) error {
	if x.o.Context.State == nil || missing(x) { // without an index nothing was indexed
		return nil
	}
	return x.use(ctx, func(db *sqlite.DB) error {
		if left, err := meta(ctx, db.Reader(), "erase"); err != nil || left == "" {
			return err
		}
		return db.Erase(ctx, func(tx *sqlite.Conn) error { return errors.Join(dropWords(tx), setMeta(tx, "erase", "")) })
	})
}

// itemIndexer brings the context items of an open index up to date.
type itemIndexer struct {
	x  *Index
	db *sqlite.DB
}

// changes compares the items with the index and commits what differs.
func (i itemIndexer) changes(ctx context.Context) error {
	now, err := i.x.o.Context.Revisions(ctx)
	if err != nil {
		return err
	}
	rows, deleted := contextRows{new: map[int64]ContextItem{}}, map[string]bool{}
	rs, err := i.db.Reader().QueryContext(ctx, "SELECT DISTINCT seq, at, path FROM chunks WHERE kind = 'context'")
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) {
		var at int64
		var name string
		if err = rs.Scan(&id, &at, &name); err == nil && now[id] != at {
			rows.gone, deleted[name] = append(rows.gone, id), true
		} else {
			delete(now, id)
		}
		return id, err
	})
	if err != nil {
		return err
	}
	// What was deleted goes first.
	if err := i.put(ctx, &rows); err != nil {
		return err
	}
	ids := make([]int64, 0, len(now))
	for id := range now {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		it, ok, err := i.x.o.Context.Item(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		delete(deleted, i.x.o.Redact(it.Name))
		rows.new[id], rows.size = it, rows.size+len(it.Text)
		if rows.size < bytesAtOnce && len(rows.new) < filesAtOnce {
			continue
		}
		if err := i.put(ctx, &rows); err != nil {
			return err
		}
	}
	if err := i.put(ctx, &rows); err != nil || len(deleted) == 0 {
		return err
	}
	return i.db.Write(ctx, func(tx *sqlite.Conn) error { return setMeta(tx, "erase", "1") })
}

// put commits a part of the changes, and empties it.
func (i itemIndexer) put(ctx context.Context, rows *contextRows) error {
	part := *rows
	*rows = contextRows{new: map[int64]ContextItem{}}
	if len(part.gone)+len(part.new) == 0 {
		return nil
	}
	fail.Point("memory.context")
	return i.db.Write(ctx, func(tx *sqlite.Conn) error {
		for _, id := range part.gone {
			if err := dropChunks(tx, "kind = 'context' AND seq = ?", id); err != nil {
				return err
			}
		}
		for id, it := range part.new {
			if err := i.store(tx, id, it); err != nil {
				return fmt.Errorf("index the context item %s: %w", it.Name, err)
			}
		}
		return nil
	})
}

// store puts an item into the index. Each of its windows is also found by the words of its name.
func (i itemIndexer) store(tx *sqlite.Conn, id int64, it ContextItem) error {
	name := i.x.o.Redact(it.Name)
	windows, _ := chunks(i.x.o.Redact(clean(it.Text)))
	for _, w := range windows {
		above := strings.TrimSuffix(name+" > "+w.above, " > ")
		chunk, err := addChunk(tx, "context", it.Foreign == "", "INSERT INTO chunks (kind, path, seq, first, last, start, stop, own, sender, at, above, text) VALUES ('context', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			name, id, w.first, w.last, w.start, w.stop, it.Foreign == "", it.Foreign, sqlite.Micros(it.At), above, w.text)
		if err != nil {
			return err
		}
		if err := putWords(tx, chunk, above, w.text, true); err != nil {
			return err
		}
	}
	return nil
}

// freshContext indexes the context items that have changed, if that takes a short time. The note says what is missing; "": nothing.
func freshContext(ctx context.Context, x *Index, q Query) (note string) {
	if q.Quick || !q.items() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, waitForSync)
	defer cancel()
	err := indexContext(ctx, x)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errBehind) || errors.Is(err, context.DeadlineExceeded):
		return "some of the context items are not indexed yet"
	}
	return "the context items could not be brought up to date: " + advised(err)
}
