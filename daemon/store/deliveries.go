package store

import (
	"context"
	"fmt"
	"time"

	"hob/daemon/sqlite"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// Ready returns the rows that the pump can send now: the head of each address's queue. channels.Store defines the rules.
func (s Outbox) Ready(ctx context.Context, now time.Time, limit int) ([]channels.Row, error) {
	var rows []channels.Row
	err := s.core.view(ctx, func(tx *Tx) (err error) {
		rows, err = readHeads(tx, now, tx.core.epoch, limit)
		for i := range rows {
			if err == nil {
				rows[i].Choices, err = readChoices(tx, rows[i])
			}
		}
		return err
	})
	return rows, err
}

// readChoices returns the buttons of a message, or of an open question.
func readChoices(tx *Tx, r channels.Row) ([]channels.Choice, error) {
	if r.Cause != event.ByQuestion {
		return readButtons(tx, r.ID)
	}
	rs, err := tx.Query("SELECT "+questionColumns+" FROM questions WHERE state = 'open' AND id = (SELECT cause_id FROM outbox WHERE id = ?)", r.ID)
	list, err := sqlite.Collect(rs, err, scanQuestion)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return questionChoices(list[0]), nil
}

// Split stores the parts of a row that has no parts yet except a draft's. It also ends the rows that are joined to this message.
func (s Outbox) Split(ctx context.Context, id int64, parts []channels.Delivery, joined []int64) error {
	return s.core.write(ctx, func(tx *Tx) error {
		var cut bool
		if err := tx.One("SELECT EXISTS (SELECT 1 FROM deliveries WHERE outbox = ? AND (draft = 0 OR final = 1))", []any{id}, &cut); err != nil {
			return err
		}
		if cut {
			return fmt.Errorf("outbox row %d has its parts already: %w", id, channels.ErrNotReady)
		}
		// The joined rows end in this commit: their text is part of the parts below, and must not go out twice.
		if err := join(tx, id, joined); err != nil {
			return err
		}
		for _, d := range parts {
			file, err := filePart(d.File)
			if err == nil {
				err = tx.Run("INSERT INTO deliveries (outbox, part, body, file, nonce, epoch, state) VALUES (?, ?, ?, ?, ?, ?, 'ready') ON CONFLICT DO UPDATE SET body = excluded.body, final = 1", id, d.Part, d.Body, file, d.Nonce, s.core.epoch)
			}
			if err != nil {
				return fmt.Errorf("store part %d: %w", d.Part, err)
			}
		}
		return nil
	})
}

// Sending marks a part as being sent in this epoch. After a crash, the mark shows that the part may have arrived.
//
// The commit comes before the request to the platform. Without it a crash would leave no trace of a message that may have arrived.
func (s Outbox) Sending(ctx context.Context, d channels.Delivery) error {
	return s.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change(`UPDATE deliveries SET state = 'sending', epoch = ?1, attempts = ?2, unsure = ?3, tried = CASE tried WHEN 0 THEN ?4 ELSE tried END
			WHERE outbox = ?5 AND part = ?6 AND (state = 'ready' OR (state = 'sending' AND epoch < ?1)) AND (SELECT state FROM outbox WHERE id = ?5) IN ('ready', 'draft')`,
			s.core.epoch, d.Attempts, d.Unsure, sqlite.Micros(tx.Now), d.Outbox, d.Part)
		if err == nil && n == 0 {
			return fmt.Errorf("outbox row %d: %w", d.Outbox, channels.ErrNotReady)
		}
		return err
	})
}

// Settle commits the result of a delivery.
//
// The message may have been dropped while it was being sent; then only the delivery is noted.
func (s Outbox) Settle(ctx context.Context, d channels.Delivery, v channels.Verdict) error {
	return s.core.write(context.WithoutCancel(ctx), func(tx *Tx) error {
		var open, draft bool
		if err := tx.One("SELECT state IN ('ready', 'draft'), state = 'draft' FROM outbox WHERE id = ?", []any{d.Outbox}, &open, &draft); err != nil {
			return err
		}
		silent := draft && v.State != channels.Joined
		if silent && v.State != channels.Sent && v.State != channels.Retry {
			v.State = channels.Joined // a draft is taken back; the final text becomes a message of its own
		}
		// The turn ended while its draft was being sent. A refused draft is deleted, and the final text is sent on its own.
		if open && !draft && (v.State == channels.Dead || v.State == channels.Retry) {
			if gone, err := draftRefused(tx, d, v); err != nil || gone {
				return err
			}
		}
		if err := settleRow(tx, d, v); err != nil || !open || silent {
			return err // the outcome of a dropped message is reported to nobody
		}
		// The notice or question about the outcome is committed with the outcome.
		if v.Tell != nil {
			out := event.Out{Key: v.Tell.Key, Cause: event.Cause{Kind: event.ByNotice, ID: d.Outbox}, To: v.Tell.To, Body: v.Tell.Text, Urgency: event.Urgent}
			if err := queueOut(tx, out); err != nil {
				return err
			}
		}
		if v.Ask == nil {
			return nil
		}
		_, err := askOwner(tx, &turn.Question{Subject: turn.AboutOutbox, Ref: d.Outbox, Text: v.Ask.Text, Options: []string{"resend", "drop"}, To: v.Ask.To, Until: tx.Now.Add(7 * 24 * time.Hour)})
		return err
	})
}

// settleRow writes the new state of the delivery and its row.
func settleRow(tx *Tx, d channels.Delivery, v channels.Verdict) error {
	switch v.State {
	case channels.Sent:
		return partSent(tx, d, v)
	case channels.Retry:
		// The provider has lost the message of the draft: write a new one.
		if v.NewMessage {
			return reopenDraft(tx, d, v)
		}
		// The provider refuses this form of the part: send the other one, without counting the attempts.
		if v.Instead != "" {
			return tx.Run("UPDATE deliveries SET state = 'ready', body = ?, file = NULL, nonce = ?, attempts = 0, unsure = 0, tried = 0, next_at = ?, error = ? WHERE outbox = ? AND part = ? AND state <> 'sent'",
				v.Instead, d.Nonce, sqlite.Micros(v.At), v.Reason, d.Outbox, d.Part)
		}
		return tx.Run("UPDATE deliveries SET state = iif(state = 'sent', state, 'ready'), next_at = ?, unsure = ?, attempts = ?, error = ? WHERE outbox = ? AND part = ? AND (state <> 'sent' OR draft = 1)",
			sqlite.Micros(v.At), v.Unsure, d.Attempts, v.Reason, d.Outbox, d.Part)
	// It is unknown whether the message has arrived: it is held, and the owner is asked.
	case channels.Unknown:
		if err := tx.Run("UPDATE deliveries SET state = 'unknown', unsure = ?, error = ? WHERE outbox = ? AND part = ?", v.Unsure, v.Reason, d.Outbox, d.Part); err != nil {
			return err
		}
		return tx.Run("UPDATE outbox SET state = 'held', reason = ? WHERE id = ? AND state = 'ready'", v.Reason, d.Outbox)
	case channels.Joined:
		return endOut(tx, "cancelled", v.Reason, append([]int64{d.Outbox}, v.With...))
	case channels.Expired:
		return endOut(tx, "expired", v.Reason, []int64{d.Outbox})
	}
	return endOut(tx, "dead", v.Reason, []int64{d.Outbox})
}

// endOut ends rows in a final state. A draft gives up its key, so that the final text can use it.
func endOut(tx *Tx, state, reason string, ids []int64) error {
	for _, id := range ids {
		if err := tx.Run("UPDATE outbox SET key = iif(state = 'draft', replace(key, ':final', ':draft'), key), state = ?, reason = ?, ended = ? WHERE id = ? AND state IN ('ready', 'held', 'draft')", state, reason, sqlite.Micros(tx.Now), id); err != nil {
			return err
		}
	}
	return nil
}

// partSent marks a part as sent, and the row as done after its last part.
func partSent(tx *Tx, d channels.Delivery, v channels.Verdict) error {
	if err := tx.Run("UPDATE deliveries SET state = 'sent', remote_id = ?, error = '', draft = iif(?, 0, draft) WHERE outbox = ? AND part = ?", v.RemoteID, v.Edited, d.Outbox, d.Part); err != nil {
		return err
	}
	n, err := tx.Change("UPDATE outbox SET state = 'done', ended = ?2 WHERE id = ?1 AND state = 'ready' AND NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = ?1 AND (state <> 'sent' OR draft = 1))", d.Outbox, sqlite.Micros(tx.Now))
	if err != nil || n == 0 {
		return err
	}
	// All parts have arrived: the files are no longer needed, and the event says that the message was sent.
	if err := filesDelivered(tx, d.Outbox); err != nil {
		return err
	}
	return noteSent(tx, d.Outbox, d.To, d.Body)
}

// Hasten makes the next attempts on a channel due now, because the channel works again. It wakes the pump in any case, because a row may
// wait for the channel and not for its time.
func (s Outbox) Hasten(ctx context.Context, channel string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		tx.Wake(sqlite.SignalOutbox)
		return tx.Run(`UPDATE deliveries SET next_at = 0 WHERE next_at > ?1 AND state <> 'unknown' AND outbox IN
			(SELECT id FROM outbox WHERE state IN ('ready', 'draft') AND address >= ?2 || ':' AND address < ?2 || ';')`, sqlite.Micros(tx.Now), channel)
	})
}

// NextDue returns when a row can next become ready by time alone; zero: never.
func (s Outbox) NextDue(ctx context.Context, now time.Time) (time.Time, error) {
	return outboxDue(ctx, s.core.read(), now)
}
