package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// NotifyWaiting tells each person whose message has waited since before the given instant how many messages are ahead, once.
func (s Turns) NotifyWaiting(ctx context.Context, waitingSince time.Time) error {
	rows, err := s.core.queued(ctx, "kind = 'message' AND received <= ? AND not_before <= ?", sqlite.Micros(waitingSince), sqlite.Micros(s.core.now()))
	if err != nil || len(rows) == 0 {
		return err
	}
	// The list is in the order in which turns take the messages, so the place in it is the number to tell.
	return s.core.write(ctx, func(tx *Tx) error {
		for i, q := range rows {
			if err := tellAhead(tx, q, i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// tellAhead tells the sender, once, how many messages are ahead in the queue: as an event for clients of the live view, and as a message on
// channels that want it.
func tellAhead(tx *Tx, q turn.Queued, ahead int) error {
	// The event also records that the sender was told.
	var told bool
	err := tx.One("SELECT EXISTS (SELECT 1 FROM events WHERE inbox = ? AND type IN ('event.accepted', 'queue.ahead') AND type = 'queue.ahead')", []any{q.Seq}, &told)
	if err != nil || told {
		return err
	}
	if err := addEvent(tx, event.Event{Type: "queue.ahead", Session: q.In.Session, Inbox: q.Seq, Data: map[string]any{"inbox": q.Seq, "ahead": ahead}}); err != nil {
		return err
	}
	wanted, err := wantsAhead(tx, q)
	if err != nil || !wanted {
		return err
	}
	return queueOut(tx, event.Out{
		Key: fmt.Sprintf("ahead:%d", q.Seq), Cause: event.Cause{Kind: event.ByCommand, ID: q.Seq}, To: q.In.ReplyTo, ReplyRef: q.In.ExtID,
		Body: fmt.Sprintf("%d ahead of you.", ahead), Urgency: event.Urgent,
	})
}

// wantsAhead decides whether a sender gets the number of messages ahead. The channel must be able to edit that message into the answer
// later; elsewhere it would be an extra message. Nothing is sent during quiet hours, or to a sender who sees the running answer that the
// message will join.
func wantsAhead(tx *Tx, q turn.Queued) (bool, error) {
	to := q.In.ReplyTo
	edits := tx.core.opt.Config().edits(to)
	own := q.In.Trust == event.Owner && slices.Contains(tx.core.opt.Owner(), to)
	if to == "" || to.Committed() || !edits || !own && q.In.Trust == event.Machine {
		return false, nil
	}
	// In a quiet time nothing is sent: the number would be outdated at its end.
	until, _, err := delayOf(tx, event.Out{Cause: event.Cause{Kind: event.ByCommand}}, to)
	if err != nil || until.After(tx.Now) {
		return false, err
	}
	var joins bool
	err = tx.One("SELECT EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session WHERE t.state = 'running' AND t.parent IS NULL AND s.key = ? AND t.asker = ? AND t.reply_to = ?)",
		[]any{q.In.Session, q.In.Trust, to}, &joins)
	return !joins, err
}

// Drain returns the running turn to the queue without counting an attempt. The next start continues it.
func (s Turns) Drain(ctx context.Context) error {
	fail.Point("drain")
	return s.core.run(ctx, "UPDATE turns SET state = 'ready', attempts = max(attempts - 1, 0) WHERE state = 'running' AND parent IS NULL AND epoch = ?", s.core.epoch)
}
