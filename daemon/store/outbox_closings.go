package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
)

// Closings lists delivered messages that still show the buttons of a closed question and are due to be edited. Messages that were never
// delivered are forgotten on the way. later reports whether messages are left that are not in the list. CROSS JOIN keeps the order of the tables: closings is nearly always empty, and the outbox grows.
func (s Outbox) Closings(ctx context.Context, now time.Time) (list []channels.Closing, later bool, err error) {
	const ended = "o.state IN ('cancelled', 'expired', 'dead') OR o.state = 'done' AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = o.id AND d.remote_id <> '')"
	var all int
	var lost bool
	if err := s.core.read().QueryRowContext(ctx, "SELECT count(*), EXISTS (SELECT 1 FROM closings c CROSS JOIN outbox o ON o.id = c.outbox WHERE "+ended+") FROM closings").Scan(&all, &lost); err != nil {
		return nil, false, fmt.Errorf("look for closed questions: %w", err)
	}
	if all == 0 {
		return nil, false, nil
	}
	// Nearly always there is nothing to delete, so the writer is used only if a reader has found such rows.
	if lost {
		err := s.core.write(ctx, func(tx *Tx) error {
			return tx.Run("DELETE FROM closings WHERE outbox IN (SELECT o.id FROM outbox o WHERE " + ended + ")") // #nosec G202 -- a constant
		})
		if err != nil {
			return nil, false, err
		}
	}
	rs, err := s.core.read().QueryContext(ctx, `SELECT c.outbox, c.tries, o.address, o.reply_ref, d.part, d.body, d.nonce, d.unsure, d.remote_id, q.code, q.state, q.answer
		FROM closings c CROSS JOIN outbox o ON o.id = c.outbox CROSS JOIN questions q ON q.id = o.cause_id CROSS JOIN deliveries d ON d.outbox = o.id
		WHERE o.state = 'done' AND d.state = 'sent' AND d.remote_id <> '' AND d.part = (SELECT max(part) FROM deliveries WHERE outbox = o.id) AND c.next_at <= ? ORDER BY c.outbox LIMIT 50`, sqlite.Micros(now))
	list, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (c channels.Closing, err error) {
		var code, state, answer string
		err = rs.Scan(&c.Outbox, &c.Tries, &c.To, &c.ReplyRef, &c.Part, &c.Body, &c.Nonce, &c.Unsure, &c.Shown, &code, &state, &answer)
		c.Outcome = outcome(state, answer) + " · " + code
		return c, err
	})
	return list, len(list) < all, err
}

// outcome returns the one-word result of a question.
func outcome(state, answer string) string {
	switch {
	case answer == withdrawn && state == "expired":
		return "Withdrawn"
	case state == "expired":
		return "Expired"
	case answer == turn.AnswerNo:
		return "Denied"
	case answer == turn.AnswerOnce || answer == turn.AnswerTurn || answer == turn.AnswerAlways:
		return "Approved"
	}
	return "Answered"
}

// Closed records the attempt to remove a message's buttons. A zero next means done, or never possible; otherwise it is the time of the next
// attempt.
func (s Outbox) Closed(ctx context.Context, outbox int64, next time.Time) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if next.IsZero() {
			return tx.Run("DELETE FROM closings WHERE outbox = ?", outbox)
		}
		return tx.Run("UPDATE closings SET tries = tries + 1, next_at = ? WHERE outbox = ?", sqlite.Micros(next), outbox)
	})
}
