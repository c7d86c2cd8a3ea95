package store

import (
	"cmp"
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

// InboxState is the state of an inbox row.
type InboxState string

// The initial states of a row, and expired, which a held row can reach.
const (
	inboxQueued  InboxState = "queued"
	inboxHeld    InboxState = "held"
	inboxDropped InboxState = "dropped"
	inboxExpired InboxState = "expired"
)

// arrival is an input on its way into the inbox. The steps of enterInbox complete it.
type arrival struct {
	In     event.In
	Number int64                // of its row, if it was reserved
	Files  []artifacts.Artifact // files that came with it

	State  InboxState
	Reason string // why State is not queued
	Seq    int64  // of its row; 0: it has no row of its own, and Receipt names another

	Receipt   event.Receipt
	debounced bool
	edits     *editedMessage // the message that it is the new text of
	silences  bool           // it silences a bot loop
}

// enterInbox decides what happens to an input, and stores it. Inputs without an origin (triggers, reports, the command line) skip the steps
// for chat messages: edits, restore, bot loops, debounce.
func enterInbox(tx *Tx, a arrival) (arrival, error) {
	a.State = inboxQueued
	// A command must not overtake messages that wait to be joined.
	if a.In.Kind == event.Command {
		if err := releaseDebounced(tx, a.In.Session); err != nil {
			return a, err
		}
	}
	// An input without an origin comes from hob itself; the steps below are for those from channels.
	if a.In.Origin == (event.Origin{}) {
		return a.insert(tx)
	}
	receipt, err := findInput(tx, a.In)
	if !errors.Is(err, sql.ErrNoRows) {
		a.Receipt = receipt
		return a, err
	}
	// Each step may end the arrival, or only mark it.
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

// insert stores the row, or finds the existing one.
func (a arrival) insert(tx *Tx) (arrival, error) {
	var err error
	if a.Seq, err = insertInput(tx, a); err == nil && a.Seq == 0 {
		a.Receipt, err = findInput(tx, a.In)
	}
	return a, err
}

// follow writes the related rows in other tables.
func (a arrival) follow(tx *Tx) error {
	if a.edits != nil {
		if err := a.edits.record(tx, a, a.Seq); err != nil {
			return err
		}
	}
	if a.silences {
		return silenceSender(tx, a)
	}
	return nil
}

// insertInput stores an input as a new row and returns its number; 0: it already exists.
//
// The pair (source, ext_id) is unique: a channel may deliver a message again after a crash without harm.
func insertInput(tx *Tx, a arrival) (int64, error) {
	in := a.In
	parts, err := sqlite.Doc(in.Parts)
	if err != nil {
		return 0, err
	}
	// Inputs of hob itself carry no time of receipt; theirs is the time of this commit.
	if in.Received.IsZero() {
		in.Received = tx.Now
	}
	a.State = cmp.Or(a.State, inboxQueued)
	tx.Wake(sqlite.SignalInbox)
	return tx.Insert(`INSERT INTO inbox (seq, source, ext_id, session, kind, rank, trust, sender, reply_to, reply_ref, tainted, typed, parts, fire, received, not_before, not_after,
			person, sent, burst, state, reason)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, ext_id) DO NOTHING`,
		sqlite.Ref(a.Number), in.Source, in.ExtID, in.Session, in.Kind, in.Rank, in.Trust, in.Sender, in.ReplyTo, in.ReplyRef, sqlite.Bit(in.Tainted), sqlite.Bit(in.Typed), parts, sqlite.Ref(in.Fire),
		sqlite.Micros(in.Received), sqlite.Micros(in.NotBefore), sqlite.Micros(in.NotAfter), in.Origin.Person, sqlite.Micros(in.Origin.Sent), sqlite.Bit(a.debounced), a.State, a.Reason)
}

// findInput returns the numbers of a known input, or sql.ErrNoRows. The list of types is that of the index.
func findInput(tx *Tx, in event.In) (event.Receipt, error) {
	var r event.Receipt
	err := tx.One(`SELECT i.seq, coalesce((SELECT e.seq FROM events e WHERE e.inbox = i.seq AND e.type IN ('event.accepted', 'queue.ahead') AND e.type = 'event.accepted'), 0)
		FROM inbox i WHERE i.source = ? AND i.ext_id = ?`, []any{in.Source, in.ExtID}, &r.Inbox, &r.Event)
	return r, err
}

// inboxColumns are the columns that scanInput reads. A debounced message counts as ready, because only a following message delays it.
const inboxColumns = "seq, source, ext_id, session, kind, rank, trust, sender, reply_to, reply_ref, tainted, typed, parts, coalesce(fire, 0), received, iif(burst = 1, 0, not_before), not_after, person, sent"

// scanInput reads a row.
func scanInput(rs *sql.Rows) (turn.Queued, error) {
	var q turn.Queued
	in := &q.In
	err := rs.Scan(&q.Seq, &in.Source, &in.ExtID, &in.Session, &in.Kind, &in.Rank, &in.Trust, &in.Sender, &in.ReplyTo, &in.ReplyRef, &in.Tainted, &in.Typed,
		sqlite.JSON(&in.Parts), &in.Fire, sqlite.Stamp(&in.Received), sqlite.Stamp(&in.NotBefore), sqlite.Stamp(&in.NotAfter), &in.Origin.Person, sqlite.Stamp(&in.Origin.Sent))
	return q, err
}

// debounce delays a chat message, together with the sender's waiting ones, because the sender may continue to write. channels.Debounce
// computes the time.
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
	// Without a waiting message, this one starts the window.
	if n == 0 {
		first = now
	}
	a.debounced, in.NotBefore = true, channels.Debounce(first, n+1, now)
	if n == 0 {
		return false, nil
	}
	return false, tx.Run("UPDATE inbox SET not_before = ? WHERE seq IN (SELECT seq"+waiting+")", append([]any{sqlite.Micros(in.NotBefore)}, args...)...) // #nosec G202 -- constants
}

// releaseDebounced ends the delay in a conversation: a command must not overtake earlier messages.
func releaseDebounced(tx *Tx, session string) error {
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND burst = 1 AND session = ?2 AND not_before > ?1", sqlite.Micros(tx.Now), session)
}

// noteNotAnswered adds the event that an input will not be answered.
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
