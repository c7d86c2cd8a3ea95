package store

import (
	"context"
	"database/sql"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
)

// Limits of one read of the history.
const (
	historyRows = 200
	historyText = 64 << 10 // characters of one item; the rest of a longer one is left out
)

// History reads messages and answers with numbers above after, oldest first: a limited number of rows at a time, so that no caller needs much memory. id 0 means all turns.
// An answer that only repeats the result of a tool is left out: a search would find what a search has found. So is what the built-in interpreter
// says without a call: its help would be found for every word in it.
// The end is reached when Next is Last.
func (s Turns) History(ctx context.Context, after, id int64) (b turn.HistoryBatch, err error) {
	last := "SELECT coalesce(max(seq), 0) FROM items WHERE ?1 = ?1"
	rows := "seq > ?1 AND ?2 = 0 AND seq <= ?1 + "
	if id != 0 {
		last, rows = "SELECT coalesce(max(seq), 0) FROM items WHERE turn = ?1", "seq > ?1 AND turn = ?2 AND seq <= ?1 + "
	}
	if err := s.core.read().QueryRowContext(ctx, last, id).Scan(&b.Last); err != nil {
		return b, fmt.Errorf("read the end of the history: %w", err)
	}
	if id != 0 {
		// The items of one turn may be far apart, because other turns ran meanwhile.
		if err := s.core.read().QueryRowContext(ctx, "SELECT coalesce(min(seq) - 1, ?2) FROM items WHERE turn = ?1 AND seq > ?2", id, after).Scan(&after); err != nil {
			return b, fmt.Errorf("read the history of turn %d: %w", id, err)
		}
	}
	b.Next = min(after+historyRows, max(b.Last, after))
	rs, err := s.core.read().QueryContext(ctx, `SELECT i.seq, i.session, i.turn, s.key, i.kind = 'text', i.trust = 'owner' AND (i.kind = 'input' OR t.tainted = 0), t.tainted = 0,
		coalesce(iif(i.kind = 'text', 'hob', nullif(b.sender, '')), i.source), iif(coalesce(b.person, '') = '', 'session ' || i.session, b.source || ':' || b.person),
		coalesce(b.received, (SELECT max(k.ended) FROM steps k WHERE k.turn = i.turn AND k.n = i.step AND k.ended > 0), t.started), t.ended = 0,
		iif(t.ended = 0, '', substr(coalesce((SELECT group_concat(json_extract(p.value, '$.text'), char(10)) FROM json_each(i.parts) p WHERE json_extract(p.value, '$.kind') = 'text'), ''), 1, `+fmt.Sprint(historyText)+`))
		FROM (SELECT * FROM items WHERE `+rows+fmt.Sprint(historyRows)+` AND forgotten = 0 AND (kind = 'text' OR kind = 'input' AND inbox IS NOT NULL)) i
		JOIN turns t ON t.id = i.turn JOIN sessions s ON s.id = i.session LEFT JOIN inbox b ON b.seq = i.inbox WHERE t.forgotten = 0
		AND NOT (i.kind = 'text' AND EXISTS (SELECT 1 FROM items r WHERE r.turn = i.turn AND r.kind = 'result' AND r.parts = i.parts))
		AND NOT (i.kind = 'text' AND i.provider = 'builtin' AND NOT EXISTS (SELECT 1 FROM items r WHERE r.turn = i.turn AND r.kind = 'result')) ORDER BY i.seq`, after, id) // #nosec G202 -- constants
	b.Items, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (h turn.HistoryItem, err error) {
		return h, rs.Scan(&h.Seq, &h.Session, &h.Turn, &h.Key, &h.Answer, &h.Own, &h.Clean, &h.Sender, &h.Person, sqlite.Stamp(&h.At), &h.Open, &h.Text)
	})
	if err != nil {
		return b, fmt.Errorf("read the history: %w", err)
	}
	for i := range b.Items {
		if h := &b.Items[i]; h.Answer && !h.Own {
			h.Sender = "hob, after it had read foreign text"
		}
	}
	return b, nil
}
