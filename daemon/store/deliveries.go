package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// Ready returns the heads of line of the outbox; channels.Store tells the rules.
func (s *Store) Ready(ctx context.Context, now time.Time, limit int) ([]channels.Row, error) {
	var rows []channels.Row
	err := s.view(ctx, func(tx *Tx) (err error) {
		if rows, err = tx.heads(now, limit); err != nil {
			return err
		}
		for i := range rows {
			if rows[i].Todo, err = tx.todo(rows[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

// heads finds, per address, the oldest unfinished row that is not held, when its time has come.
func (tx *Tx) heads(now time.Time, limit int) ([]channels.Row, error) {
	rs, err := tx.QueryContext(tx.ctx, `SELECT o.id, o.address, o.body, o.reply_ref, o.urgency = 'urgent', o.cause_kind, max(o.created, o.not_before), o.not_after,
			(SELECT count(*) FROM deliveries d WHERE d.outbox = o.id), coalesce(p.state = 'sending', 0)
		FROM outbox o LEFT JOIN deliveries p ON p.outbox = o.id AND p.part = (SELECT min(part) FROM deliveries d WHERE d.outbox = o.id AND d.state <> 'sent')
		WHERE o.id IN (SELECT min(id) FROM outbox WHERE state = 'ready' GROUP BY address)
			AND o.not_before <= ?1 AND (p.outbox IS NULL OR (p.state = 'ready' AND p.next_at <= ?1) OR (p.state = 'sending' AND p.epoch < ?2))
		ORDER BY o.id LIMIT ?3`, us(now), tx.store.epoch, limit)
	return collect(rs, err, func(rs *sql.Rows) (channels.Row, error) {
		var r channels.Row
		err := rs.Scan(&r.ID, &r.To, &r.Body, &r.ReplyRef, &r.Urgent, &r.Cause, stamp{&r.Queued}, stamp{&r.NotAfter}, &r.Parts, &r.Interrupted)
		return r, err
	})
}

func (tx *Tx) todo(id int64) ([]channels.Delivery, error) {
	rs, err := tx.QueryContext(tx.ctx, "SELECT part, body, nonce, attempts, unsure, tried FROM deliveries WHERE outbox = ? AND state <> 'sent' ORDER BY part", id)
	return collect(rs, err, func(rs *sql.Rows) (channels.Delivery, error) {
		d := channels.Delivery{Outbox: id}
		err := rs.Scan(&d.Part, &d.Body, &d.Nonce, &d.Attempts, &d.Unsure, stamp{&d.Tried})
		return d, err
	})
}

// Split stores the parts of a row that has none.
func (s *Store) Split(ctx context.Context, id int64, parts []channels.Delivery) error {
	return s.Write(ctx, func(tx *Tx) error {
		for _, d := range parts {
			if err := tx.exec("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) VALUES (?, ?, ?, ?, ?, 'ready')", id, d.Part, d.Body, d.Nonce, s.epoch); err != nil {
				return fmt.Errorf("store part %d: %w", d.Part, err)
			}
		}
		return nil
	})
}

// Sending marks a part as being sent in this epoch.
func (s *Store) Sending(ctx context.Context, d channels.Delivery) error {
	return s.Write(ctx, func(tx *Tx) error {
		n, err := tx.change(`UPDATE deliveries SET state = 'sending', epoch = ?1, attempts = ?2, unsure = ?3, tried = CASE tried WHEN 0 THEN ?4 ELSE tried END
			WHERE outbox = ?5 AND part = ?6 AND (state = 'ready' OR (state = 'sending' AND epoch < ?1)) AND (SELECT state FROM outbox WHERE id = ?5) = 'ready'`,
			s.epoch, d.Attempts, d.Unsure, us(tx.now), d.Outbox, d.Part)
		if err == nil && n == 0 {
			return fmt.Errorf("outbox row %d: %w", d.Outbox, channels.ErrNotReady)
		}
		return err
	})
}

// Settle commits what became of a delivery.
func (s *Store) Settle(ctx context.Context, d channels.Delivery, v channels.Verdict) error {
	return s.Write(context.WithoutCancel(ctx), func(tx *Tx) error {
		if err := tx.settleRow(d, v); err != nil {
			return err
		}
		if v.Tell != nil {
			out := event.Out{Key: v.Tell.Key, Cause: event.Cause{Kind: event.ByNotice, ID: d.Outbox}, To: v.Tell.To, Body: v.Tell.Text, Urgency: event.Urgent}
			if err := tx.out(out); err != nil {
				return err
			}
		}
		if v.Ask == nil {
			return nil
		}
		_, err := tx.ask(&turn.Question{Subject: turn.AboutOutbox, Ref: d.Outbox, Text: v.Ask.Text, Options: []string{"resend", "drop"}, To: event.ToOwner, Until: tx.now.Add(7 * 24 * time.Hour)})
		return err
	})
}

func (tx *Tx) settleRow(d channels.Delivery, v channels.Verdict) error {
	switch v.State {
	case channels.Sent:
		return tx.partSent(d, v)
	case channels.Retry:
		return tx.exec("UPDATE deliveries SET state = 'ready', next_at = ?, unsure = ?, attempts = ?, error = ? WHERE outbox = ? AND part = ? AND state <> 'sent'",
			us(v.At), v.Unsure, d.Attempts, v.Reason, d.Outbox, d.Part)
	case channels.Unknown:
		if err := tx.exec("UPDATE deliveries SET state = 'unknown', unsure = ?, error = ? WHERE outbox = ? AND part = ?", v.Unsure, v.Reason, d.Outbox, d.Part); err != nil {
			return err
		}
		return tx.exec("UPDATE outbox SET state = 'held', reason = ? WHERE id = ? AND state = 'ready'", v.Reason, d.Outbox)
	case channels.Joined:
		return tx.endOut("cancelled", v.Reason, append([]int64{d.Outbox}, v.With...))
	case channels.Expired:
		return tx.endOut("expired", v.Reason, []int64{d.Outbox})
	default:
		return tx.endOut("dead", v.Reason, []int64{d.Outbox})
	}
}

func (tx *Tx) endOut(state, reason string, ids []int64) error {
	for _, id := range ids {
		if err := tx.exec("UPDATE outbox SET state = ?, reason = ?, ended = ? WHERE id = ? AND state IN ('ready', 'held')", state, reason, us(tx.now), id); err != nil {
			return err
		}
	}
	return nil
}

// partSent marks a part as sent, and its row as done when it was the last one.
func (tx *Tx) partSent(d channels.Delivery, v channels.Verdict) error {
	if err := tx.exec("UPDATE deliveries SET state = 'sent', remote_id = ?, error = '' WHERE outbox = ? AND part = ?", v.RemoteID, d.Outbox, d.Part); err != nil {
		return err
	}
	n, err := tx.change("UPDATE outbox SET state = 'done', ended = ?2 WHERE id = ?1 AND state = 'ready' AND NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = ?1 AND state <> 'sent')", d.Outbox, us(tx.now))
	if err != nil || n == 0 {
		return err
	}
	return tx.sent(d.Outbox, d.To, d.Body)
}

// NextDue is when a head of line could become ready by itself; zero when none will.
func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, error) {
	var next sql.NullInt64
	err := s.read.QueryRowContext(ctx, `SELECT min(max(o.not_before, coalesce(d.next_at, 0))) FROM outbox o
		LEFT JOIN deliveries d ON d.outbox = o.id AND d.part = (SELECT min(part) FROM deliveries x WHERE x.outbox = o.id AND x.state <> 'sent')
		WHERE o.id IN (SELECT min(id) FROM outbox WHERE state = 'ready' GROUP BY address) AND coalesce(d.state, 'ready') = 'ready'
			AND max(o.not_before, coalesce(d.next_at, 0)) > ?`, us(now)).Scan(&next)
	return at(next.Int64), err
}
