package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sqlite"
)

// inForce holds what later requests need of the newest compaction of a session. It is zero if there is none.
type inForce struct{ cut, summaries, last int64 }

// newestCompaction is the query for the newest compaction of a session.
const newestCompaction = "SELECT cut, summaries, last FROM compactions WHERE session = ? ORDER BY id DESC LIMIT 1"

// scanInForce reads the result of newestCompaction.
func scanInForce(rs *sql.Rows, err error) (inForce, error) {
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (c inForce, err error) {
		return c, rs.Scan(&c.cut, &c.summaries, &c.last)
	})
	return first(list, err, nil)
}

// whole selects the items that the requests of a session contain: the summaries in force, then the items from the cut on.
func (c inForce) whole(session int64) (where string, args []any) {
	return "session = ? AND iif(kind = 'summary', compaction = ?, seq >= ?)", []any{session, c.summaries, c.cut}
}

// arranged puts the summaries first. It removes the token counts from before the compaction, because requests are shorter now.
func (c inForce) arranged(items []llm.Item) []llm.Item {
	for i := range items {
		if items[i].Seq <= c.last {
			items[i].Tokens = 0
		}
	}
	slices.SortStableFunc(items, func(a, b llm.Item) int {
		return cmp.Compare(btoi(a.Kind != llm.Summary), btoi(b.Kind != llm.Summary))
	})
	return items
}

// btoi is 0 for false and 1 for true: false sorts first.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Compacted returns what the last compaction of a session measured, and whether the owner has asked for the next one.
func (s Turns) Compacted(ctx context.Context, session int64) (c turn.Compacted, err error) {
	err = s.core.read().QueryRowContext(ctx, `SELECT s.compact, s.compact_note, coalesce(c.bytes, 0), coalesce(c.tokens, 0) FROM sessions s
		LEFT JOIN compactions c ON c.id = (SELECT max(id) FROM compactions WHERE session = s.id AND tokens > 0) WHERE s.id = ?`, session).Scan(&c.Asked, &c.Matters, &c.Bytes, &c.Tokens)
	return c, err
}

// errNoSession means that no live session has the name.
var errNoSession = errors.New("no live session")

// nothingToCover returns the fault for a requested compaction that has nothing to cover.
func nothingToCover(why, hint string) error {
	return event.NewFault(event.Clash, hint, "There is nothing to summarise: %s.", why)
}

// askCompaction records that a live session, given by its key or id, must be summarised before its next request to a model. If there is
// nothing to cover it returns a fault and records nothing.
func askCompaction(ctx context.Context, tx *Tx, name, matters string) error {
	var id int64
	err := tx.One("SELECT id FROM sessions WHERE archived = 0 AND (key = ?1 OR "+hasID("id")+") ORDER BY key <> ?1 LIMIT 1", []any{name}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoSession
	}
	if err != nil {
		return err
	}
	items, err := transcriptIn(tx, id)
	if err != nil {
		return err
	}
	l, err := Turns{tx.core}.Lasting(ctx, id)
	switch {
	case err != nil:
		return err
	case turn.Coverable(items, func(id int64) bool { return slices.Contains(l.Waiting, id) }):
		return tx.Run("UPDATE sessions SET compact = 1, compact_note = ? WHERE id = ?", matters, id)
	case len(items) == 0:
		return nothingToCover("the conversation is empty", "")
	case slices.ContainsFunc(items, func(it llm.Item) bool { return it.Kind != llm.Summary }):
		return nothingToCover("a turn waits, and nothing before it is left to summarise", l.Blocks(0))
	}
	return nothingToCover("all of the conversation is summarised already", "")
}

// Compact records that a live session, given by its key or id, must be summarised before its next request to a model. matters says what the
// summary must keep, in the owner's words.
func (r Sessions) Compact(ctx context.Context, name, matters string) error {
	return r.core.write(ctx, func(tx *Tx) error {
		err := askCompaction(ctx, tx, name, matters)
		if errors.Is(err, errNoSession) {
			return event.NewFault(event.Missing, "hob sessions list shows them", "there is no live session %s", name)
		}
		return err
	})
}

// compact writes a compaction. Handles, cut and summaries take effect together, and the session gets a new prefix with its next request.
func compact(tx *Tx, id int64, c *turn.Compaction) error {
	if c == nil {
		return nil
	}
	var session, last int64
	if err := tx.One("SELECT session, (SELECT coalesce(max(seq), 0) FROM items WHERE session = turns.session) FROM turns WHERE id = ?", []any{id}, &session, &last); err != nil {
		return err
	}
	n, err := tx.Insert(`INSERT INTO compactions (session, turn, at, how, cut, summaries, last, covered, handles, bytes, tokens)
		VALUES (?1, ?2, ?3, ?4, max(?5, coalesce((SELECT cut FROM compactions WHERE session = ?1 ORDER BY id DESC LIMIT 1), 0)),
		coalesce((SELECT summaries FROM compactions WHERE session = ?1 ORDER BY id DESC LIMIT 1), 0), ?6, ?7, ?8, ?9, ?10)`,
		session, id, sqlite.Micros(tx.Now), string(c.How), c.Cut, last, c.Covered, len(c.Handles), c.Bytes, c.Tokens)
	if err != nil {
		return err
	}
	// A handle replaces a long result in later requests. The result itself stays in its row.
	for seq, handle := range c.Handles {
		if err := tx.Run("UPDATE items SET handle = ? WHERE seq = ? AND session = ? AND kind = 'result'", handle, seq, session); err != nil {
			return err
		}
	}
	for _, it := range c.Summaries {
		it.Session = session
		seq, err := addItem(tx, it, 0)
		if err != nil {
			return fmt.Errorf("append summary: %w", err)
		}
		if err := tx.Run("UPDATE items SET compaction = ? WHERE seq = ?", n, seq); err != nil {
			return err
		}
	}
	// A compaction without summaries keeps those of the one before it.
	if len(c.Summaries) > 0 {
		if err := tx.Run("UPDATE compactions SET summaries = id WHERE id = ?", n); err != nil {
			return err
		}
	}
	// The compaction invalidates the provider's cache in any case, so the prefix is renewed too. A request by /compact is done now.
	return tx.Run("UPDATE sessions SET prompt = NULL, guest_prompt = NULL, shown = NULL, guest_shown = NULL, compact = 0, compact_note = '' WHERE id = ?", session)
}

// Lasting reads the rows of a session that a summary must keep, and the turns of the session that wait.
func (s Turns) Lasting(ctx context.Context, session int64) (l turn.Lasting, err error) {
	// After the first error, rows reads nothing more; err is checked once after the last list.
	rows := func(query string) []turn.Row {
		if err != nil {
			return nil
		}
		var list []turn.Row
		rs, fault := s.core.read().QueryContext(ctx, query, session)
		list, err = sqlite.Collect(rs, fault, func(rs *sql.Rows) (r turn.Row, err error) {
			var own bool
			err = rs.Scan(&r.Name, &r.Text, &r.State, &own)
			r.Foreign = !own
			return r, err
		})
		return list
	}
	l.Todos = rows("SELECT 'todo ' || n, content, status, (SELECT watermark = 'owner' FROM sessions WHERE id = session) FROM todos WHERE session = ? AND status <> 'completed' ORDER BY n")
	l.Tasks = rows("SELECT 'task ' || id, title, state, trust = 'owner' AND NOT tainted FROM tasks WHERE session = ? AND session > 0 AND ended = 0 ORDER BY id")
	l.Jobs = rows(`SELECT kind || ' ' || id || ' ' || name, coalesce(json_extract(body, '$.words'), json_extract(body, '$.spec'), '') || ': ' || coalesce(json_extract(body, '$.prompt'), ''),
		CASE WHEN paused THEN 'paused' WHEN broken <> '' THEN 'broken' ELSE '' END, coalesce(json_extract(body, '$.trust'), '') = 'owner' AND NOT coalesce(json_extract(body, '$.tainted'), 0)
		FROM triggers WHERE session = ? AND session > 0 AND removed = 0 ORDER BY id`)
	l.Questions = rows(`SELECT 'question ' || q.code, q.text, q.state, NOT t.tainted FROM turns t JOIN questions q ON q.turn = t.id
		WHERE t.session = ? AND t.ended = 0 AND q.state = 'open' ORDER BY q.id`)
	l.Grants = rows(`SELECT 'always ' || g.tool, g.pattern, '', NOT g.tainted FROM grants g JOIN questions q ON q.id = g.question JOIN turns t ON t.id = q.turn
		WHERE t.session = ? AND g.revoked = 0 ORDER BY g.id`)
	if err != nil {
		return l, err
	}
	// A summary must keep the owner's newest request.
	last, err := s.core.items(ctx, "seq = (SELECT max(seq) FROM items WHERE session = ? AND kind = 'input' AND trust = 'owner' AND forgotten = 0)", session)
	if err != nil {
		return l, err
	}
	for _, it := range last {
		l.Request, l.RequestSeq = event.TextOf(it.Parts), it.Seq
	}
	if err := s.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM plans WHERE session = ?)", session).Scan(&l.Plan); err != nil {
		return l, err
	}
	number := sqlite.Value[int64]
	rs, err := s.core.read().QueryContext(ctx, "SELECT id FROM turns WHERE session = ? AND state = 'waiting'", session)
	if l.Waiting, err = sqlite.Collect(rs, err, number); err != nil {
		return l, err
	}
	rs, err = s.core.read().QueryContext(ctx, "SELECT i.seq FROM items i JOIN turns t ON t.id = i.turn WHERE i.session = ? AND (i.forgotten = 1 OR t.forgotten = 1)", session)
	l.Forgotten, err = sqlite.Collect(rs, err, number)
	return l, err
}

// Typed reads the texts that the owner typed in a session, oldest first.
func (s Turns) Typed(ctx context.Context, session int64) ([]string, error) {
	items, err := s.core.items(ctx, "session = ? AND kind = 'input' AND trust = 'owner'", session)
	var list []string
	for _, it := range items {
		if it.Envelope != nil && it.Envelope.Typed {
			list = append(list, event.Words(it.Parts))
		}
	}
	return list, err
}
