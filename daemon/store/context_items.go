package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/tools"
)

// Limits of all context items together.
const (
	maxContextItems = 10_000
	maxContextBytes = 100 << 20
)

// ContextItems reads the context items. Tools change them by tools.PutContext and tools.DropContext.
type ContextItems struct{ core *core }

// contextColumns are the columns of an item without its content.
const contextColumns = "drive, path, bytes, foreign_from, foreign_name, created, updated"

// contextFields returns the destinations for contextColumns.
func contextFields(it *tools.ContextItem) []any {
	return []any{&it.Drive, &it.Path, &it.Bytes, &it.Foreign, &it.ForeignName, sqlite.Stamp(&it.Created), sqlite.Stamp(&it.Updated)}
}

// scanContext reads a row of contextColumns.
func scanContext(rs *sql.Rows) (it tools.ContextItem, err error) {
	return it, rs.Scan(contextFields(&it)...)
}

// ContextItem returns an item with its content; false if there is none.
func (s ContextItems) ContextItem(ctx context.Context, drive, path string) (tools.ContextItem, bool, error) {
	return s.one(ctx, "drive = ? AND path = ?", drive, path)
}

// ContextRevision returns the item with a revision; false if it was removed or its content has changed.
func (s ContextItems) ContextRevision(ctx context.Context, id int64) (tools.ContextItem, bool, error) {
	return s.one(ctx, "id = ?", id)
}

// one reads an item; false if there is none.
func (s ContextItems) one(ctx context.Context, where string, args ...any) (it tools.ContextItem, ok bool, err error) {
	row := s.core.read().QueryRowContext(ctx, "SELECT content, "+contextColumns+" FROM context_items WHERE "+where, args...) // #nosec G202 -- constants
	err = row.Scan(append([]any{&it.Content}, contextFields(&it)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return it, false, nil
	}
	if err != nil {
		return it, false, fmt.Errorf("read a context item: %w", err)
	}
	return it, true, nil
}

// ContextItems lists items by drive and path, without their contents. The state of the filter is a drive; "" means all drives.
func (s ContextItems) ContextItems(ctx context.Context, f event.Filter) ([]tools.ContextItem, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT "+contextColumns+" FROM context_items WHERE ?1 = '' OR drive = ?1 ORDER BY drive, path LIMIT ?2", f.State, cmp.Or(f.Limit, -1)) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, scanContext)
}

// ContextState returns a text that changes whenever an item changes. It is cheap to compute.
func (s ContextItems) ContextState(ctx context.Context) (state string, err error) {
	return state, s.core.read().QueryRowContext(ctx, "SELECT count(*) || '/' || coalesce(max(id), 0) || '/' || coalesce(max(updated), 0) FROM context_items").Scan(&state)
}

// ContextRevisions returns the time at which each item was written, in microseconds since 1970, by its revision. A changed content has a
// new revision.
func (s ContextItems) ContextRevisions(ctx context.Context) (all map[int64]int64, err error) {
	return all, s.core.read().QueryRowContext(ctx, "SELECT json_group_object(id, updated) FROM context_items").Scan(sqlite.JSON(&all))
}

// putContext writes an item in the commit of a call's result. Turn 0 is a command of the owner.
func putContext(tx *Tx, turn int64, c tools.PutContext) error {
	tainted, created, foreignName := false, sqlite.Micros(tx.Now), true
	if turn != 0 {
		err := tx.One("SELECT t.tainted = 1 OR t.asker <> ? OR s.watermark <> ? FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", []any{event.Owner, event.Owner, turn}, &tainted)
		if err != nil {
			return fmt.Errorf("read the trust of turn %d: %w", turn, err)
		}
	}
	if tainted = tainted || c.Tainted; tainted {
		c.Foreign = cmp.Or(c.Foreign, "written by a turn that had read foreign text")
	}
	err := tx.One("DELETE FROM context_items WHERE drive = ? AND path = ? RETURNING created, foreign_name", []any{c.Drive, c.Path}, &created, &foreignName)
	switch {
	case err == nil && c.Only:
		return event.NewFault(event.Clash, "overwrite replaces it (on_conflict, --overwrite)", "%s:%s is there already", c.Drive, c.Path)
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	}
	var count, size int
	if err := tx.One("SELECT count(*), coalesce(sum(bytes), 0) FROM context_items", nil, &count, &size); err != nil {
		return err
	}
	if count >= maxContextItems || size+len(c.Content) > maxContextBytes {
		return event.NewFault(event.Clash, "context_delete removes some that nobody needs", "there is no room: at most %d context items with %d MB are kept", maxContextItems, maxContextBytes>>20)
	}
	tx.Wake(sqlite.SignalEvents) // the index of the memory follows
	return tx.Run("INSERT INTO context_items (drive, path, foreign_from, foreign_name, created, updated, bytes, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		c.Drive, c.Path, c.Foreign, sqlite.Bit(foreignName && tainted), created, sqlite.Micros(tx.Now), len(c.Content), c.Content)
}

// dropContext removes an item and overwrites its text on disk.
func dropContext(tx *Tx, c tools.DropContext) (err error) {
	tx.Wake(sqlite.SignalEvents)
	if err := tx.Run("PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Run("PRAGMA secure_delete = OFF")) }()
	return tx.Run("DELETE FROM context_items WHERE drive = ? AND path = ?", c.Drive, c.Path)
}
