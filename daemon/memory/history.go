package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"hob/daemon/agent/turn"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
	"hob/daemon/sys"
)

// HistorySource reads items with numbers above after, oldest first and a limited number at a time; of one turn, or of all (0).
type HistorySource func(ctx context.Context, after, id int64) (turn.HistoryBatch, error)

// Bounds of the indexing of the history.
const (
	historyDelay = 5 * time.Second // after the end of a turn, and after the start: nobody waits for it
	catchUp      = 5               // batches that a search indexes before it answers
)

// errBehind is a history that is not whole yet.
var errBehind = errors.New("the history is not indexed to its end")

// history is the state of the indexing. One goroutine at a time holds turn.
type history struct {
	turn       chan struct{} // of capacity 1
	next, last atomic.Int64  // for the note about what is missing
}

// RunHistory indexes the history and the context items in the background until ctx ends: once after the start, and after each wake signal. Between two batches it rests as long as a batch
// took, so that turns have the other half of the time. A failure is logged and tried again with the next signal; use logs those of
// the disk.
func (x *Index) RunHistory(ctx context.Context, wake <-chan struct{}) error {
	for sys.Sleep(ctx, historyDelay) {
		if err := x.indexHistory(ctx, 0); err != nil && ctx.Err() == nil && advice(err) == "" {
			x.o.Log.Warn("index the history", "err", err)
		}
		if err := errors.Join(indexContext(ctx, x), eraseItems(ctx, x)); err != nil && ctx.Err() == nil && advice(err) == "" {
			x.o.Log.Warn("index the context items", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-wake:
		}
	}
	return nil
}

// indexHistory indexes what was said since the last time. Each batch is one commit together with the cursor, so that it continues after a kill. most limits the batches, and
// then it does not rest between them; 0: no limit.
func (x *Index) indexHistory(ctx context.Context, most int) error {
	select {
	case x.history.turn <- struct{}{}:
	case <-ctx.Done():
		return errBehind
	}
	defer func() { <-x.history.turn }()
	if x.o.History == nil {
		return nil
	}
	// Where nothing was said yet, no index is made.
	if most == 0 && missing(x) {
		if b, err := x.o.History(ctx, 0, 0); err != nil || b.Last == 0 {
			return err
		}
	}
	return x.use(ctx, func(db *sqlite.DB) error {
		if err := x.endedTurns(ctx, db); err != nil {
			return err
		}
		for n := 0; ; n++ {
			began := time.Now()
			more, err := x.nextBatch(ctx, db)
			if err != nil || !more {
				return err
			}
			if most > 0 && n+1 == most {
				return errBehind
			}
			if most == 0 && !sys.Sleep(ctx, time.Since(began)) {
				return ctx.Err()
			}
		}
	})
}

// cursorOf reads the number up to which the history is indexed.
func cursorOf(ctx context.Context, db *sqlite.DB) (cursor int64, err error) {
	err = db.Reader().QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM meta WHERE key = 'history'), '0')").Scan(&cursor)
	return cursor, err
}

// nextBatch indexes one batch. Turns that have not ended are noted and indexed when they have.
func (x *Index) nextBatch(ctx context.Context, db *sqlite.DB) (more bool, err error) {
	cursor, err := cursorOf(ctx, db)
	if err != nil {
		return false, err
	}
	b, err := x.o.History(ctx, cursor, 0)
	if err != nil {
		return false, err
	}
	x.history.next.Store(b.Next)
	x.history.last.Store(b.Last)
	if b.Last < cursor { // another database took the place of the one that was indexed
		return true, db.Write(ctx, func(tx *sqlite.Conn) error { return dropHistory(tx) })
	}
	if b.Next == cursor {
		return false, nil
	}
	fail.Point("memory.history")
	defer x.counts.forget()
	return b.Next < b.Last, db.Write(ctx, func(tx *sqlite.Conn) error {
		for _, it := range b.Items {
			if err := x.putItem(tx, it); err != nil {
				return fmt.Errorf("index item %d: %w", it.Seq, err)
			}
		}
		return setMeta(tx, "history", fmt.Sprint(b.Next))
	})
}

// endedTurns indexes the turns that had not ended when the cursor passed them.
func (x *Index) endedTurns(ctx context.Context, db *sqlite.DB) error {
	rs, err := db.Reader().QueryContext(ctx, "SELECT turn FROM pending ORDER BY turn")
	turns, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) { return id, rs.Scan(&id) })
	if err != nil {
		return err
	}
	if len(turns) > 0 {
		defer x.counts.forget()
	}
	for _, id := range turns {
		for after, done := int64(0), false; !done; {
			b, err := x.o.History(ctx, after, id)
			if err != nil {
				return err
			}
			if len(b.Items) > 0 && b.Items[0].Open {
				break
			}
			done = b.Next >= b.Last
			after = b.Next
			err = db.Write(ctx, func(tx *sqlite.Conn) error {
				for _, it := range b.Items {
					if err := x.putItem(tx, it); err != nil {
						return err
					}
				}
				if !done {
					return nil
				}
				return tx.Run("DELETE FROM pending WHERE turn = ?", id)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// putItem indexes an item, once. Own texts share their words with the memory; those of others have tables of their own, so that no number of them changes the rank of
// an own passage, or which words count as common.
func (x *Index) putItem(tx *sqlite.Conn, it turn.HistoryItem) error {
	if it.Open {
		return tx.Run("INSERT INTO pending (turn) VALUES (?) ON CONFLICT DO NOTHING", it.Turn)
	}
	text := strings.TrimSpace(x.o.Redact(clean(it.Text)))
	if text == "" {
		return nil
	}
	// What the owner asked once is no answer.
	told := it.Own && it.Clean && !it.Answer && strings.TrimRight(text, "?？") == text
	id, err := addChunk(tx, "history", it.Own, `INSERT INTO chunks (kind, path, session, seq, own, said, sender, person, at, text) VALUES ('history', ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		it.Key, it.Session, it.Seq, it.Own, told, x.o.Redact(it.Sender), it.Person, sqlite.Micros(it.At), text)
	switch {
	case err != nil || id == 0: // id 0: it is there
		return err
	case it.Own:
		return putWords(tx, id, "", text, true)
	}
	words, _ := searchable(text)
	return tx.Run("INSERT INTO strangers (rowid, text) VALUES (?, ?)", id, words)
}

// dropHistory removes the history from the index. It is made anew from the first item on.
func dropHistory(tx *sqlite.Conn) error {
	if err := dropChunks(tx, "kind = 'history'"); err != nil {
		return err
	}
	if err := tx.Run("DELETE FROM pending"); err != nil {
		return err
	}
	return setMeta(tx, "history", "0")
}

// Gone is what was removed from the database or from files.
type Gone struct {
	Sessions []int64 // conversations
	Items    []int64 // messages and answers that are kept, and must not be found any more
	Files    bool    // memory files have changed
}

// Forget calls then, which removes something where it belongs and so changes the origin, and removes the same from the index. No item is indexed meanwhile. If hob is
// killed in between, or the index fails, it is made anew.
func (x *Index) Forget(ctx context.Context, then func() (Gone, error)) error {
	select {
	case x.history.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.history.turn }()
	// It is opened before: an index that is opened afterwards has another origin.
	if err := x.use(ctx, func(*sqlite.DB) error { return nil }); err != nil {
		return err
	}
	gone, err := then()
	if err != nil {
		return err
	}
	fail.Point("memory.forgotten")
	if err := erase(context.WithoutCancel(ctx), x, gone); err != nil {
		x.o.Log.Warn("the memory index is made anew, because something could not be removed from it", "err", err)
		return x.discard(true)
	}
	return nil
}

// erase removes what is gone, so that the file of the index does not hold it either.
func erase(ctx context.Context, x *Index, gone Gone) error {
	for range 2 * sqlite.Bit(gone.Files) { // a sync that runs already may have read the old files
		if _, err := x.Sync(ctx); err != nil {
			return err
		}
	}
	origin, err := x.o.Origin(ctx)
	if err != nil {
		return err
	}
	defer x.counts.forget()
	return x.use(ctx, func(db *sqlite.DB) error {
		return db.Erase(ctx, func(tx *sqlite.Conn) error {
			for column, ids := range map[string][]int64{"session": gone.Sessions, "seq": gone.Items} {
				list, err := sqlite.Doc(ids)
				if err != nil {
					return err
				}
				if err := dropChunks(tx, "kind = 'history' AND "+column+" IN (SELECT value FROM json_each(?))", list); err != nil {
					return err
				}
			}
			return errors.Join(dropWords(tx), setMeta(tx, "origin", origin))
		})
	})
}

// dropWords removes the words of removed rows, which a full-text index keeps until its parts are merged.
func dropWords(tx *sqlite.Conn) error {
	for _, table := range []string{"words", "grams", "strangers"} {
		if err := tx.Run("INSERT INTO " + table + " (" + table + ") VALUES ('optimize')"); err != nil { // #nosec G202 -- constants
			return err
		}
	}
	return nil
}

// freshHistory indexes what was said last, if it is not much. The note says what is missing; "": nothing.
func (x *Index) freshHistory(ctx context.Context, q Query) (note string) {
	if x.o.History == nil || q.Quick || q.Scope != All && q.Scope != HistoryScope {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, waitForSync)
	defer cancel()
	err := x.indexHistory(ctx, catchUp)
	next, last := x.history.next.Load(), x.history.last.Load()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errBehind) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the history is not whole yet: %d of %d items are indexed", min(next, last), last)
	}
	return "the history could not be brought up to date: " + advised(err)
}

// Limits of what a search takes from the texts of others.
const (
	strangersRead = 10000 // matches that are compared
	manyMatches   = 20000 // with more of them the newest are compared, as comparing all would take seconds
	perSender     = 3     // passages of one sender
	mostExcerpt   = 600   // bytes of a message or an answer in a result
)

// strangers returns what others wrote: at most three passages of one sender, the best first. The caller puts them after the owner's own.
func strangers(ctx context.Context, rows *sqlite.Readers, q Query, terms []term) ([]candidate, error) {
	if q.Quick || q.Scope != All && q.Scope != HistoryScope || len(terms) == 0 {
		return nil, nil
	}
	var words, stems []string
	for _, t := range terms {
		words, stems = append(words, `"`+t.word+`"`), append(stems, t.stem)
	}
	list, err := sqlite.Doc(stems)
	if err != nil {
		return nil, err
	}
	var matches int
	if err := rows.QueryRowContext(ctx, "SELECT coalesce(sum(doc), 0) FROM strange_words WHERE term IN (SELECT value FROM json_each(?))", list).Scan(&matches); err != nil {
		return nil, err
	}
	order, from, args := "w.rank", "strangers w WHERE w.strangers MATCH ?", []any{strings.Join(words, " OR ")}
	if matches > manyMatches {
		order = "w.rowid DESC"
	}
	if !q.Owner || q.Only {
		from, args = "strangers w JOIN chunks o ON o.id = w.rowid WHERE w.strangers MATCH ? AND o.session = ?", append(args, q.Session)
	}
	rs, err := rows.QueryContext(ctx, `SELECT id FROM (SELECT c.id, w.r, row_number() OVER (PARTITION BY c.person ORDER BY w.r, c.id DESC) n
		FROM (SELECT w.rowid id, w.rank r FROM `+from+` ORDER BY `+order+` LIMIT ?) w JOIN chunks c ON c.id = w.id)
		WHERE n <= ? ORDER BY r LIMIT ?`, append(args, strangersRead, perSender, q.MaxPassages)...) // #nosec G202 -- constants
	hits, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) { return id, rs.Scan(&id) })
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, id := range hits {
		c := candidate{id: id, kind: History}
		if err := rows.QueryRowContext(ctx, "SELECT path, session, seq, sender, at, text FROM chunks WHERE id = ?", id).Scan(&c.path, &c.session, &c.seq, &c.sender, &c.at, &c.text); err != nil {
			return nil, err
		}
		c.foreign = "written by " + c.sender
		found = append(found, c)
	}
	return found, nil
}

// excerpt returns a short text as it is, and of a long one the part that has the most words of the query.
func excerpt(text string, m *matcher) string {
	if len(text) <= mostExcerpt {
		return text
	}
	best, at := -1.0, 0
	for from := 0; from < len(text); from += mostExcerpt / 2 {
		part := text[from:min(from+mostExcerpt, len(text))]
		if sum, _ := m.match(strings.ToValidUTF8(part, "")); sum > best {
			best, at = sum, from
		}
	}
	end := min(at+mostExcerpt, len(text))
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	cut := text[at:end]
	if at > 0 {
		cut = "… " + cut
	}
	if end < len(text) {
		cut += " …"
	}
	return cut
}
