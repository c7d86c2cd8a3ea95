package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/text"
)

// Forgotten lists what the removal of a text or a session has deleted.
type Forgotten struct {
	Sessions  []int64   // the session and its sub-agents' sessions, whose items were deleted
	Items     int64     // number of deleted items
	Since     time.Time // when the oldest of the deleted texts was written; copies of the database since then may contain them
	Artifacts []string  // ids of files whose rows were deleted; the caller deletes their bytes
	Summaries int64     // deleted summaries; the next requests make new ones
	Marked    []int64   // items that stay but are not found by searches any more
}

// deleteTextsOfSession returns the statements that delete the texts of turns in the sessions ?1. The rows stay: the costs, the audit, and the ids
// that must not be accepted twice need them.
func deleteTextsOfSession() []string {
	return []string{
		"DELETE FROM items WHERE session IN (SELECT value FROM json_each(?1))", "DELETE FROM compactions WHERE session IN (SELECT value FROM json_each(?1))",
		"DELETE FROM todos WHERE session IN (SELECT value FROM json_each(?1))", "DELETE FROM plans WHERE session IN (SELECT value FROM json_each(?1))",
		"UPDATE edits SET text = '' WHERE message IN " + inboxOfSession + " OR inbox IN " + inboxOfSession,
		"UPDATE inbox SET parts = '[]', sender = '' WHERE seq IN " + inboxOfSession,
		"UPDATE deliveries SET body = '' WHERE outbox IN (SELECT id FROM outbox WHERE " + outboxOfSession + ")",
		"UPDATE outbox SET body = '', files = NULL WHERE " + outboxOfSession,
		"UPDATE questions SET text = '', options = '[]', answer = '' WHERE turn IN " + turnsOfSession,
		"UPDATE waits SET subject = '', how = '' WHERE turn IN " + turnsOfSession,
		"UPDATE audit SET summary = '', warnings = '' WHERE turn IN " + turnsOfSession,
		"UPDATE events SET data = '{}' WHERE turn IN " + turnsOfSession + " OR inbox IN " + inboxOfSession +
			" OR type = 'message.sent' AND json_extract(data, '$.outbox') IN (SELECT id FROM outbox WHERE " + outboxOfSession + ")",
		"UPDATE tasks SET title = 'removed', prompt = 'removed', result = '', state = iif(state = 'failed', 'cancelled', state) WHERE ended > 0 AND (session IN (SELECT value FROM json_each(?1)) OR turn IN " + turnsOfSession + ")",
		"UPDATE turns SET text = '', why = '' WHERE session IN (SELECT value FROM json_each(?1))",
		"UPDATE sessions SET title = '', prompt = NULL, guest_prompt = NULL, shown = NULL, guest_shown = NULL, revive = 0, archived = iif(archived = 0, ?2, archived) WHERE id IN (SELECT value FROM json_each(?1))",
		unusedPrompts,
	}
}

const (
	turnsOfSession = "(SELECT id FROM turns WHERE session IN (SELECT value FROM json_each(?1)))"
	// inboxOfSession selects the messages of the session's turns, and those that never got a turn, such as commands.
	inboxOfSession = "(SELECT seq FROM inbox WHERE turn IN " + turnsOfSession + " UNION SELECT b.seq FROM sessions s JOIN inbox b ON b.session = s.key WHERE s.id IN (SELECT value FROM json_each(?1)) AND b.turn IS NULL AND b.state NOT IN ('queued', 'held')" +
		" AND (s.archived = 0 OR b.received < s.archived) AND b.received >= (SELECT coalesce(max(o.archived), 0) FROM sessions o WHERE o.key = s.key AND o.id < s.id))"
	outboxOfSession = "cause_kind = 'step' AND cause_id IN " + turnsOfSession + " OR cause_kind = 'question' AND cause_id IN (SELECT id FROM questions WHERE turn IN " + turnsOfSession + ")"

	// unusedPrompts deletes prompts that no session uses. A prompt contains workspace files, including the memory.
	unusedPrompts = `DELETE FROM prompts WHERE hash NOT IN (SELECT prompt FROM sessions WHERE prompt IS NOT NULL UNION SELECT guest_prompt FROM sessions WHERE guest_prompt IS NOT NULL
		UNION SELECT shown FROM sessions WHERE shown IS NOT NULL UNION SELECT guest_shown FROM sessions WHERE guest_shown IS NOT NULL)`
)

// Forget deletes everything that was said in a session and ends the session. It fails while a turn of the session or of one of its
// sub-agents has not ended.
func (r Sessions) Forget(ctx context.Context, name string) (f Forgotten, err error) {
	err = r.erase(ctx, func(tx *Tx) error {
		f = Forgotten{}
		if f.Sessions, err = family(tx, name); err != nil {
			return err
		}
		list, err := sqlite.Doc(f.Sessions)
		if err != nil {
			return err
		}
		var began int64
		if err := tx.One("SELECT min(created), (SELECT count(*) FROM items WHERE session IN (SELECT value FROM json_each(?1))) FROM sessions WHERE id IN (SELECT value FROM json_each(?1))", []any{list}, &began, &f.Items); err != nil {
			return err
		}
		f.Since = sqlite.Time(began)
		if f.Artifacts, err = forgetArtifacts(tx, list); err != nil {
			return err
		}
		if err := noteRemoval(tx); err != nil {
			return err
		}
		for _, change := range deleteTextsOfSession() {
			if err := tx.Run(change, list, sqlite.Micros(tx.Now)); err != nil {
				return fmt.Errorf("forget the texts: %w", err)
			}
		}
		return nil
	})
	return f, err
}

// family returns the ids of a session and of its sub-agents' sessions. It fails while one of their turns has not ended.
func family(tx *Tx, name string) ([]int64, error) {
	s, err := namedSession(tx, name)
	if err != nil {
		return nil, err
	}
	ids, err := familyOf(tx, s.id)
	if err != nil {
		return nil, err
	}
	list, err := sqlite.Doc(ids)
	if err != nil {
		return nil, err
	}
	var open int64
	if err := tx.One("SELECT coalesce(max(id), 0) FROM turns WHERE ended = 0 AND session IN (SELECT value FROM json_each(?))", []any{list}, &open); err != nil {
		return nil, err
	}
	if open != 0 {
		return nil, event.NewFault(event.Clash, fmt.Sprintf("stop it first: hob turns stop %d", open), "session %s has a turn that has not ended", name)
	}
	return ids, nil
}

func familyOf(tx *Tx, id int64) ([]int64, error) {
	rs, err := tx.Query("SELECT ?1 UNION SELECT c.session FROM turns p JOIN turns c ON c.parent = p.id JOIN children k ON k.turn = c.id WHERE p.session = ?1", id)
	return sqlite.Collect(rs, err, sqlite.Value[int64])
}

// artifactUses selects the texts that name files, and whether each of them is deleted with the sessions ?1.
const artifactUses = "SELECT parts || ' ' || handle, session IN (SELECT value FROM json_each(?1)) AS goes FROM items WHERE NOT goes OR kind IN ('input', 'result') UNION ALL SELECT parts, seq IN " +
	inboxOfSession + " FROM inbox UNION ALL SELECT files, 0 FROM outbox WHERE files IS NOT NULL AND (ended = 0 OR state = 'dead' AND NOT (" + outboxOfSession + "))"

// forgetArtifacts deletes the rows of files that items of the sessions name. It keeps a file that another session names, in an item or a
// message, and a file of a message that is not delivered yet or may be sent again.
func forgetArtifacts(tx *Tx, sessions string) ([]string, error) {
	id := sqlite.Value[string]
	rs, err := tx.Query("SELECT id FROM artifacts")
	all, err := sqlite.Collect(rs, err, id)
	if err != nil {
		return nil, err
	}
	uses := artifacts.NewUses(all)
	rs, err = tx.Query(artifactUses, sessions)
	if _, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (goes bool, err error) {
		var text sql.RawBytes
		err = rs.Scan(&text, &goes)
		uses.Note(text, goes)
		return goes, err
	}); err != nil {
		return nil, err
	}
	doc, err := sqlite.Doc(uses.Unneeded())
	if err != nil {
		return nil, err
	}
	rs, err = tx.Query("DELETE FROM artifacts WHERE id IN (SELECT value FROM json_each(?)) RETURNING id", doc)
	return sqlite.Collect(rs, err, id)
}

// traces are the places where a fact is stored besides the memory.
type traces struct {
	items    []int64  // messages, answers, calls and results that contain it and are not marked yet
	covered  []int64  // sessions with a summary that contains it, or may contain it because of an item
	prefixes []string // hashes of prompts that contain it
}

// Fact recognises the texts that contain a fact.
type Fact interface {
	In(text string) bool     // reports whether a text contains the fact
	Is(text string) bool     // reports whether a text is the fact itself
	InJSON(docs string) bool // reports whether a string in JSON documents contains it
	Longest() (ascii string) // the longest word that each such text contains; "" if unknown
}

// tracesOf finds the places where a fact is stored.
func tracesOf(tx *Tx, f Fact) (t traces, err error) {
	like := "%" + f.Longest() + "%"
	rs, err := tx.Query(`SELECT seq, parts || coalesce(args, ''), forgotten, kind = 'summary' OR EXISTS (SELECT 1 FROM compactions c WHERE c.session = items.session AND c.last >= items.seq), session
		FROM items WHERE parts LIKE ?1 OR args LIKE ?1`, like)
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (seq int64, err error) {
		var docs string
		var marked, covered bool
		var session int64
		if err := rs.Scan(&seq, &docs, &marked, &covered, &session); err != nil || !f.InJSON(docs) {
			return seq, err
		}
		if !marked {
			t.items = append(t.items, seq)
		}
		if covered {
			t.covered = append(t.covered, session)
		}
		return seq, nil
	})
	if err != nil {
		return t, err
	}
	rs, err = tx.Query("SELECT hash, text FROM prompts WHERE text LIKE ?", like)
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (hash string, err error) {
		var text string
		if err := rs.Scan(&hash, &text); err == nil && f.In(text) {
			t.prefixes = append(t.prefixes, hash)
		}
		return hash, err
	})
	return t, err
}

// ForgetFact removes the traces of a fact that is being removed from the memory: the prompts that contain it, and the summaries that
// contain it or cover an item with it. The items stay and are marked, like the turn that removes the fact (0: none). The index and later
// summaries leave marked items out. The next requests make new prompts and summaries. ForgetFact may be called twice.
func (r Sessions) ForgetFact(ctx context.Context, fact Fact, turn int64) (f Forgotten, err error) {
	var found traces
	look := func(tx *Tx) (err error) {
		found, err = tracesOf(tx, fact)
		return err
	}
	if err := r.core.view(ctx, look); err != nil {
		return f, fmt.Errorf("look for the fact: %w", err)
	}
	change := r.core.write // without overwriting, which is much slower
	if len(found.covered)+len(found.prefixes) > 0 {
		change = r.erase
	}
	err = change(ctx, func(tx *Tx) error {
		if err := errors.Join(look(tx), noteRemoval(tx)); err != nil {
			return err
		}
		f = Forgotten{Marked: found.items}
		items, err := sqlite.Doc(found.items)
		covered, err2 := sqlite.Doc(found.covered)
		prefixes, err3 := sqlite.Doc(found.prefixes)
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		if f.Summaries, err = tx.Change("DELETE FROM items WHERE kind = 'summary' AND session IN (SELECT value FROM json_each(?))", covered); err != nil {
			return err
		}
		return errors.Join(
			closeRemovals(tx, fact),
			tx.Run("UPDATE items SET forgotten = 1 WHERE seq IN (SELECT value FROM json_each(?))", items), tx.Run("UPDATE turns SET forgotten = 1 WHERE id = ?", turn),
			tx.Run("DELETE FROM compactions WHERE session IN (SELECT value FROM json_each(?))", covered),
			tx.Run(`UPDATE sessions SET prompt = NULL, guest_prompt = NULL, shown = NULL, guest_shown = NULL WHERE id IN (SELECT value FROM json_each(?1))
				OR EXISTS (SELECT 1 FROM json_each(?2) p WHERE p.value IN (prompt, guest_prompt, shown, guest_shown))`, covered, prefixes),
			tx.Run(unusedPrompts))
	})
	return f, err
}

// closeRemovals closes the open questions of the command line whether the fact may be removed: those whose canonical call has its text. One that is
// too long to be shown whole stays open, and so does the call of a turn: its turn waits, and the call says what it finds.
func closeRemovals(tx *Tx, fact Fact) error {
	rs, err := tx.Query("SELECT id, text FROM questions WHERE state = 'open' AND subject = ? AND tool = 'memory_forget'", turn.AboutCall)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) {
		var question string
		var call struct{ Text string }
		err = rs.Scan(&id, &question)
		_, exactly, _ := strings.Cut(question, "\n"+text.AsJSON)
		exactly, _, _ = strings.Cut(exactly, "\n")
		if json.Unmarshal([]byte(exactly), &call) != nil || !fact.Is(call.Text) {
			id = 0
		}
		return id, err
	})
	for _, id := range list {
		if err == nil && id != 0 {
			err = expireQuestions(tx, "id = ?", id)
		}
	}
	return err
}

// keyRemovals is the setting with the number of removals so far.
const keyRemovals = "removals"

// noteRemoval changes the origin, because data was removed.
func noteRemoval(tx *Tx) error {
	return tx.Run("INSERT INTO settings (key, value) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1", keyRemovals)
}

// Origin identifies this database and its history. It changes with another database, with a restored backup, and when data is removed. Data
// that was derived at another origin may contain text that the database no longer has.
func (r Sessions) Origin(ctx context.Context) (origin string, err error) {
	err = r.core.read().QueryRowContext(ctx, `SELECT (SELECT id FROM instance) || ' ' || coalesce((SELECT json_extract(value, '$.at') FROM settings WHERE key = ?), '') || ' ' ||
		coalesce((SELECT value FROM settings WHERE key = ?), 0)`, keyRestored, keyRemovals).Scan(&origin)
	return origin, err
}

// erase runs a transaction that overwrites deleted content. It then empties the write-ahead log, so that no file of the database contains
// the deleted text.
func (r Sessions) erase(ctx context.Context, f func(*Tx) error) error {
	r.core.transcripts.forget()
	err := r.core.db.Erase(ctx, func(tx *sqlite.Conn) error { return f(&Tx{tx, r.core}) })
	r.core.transcripts.forget()
	return err
}
