package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// addEvent appends one event.
func addEvent(tx *Tx, e event.Event) error {
	_, err := addEventSeq(tx, e)
	return err
}

// addEventSeq appends an event and ends the waits for it. A wait names the type, or "type:key" with the session's key.
//
// Clients follow the events by their numbers, and parked turns wait for them by their types.
func addEventSeq(tx *Tx, e event.Event) (int64, error) {
	data, err := sqlite.Doc(e.Data)
	if err != nil {
		return 0, err
	}
	// Doc encodes nil as null; readers of the events expect an object.
	if e.Data == nil {
		data = "{}"
	}
	seq, err := tx.Insert("INSERT INTO events (type, at, session, turn, inbox, data) VALUES (?, ?, ?, ?, ?, ?)", e.Type, sqlite.Micros(tx.Now), e.Session, e.Turn, e.Inbox, data)
	if err != nil {
		return 0, fmt.Errorf("append event: %w", err)
	}
	tx.Wake(sqlite.SignalEvents)
	// A turn's own events do not end its waits.
	return seq, tx.Run("UPDATE waits SET met = ?, how = ? WHERE met = 0 AND kind = 'event' AND turn <> ? AND subject IN (?, ?)",
		sqlite.Micros(tx.Now), fmt.Sprintf("event %d", seq), e.Turn, e.Type, e.Type+":"+e.Session)
}

// EventsAfter returns up to limit events with a number above after, oldest first.
func (s Events) EventsAfter(ctx context.Context, after int64, limit int) ([]event.Event, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT seq, type, at, session, turn, inbox, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after, limit)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (e event.Event, err error) {
		return e, rs.Scan(&e.Seq, &e.Type, sqlite.Stamp(&e.At), &e.Session, &e.Turn, &e.Inbox, sqlite.JSON(&e.Data))
	})
}

// LastEvent returns the number of the newest event; 0: none.
func (s Events) LastEvent(ctx context.Context) (int64, error) {
	var seq int64
	err := s.core.read().QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&seq)
	return seq, err
}

// notFound is the fault for a row that does not exist.
func notFound(what string, id any) error {
	return event.NewFault(event.Missing, "hob "+what+"s list shows what there is", "there is no %s %v", what, id)
}

// Append adds an event that belongs to no other change, such as the progress of a call.
func (s Events) Append(ctx context.Context, e event.Event) error {
	return s.core.write(ctx, func(tx *Tx) error { return addEvent(tx, e) })
}

// Notice sends the owner a message once per key.
func (s Events) Notice(ctx context.Context, key, text string) error {
	return s.core.write(ctx, func(tx *Tx) error { return addNotice(tx, key, s.core.epoch, text) })
}

// Tell is Notice to any address.
func (s Events) Tell(ctx context.Context, key string, to event.Address, text string) error {
	return s.core.write(ctx, func(tx *Tx) error { return tx.Tell(key, to, text) })
}

// Tell sends a message to an address once per key.
func (tx *Tx) Tell(key string, to event.Address, text string) error {
	return queueOut(tx, event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: tx.core.epoch}, To: to, Body: text, Urgency: event.Urgent})
}

// Trim deletes events older than before. The newest event always stays, so that numbers only increase.
func (s Events) Trim(ctx context.Context, before time.Time) error {
	return s.core.run(ctx, "DELETE FROM events WHERE at < ? AND seq < (SELECT max(seq) FROM events)", sqlite.Micros(before))
}
