package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/sqlite"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// resolveAddress turns the address "owner" into the owner's first address, or the local chat without any.
func resolveAddress(tx *Tx, a event.Address) event.Address {
	if a != event.ToOwner && a != "" {
		return a
	}
	return channels.FirstOwner(tx.core.opt.Owner())
}

// queueOut queues one message, once per key. It first offers the text to the draft of the turn's answer. A message to the local API is
// delivered by this commit, through its event.
//
// All messages come through here: answers, questions, notices, replies to commands. The pump only sees rows.
func queueOut(tx *Tx, o event.Out) error {
	if o.To == event.ToNone {
		return nil
	}
	// The owner's address may change until the message is queued, so it is resolved here and not by the turn.
	to := resolveAddress(tx, o.To)
	state, ended := "ready", int64(0)
	// The local chat reads the message from the store: it counts as sent.
	if to.Committed() {
		state, ended = "done", sqlite.Micros(tx.Now)
	}
	if ended != 0 {
		o.Body, o.Files = o.Body+listFiles(o.Files), nil
	}
	o.To = to
	policy := tx.core.opt.Config()
	right, err := rightForMessage(tx, o)
	if err != nil {
		return err
	}
	// If a draft of this answer is shown, it becomes the answer.
	if filled, err := fillDraft(tx, tx.core.epoch, o, right, policy.edits); err != nil || filled {
		return err
	}
	// From here on the message is a row of its own.
	body, buttons, err := choicesBelow(tx, o, tx.core.opt.Owner(), policy.buttons)
	if err != nil {
		return err
	}
	// Quiet hours and holds may delay the message.
	o.Body = body
	before, waits, err := delayOf(tx, o, to)
	if err != nil {
		return err
	}
	id, err := tx.Insert(`INSERT INTO outbox (key, cause_kind, cause_id, cause_step, address, standing, body, reply_ref, urgency, created, not_before, waits, not_after, ended, state)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
		o.Key, o.Cause.Kind, o.Cause.ID, o.Cause.Step, to, right, o.Body, o.ReplyRef, o.Urgency, sqlite.Micros(tx.Now), sqlite.Micros(before), waits, sqlite.Micros(o.NotAfter), ended, state)
	// An id of 0: the key exists, so the message was queued before.
	if err != nil || id == 0 {
		return err
	}
	if err := errors.Join(encloseFiles(tx, id, o.Files), putButtons(tx, id, buttons)); err != nil {
		return err
	}
	if ended == 0 {
		tx.Wake(sqlite.SignalOutbox)
	}
	switch {
	case waits == waitsCancel:
		return announce(tx, id, to, o.Body+nameFiles(o.Files), before)
	case ended == 0 && o.Cause.Kind == event.ByNotice && slices.Contains(tx.core.opt.Owner(), to): // open terminals show it as well
		return addEvent(tx, event.Event{Type: "notice", Data: map[string]any{"text": o.Body, "cause": o.Cause.Kind}})
	case ended == 0:
		return nil
	}
	// The local chat needs no pump: its delivery is recorded as sent at once.
	if err := tx.Run("INSERT INTO deliveries (outbox, part, body, nonce, attempts, tried, epoch, state) VALUES (?, 0, ?, ?, 1, ?, ?, 'sent')", id, o.Body, o.Key, ended, tx.core.epoch); err != nil {
		return err
	}
	return noteSent(tx, id, to, o.Body)
}

// noteSent adds the event of a delivered message. The local API reads the text from it.
func noteSent(tx *Tx, id int64, to event.Address, body string) error {
	data := map[string]any{"outbox": id, "to": to}
	if !to.Committed() {
		tx.Wake(sqlite.SignalQuestions) // its question may be closed already
	} else {
		if !strings.HasPrefix(string(to), event.Endpoint+":") { // a program reads its answer from the turn, and a terminal would show it as a word to the owner
			data["text"] = body
		}
		if err := addCause(tx, id, data); err != nil {
			return err
		}
	}
	return addEvent(tx, event.Event{Type: "message.sent", Data: data})
}

// addCause adds the cause of a message to an event: its kind, the turn if it is one, and the origin. The origin is the kind and name of the
// trigger, or "asked" and the beginning of the owner's message.
func addCause(tx *Tx, id int64, data map[string]any) error {
	cause, kind, name, turn := "", "", "", int64(0)
	err := tx.One(`SELECT o.cause_kind, iif(o.cause_kind = 'step', o.cause_id, 0), coalesce(g.kind, iif(i.seq IS NULL, '', 'asked')), coalesce(g.name, substr(coalesce((SELECT json_extract(p.value, '$.text') FROM json_each(i.parts) p WHERE json_extract(p.value, '$.kind') = 'text' LIMIT 1), ''), 1, 120))
		FROM outbox o LEFT JOIN turns t ON o.cause_kind = 'step' AND t.id = o.cause_id LEFT JOIN fires f ON f.id = iif(o.cause_kind = 'fire', o.cause_id, t.fire) LEFT JOIN triggers g ON g.id = f.trigger
		LEFT JOIN inbox i ON i.seq = (SELECT min(seq) FROM inbox WHERE turn = t.id AND kind = 'message' AND trust = 'owner') WHERE o.id = ?`, []any{id}, &cause, &turn, &kind, &name)
	data["cause"], data["turn"], data["from"], data["name"] = cause, turn, kind, name
	return err
}

// LiveAnswers lists the answers that are being written.
func (s Outbox) LiveAnswers(ctx context.Context) ([]channels.LiveAnswer, error) {
	return readGrowing(ctx, s.core.read())
}

// Draft creates the draft of a turn's answer, unless a message to this address would be held back.
func (s Outbox) Draft(ctx context.Context, o channels.NewDraft) error {
	err := s.core.write(ctx, func(tx *Tx) error {
		until, _, err := delayOf(tx, event.Out{Cause: event.Cause{Kind: event.ByTurn}, Urgency: event.Urgent}, o.To)
		if err != nil || until.After(tx.Now) {
			return err
		}
		right, err := rightForMessage(tx, event.Out{Cause: event.Cause{Kind: event.ByTurn, ID: o.Turn}, To: o.To})
		if err != nil {
			return err
		}
		return openDraft(tx, s.core.epoch, o, right)
	})
	fail.Point("draft.opened")
	return err
}

// Send queues a message that the owner sends directly to a channel. The command is its cause.
func (s Outbox) Send(ctx context.Context, in event.In, to event.Address, body string, list ...event.Enclosed) (int64, error) {
	var id int64
	err := s.core.write(ctx, func(tx *Tx) error {
		seq, err := insertIn(tx, in)
		if err != nil {
			return err
		}
		if err := closeIn(tx, seq, "done", "sent straight to a channel"); err != nil {
			return err
		}
		// The input's number makes the key unique, and finds the row below.
		key := fmt.Sprintf("send:%d", seq)
		if err := queueOut(tx, event.Out{Key: key, Cause: event.Cause{Kind: event.ByCommand, ID: seq}, To: to, Body: body, Urgency: event.Urgent, Files: list}); err != nil {
			return err
		}
		return tx.One("SELECT id FROM outbox WHERE key = ?", []any{key}, &id)
	})
	return id, err
}

// RetryOut queues a message again that failed, expired, was dropped, or has an unknown result. The recipient's present rights apply.
func (s Outbox) RetryOut(ctx context.Context, id int64) error {
	return s.core.write(ctx, func(tx *Tx) error {
		var to event.Address
		if err := tx.One("SELECT coalesce(max(address), '') FROM outbox WHERE id = ?", []any{id}, &to); err != nil {
			return err
		}
		n, err := tx.Change("UPDATE outbox SET state = "+reopenedState+", standing = ?, ended = 0, not_before = 0, not_after = 0, waits = '', joined = 0, created = ?, reason = 'retried by the owner' WHERE id = ? AND state IN ('held', 'dead', 'expired', 'cancelled') AND key NOT LIKE 'turn:%:draft' AND (NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = outbox.id) OR EXISTS (SELECT 1 FROM deliveries WHERE outbox = outbox.id AND (state <> 'sent' OR draft = 1)))", s.core.rightOf(to), sqlite.Micros(tx.Now), id)
		if err := changedRow(tx, n, err, "outbox", id, "cannot be retried", "only held, dead, expired and cancelled messages that were not sent can: hob outbox list"); err != nil {
			return err
		}
		// Parts that arrived are not sent again.
		tx.Wake(sqlite.SignalOutbox)
		return tx.Run("UPDATE deliveries SET state = 'ready', next_at = 0, unsure = 0, tried = 0 WHERE outbox = ? AND state <> 'sent'", id)
	})
}

// DropOut cancels a message that has not been sent.
func (s Outbox) DropOut(ctx context.Context, id int64) error {
	return s.core.write(ctx, func(tx *Tx) error { return dropOut(tx, id) })
}

// dropOut cancels a message on behalf of the owner. Messages that were joined to it are sent separately again.
func dropOut(tx *Tx, id int64) error {
	n, err := tx.Change("UPDATE outbox SET state = 'cancelled', ended = ?, reason = 'dropped by the owner' WHERE id = ? AND state IN ('draft', 'held', 'ready')", sqlite.Micros(tx.Now), id)
	if err := changedRow(tx, n, err, "outbox", id, "is not waiting", "only messages that have not been sent can be dropped: hob outbox list"); err != nil {
		return err
	}
	tx.Wake(sqlite.SignalOutbox)
	return part(tx, id)
}

// resolveUnknown carries out the answer to "resend or drop?".
func resolveUnknown(tx *Tx, id int64, resend bool) error {
	if !resend {
		return tx.Run("UPDATE outbox SET state = 'cancelled', ended = ?, reason = 'the owner said drop' WHERE id = ? AND state = 'held'", sqlite.Micros(tx.Now), id)
	}
	// created is set anew, because the age of a message limits how long it is sent.
	tx.Wake(sqlite.SignalOutbox)
	if err := tx.Run("UPDATE outbox SET state = 'ready', created = ?, not_after = 0, reason = 'the owner said resend' WHERE id = ? AND state = 'held'", sqlite.Micros(tx.Now), id); err != nil {
		return err
	}
	return tx.Run("UPDATE deliveries SET state = 'ready', next_at = 0, unsure = 0 WHERE outbox = ? AND state = 'unknown'", id)
}

// The delivery pump uses the outbox through this interface.
var _ channels.Store = Outbox{}
