package store

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// InboxState is what a row of the inbox begins as.
type InboxState string

// The states that a row can begin in, and Expired, in which one can end that was held.
const (
	inboxQueued  InboxState = "queued"
	inboxHeld    InboxState = "held"
	inboxDropped InboxState = "dropped"
	inboxExpired InboxState = "expired"
)

// arrival is an input and, once it has entered, what has become of it.
type arrival struct {
	In     event.In
	Number int64                // of its row, when that was reserved
	Files  []artifacts.Artifact // that came with it

	State  InboxState
	Reason string // of a state that is not Queued
	Seq    int64  // of its row; 0: it has none of its own, Receipt has the numbers of another

	Receipt event.Receipt
	burst   bool
	edits   *editedMessage // what it is the new text of
	ends    bool           // a conversation
}

// enterInbox decides what becomes of an input, and stores that.
func enterInbox(tx *Tx, a arrival) (arrival, error) {
	a.State = inboxQueued
	if a.In.Kind == event.Command {
		if err := releaseDebounced(tx, a.In.Session); err != nil {
			return a, err
		}
	}
	if a.In.Origin == (event.Origin{}) {
		return a.insert(tx)
	}
	receipt, err := findInput(tx, a.In)
	if !errors.Is(err, sql.ErrNoRows) {
		a.Receipt = receipt
		return a, err
	}
	for _, step := range []func(*Tx, *arrival) (over bool, err error){applyEdit, holdRestored, checkBotLoop, debounce} {
		if over, err := step(tx, &a); err != nil || over {
			return a, err
		}
	}
	if a, err = a.insert(tx); err != nil {
		return a, err
	}
	return a, a.follow(tx)
}

// insert stores the row.
func (a arrival) insert(tx *Tx) (arrival, error) {
	var err error
	if a.Seq, err = insertInput(tx, a); err == nil && a.Seq == 0 {
		a.Receipt, err = findInput(tx, a.In)
	}
	return a, err
}

// follow writes what belongs to the row in other tables.
func (a arrival) follow(tx *Tx) error {
	if a.edits != nil {
		if err := a.edits.record(tx, a, a.Seq); err != nil {
			return err
		}
	}
	if a.ends {
		return silenceSender(tx, a)
	}
	return nil
}

// insertInput stores an input as a row of its own, and returns its number; 0: it is there already.
func insertInput(tx *Tx, a arrival) (int64, error) {
	in := a.In
	parts, err := sqlite.Doc(in.Parts)
	if err != nil {
		return 0, err
	}
	if in.Received.IsZero() {
		in.Received = tx.Now
	}
	if a.State == "" {
		a.State = inboxQueued
	}
	tx.Wake(sqlite.SignalInbox)
	return tx.Insert(`INSERT INTO inbox (seq, source, ext_id, session, kind, rank, trust, sender, reply_to, reply_ref, tainted, typed, parts, fire, received, not_before, not_after,
			person, sent, burst, state, reason)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, ext_id) DO NOTHING`,
		sqlite.Ref(a.Number), in.Source, in.ExtID, in.Session, in.Kind, in.Rank, in.Trust, in.Sender, in.ReplyTo, in.ReplyRef, sqlite.Bit(in.Tainted), sqlite.Bit(in.Typed), parts, sqlite.Ref(in.Fire),
		sqlite.Micros(in.Received), sqlite.Micros(in.NotBefore), sqlite.Micros(in.NotAfter), in.Origin.Person, sqlite.Micros(in.Origin.Sent), sqlite.Bit(a.burst), a.State, a.Reason)
}

// findInput finds the numbers of an input that was stored before: sql.ErrNoRows when it was not. That a number is above 0 is said for the sake of
// the index.
func findInput(tx *Tx, in event.In) (event.Receipt, error) {
	var r event.Receipt
	err := tx.One(`SELECT i.seq, coalesce((SELECT e.seq FROM events e WHERE e.inbox = i.seq AND e.inbox > 0 AND e.type = 'event.accepted'), 0)
		FROM inbox i WHERE i.source = ? AND i.ext_id = ?`, []any{in.Source, in.ExtID}, &r.Inbox, &r.Event)
	return r, err
}

// inboxColumns are those of the inbox that Scan reads. What only waits for the next message of its sender could be taken at once.
const inboxColumns = "seq, source, ext_id, session, kind, rank, trust, sender, reply_to, reply_ref, tainted, typed, parts, coalesce(fire, 0), received, iif(burst = 1, 0, not_before), not_after, person, sent"

// scanInput reads a row.
func scanInput(rs *sql.Rows) (turn.Queued, error) {
	var q turn.Queued
	in := &q.In
	err := rs.Scan(&q.Seq, &in.Source, &in.ExtID, &in.Session, &in.Kind, &in.Rank, &in.Trust, &in.Sender, &in.ReplyTo, &in.ReplyRef, &in.Tainted, &in.Typed,
		sqlite.JSON(&in.Parts), &in.Fire, sqlite.Stamp(&in.Received), sqlite.Stamp(&in.NotBefore), sqlite.Stamp(&in.NotAfter), &in.Origin.Person, sqlite.Stamp(&in.Origin.Sent))
	return q, err
}

// debounce lets a message of a chat wait for what its sender writes next, together with what it finds waiting so.
func debounce(tx *Tx, a *arrival) (over bool, err error) {
	in, now := &a.In, tx.Now
	if a.State != inboxQueued || in.Kind != event.Message || in.Origin.Person == "" || in.NotBefore.After(now) {
		return false, nil
	}
	var n int
	var first time.Time
	const waiting = " FROM inbox WHERE state = 'queued' AND burst = 1 AND session = ? AND person = ? AND source = ? AND reply_to = ? AND not_before > ?"
	args := []any{in.Session, in.Origin.Person, in.Source, in.ReplyTo, sqlite.Micros(now)}
	if err := tx.One("SELECT count(*), coalesce(min(received), 0)"+waiting, args, &n, sqlite.Stamp(&first)); err != nil { // #nosec G202 -- constants
		return false, err
	}
	if n == 0 {
		first = now
	}
	a.burst, in.NotBefore = true, channels.Debounce(first, n+1, now)
	if n == 0 {
		return false, nil
	}
	return false, tx.Run("UPDATE inbox SET not_before = ? WHERE seq IN (SELECT seq"+waiting+")", append([]any{sqlite.Micros(in.NotBefore)}, args...)...) // #nosec G202 -- constants
}

// releaseDebounced ends the waiting in a conversation: a command must not overtake what was written before it.
func releaseDebounced(tx *Tx, session string) error {
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND burst = 1 AND session = ?2 AND not_before > ?1", sqlite.Micros(tx.Now), session)
}

// noteNotAnswered tells the live view that an input will not be answered.
func noteNotAnswered(tx *Tx, seq int64, state InboxState) error {
	return addEvent(tx, event.Event{Type: "event." + string(state), Inbox: seq, Data: map[string]any{"inbox": seq}})
}

// putCursor stores how far a source has been read.
func putCursor(tx *Tx, c channels.Cursor) error {
	err := tx.Run(`INSERT INTO cursors (source, identity, value, updated) VALUES (?, ?, ?, ?)
		ON CONFLICT (source) DO UPDATE SET identity = excluded.identity, value = excluded.value, updated = excluded.updated`,
		c.Source, c.Identity, c.Value, sqlite.Micros(tx.Now))
	if err != nil {
		return fmt.Errorf("store the cursor of %s: %w", c.Source, err)
	}
	return nil
}
