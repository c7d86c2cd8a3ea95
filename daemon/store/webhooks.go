package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/webhook"
)

// Webhooks holds the rows of webhooks. Their secrets are in a column of their own, which only Named reads.
type Webhooks struct{ core *core }

// scanWebhook reads a row of triggerColumns, and more columns after them.
func scanWebhook(rs *sql.Rows, more ...any) (webhook.Hook, error) {
	return scanTrigger(rs, func(h *webhook.Hook) *scheduler.Trigger { return &h.Trigger }, more...)
}

// All lists the webhooks by name.
func (w Webhooks) All(ctx context.Context) ([]webhook.Hook, error) {
	rs, err := w.core.read().QueryContext(ctx, "SELECT "+triggerColumns+" FROM triggers WHERE kind = 'hook' AND removed = 0 ORDER BY name")
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (webhook.Hook, error) { return scanWebhook(rs) })
}

// Named returns a webhook by its name or id, with the secret in the form that Put received.
func (w Webhooks) Named(ctx context.Context, name string) (h webhook.Hook, secret string, err error) {
	rs, err := w.core.read().QueryContext(ctx, "SELECT "+triggerColumns+", secret FROM triggers WHERE kind = 'hook' AND removed = 0 AND (name = ?1 OR cast(id AS TEXT) = ?1) ORDER BY name = ?1 DESC LIMIT 1", name)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (webhook.Hook, error) { return scanWebhook(rs, &secret) })
	if err != nil {
		return h, "", fmt.Errorf("read webhook: %w", err)
	}
	if len(list) == 0 {
		return h, "", event.NewFault(event.Missing, kindHook.listed()+" shows them", "there is no webhook %s", name)
	}
	return list[0], secret, nil
}

// Put creates a webhook, or replaces the one with its ID, and returns the id.
func (w Webhooks) Put(ctx context.Context, h webhook.Hook, secret string) (id int64, err error) {
	err = w.core.write(ctx, func(tx *Tx) error {
		if id, err = putTrigger(tx, kindHook, h.Trigger, h, time.Time{}); err != nil {
			return err
		}
		return tx.Run("UPDATE triggers SET secret = ? WHERE id = ?", secret, id)
	})
	return id, err
}

// Remove removes a webhook and its secret. Its fires and inbox rows stay.
func (w Webhooks) Remove(ctx context.Context, id int64) error {
	return w.core.write(ctx, func(tx *Tx) error {
		// The hashes serve only to recognise repetitions.
		if err := tx.Run("DELETE FROM contents WHERE hook = ?", id); err != nil {
			return fmt.Errorf("forget what it was sent: %w", err)
		}
		return removeTrigger(tx, kindHook, id)
	})
}

// Pause pauses or resumes a webhook.
func (w Webhooks) Pause(ctx context.Context, id int64, paused bool) error {
	return w.core.write(ctx, func(tx *Tx) error { return pauseTrigger(tx, kindHook, id, paused, time.Time{}) })
}

// Receive commits a delivery: its fire and its inbox row. A second delivery with the same id changes nothing, and the receipt has the
// numbers of the first. So does a delivery with the same content hash within the hook's SameBody; an empty content turns this off. An
// event.Fault of the kind Missing means that the webhook was removed or paused meanwhile. After several failures the inbox row waits, as
// for a job.
func (w Webhooks) Receive(ctx context.Context, h webhook.Hook, in event.In, content string) (r event.Receipt, err error) {
	fail.Point("hook.before")
	err = w.core.write(ctx, func(tx *Tx) error {
		// With the id of the earlier delivery, the steps below treat this one as its repetition.
		if in.ExtID, err = sentBefore(tx, h, in, content); err != nil {
			return err
		}
		if r, err = receiveWebhook(tx, h, in); err != nil || content == "" || !r.New {
			return err
		}
		return noteWebhookContent(tx, h, in, content)
	})
	fail.Point("hook.after")
	return r, err
}

// receiveWebhook stores the request of a webhook as an input with a fire. A repeated request has the same id and creates no second fire.
//
// The sender gets its acknowledgement after this commit, and repeats the request if it gets none.
func receiveWebhook(tx *Tx, h webhook.Hook, in event.In) (event.Receipt, error) {
	var live, known bool
	err := tx.One(`SELECT EXISTS (SELECT 1 FROM triggers WHERE id = ? AND kind = 'hook' AND removed = 0 AND paused = 0), EXISTS (SELECT 1 FROM inbox WHERE source = ? AND ext_id = ?)`,
		[]any{h.ID, in.Source, in.ExtID}, &live, &known)
	switch {
	case err != nil:
		return event.Receipt{}, err
	case !live:
		return event.Receipt{}, event.NewFault(event.Missing, kindHook.listed()+" shows them", "there is no webhook %s", h.Name)
	// A repeated delivery: acceptIn finds the first one and returns its numbers.
	case known:
		return acceptIn(tx, in)
	}
	slot := scheduler.Slot{Key: in.ExtID, Due: tx.Now, State: scheduler.StateQueued}
	if _, in.NotBefore, err = readBackoff(tx, h.ID); err != nil {
		return event.Receipt{}, err
	}
	slot.Reason = heldFor(tx, in.NotBefore)
	if in.Fire, err = addFire(tx, h.ID, slot); err != nil {
		return event.Receipt{}, fmt.Errorf("add fire: %w", err)
	}
	if r, broken := receiptBroken(tx, in); broken {
		return r, nil
	}
	r, err := acceptIn(tx, in)
	if err == nil && !r.New {
		err = fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return r, err
}

// sentBefore returns the id of an earlier delivery with the same content, or otherwise the id of in.
func sentBefore(tx *Tx, h webhook.Hook, in event.In, content string) (string, error) {
	if content == "" {
		return in.ExtID, nil
	}
	var id string
	err := tx.One("SELECT i.ext_id FROM contents c JOIN inbox i ON i.source = ? AND i.ext_id = c.ext_id WHERE c.hook = ? AND c.hash = ? AND c.received > ?",
		[]any{in.Source, h.ID, content, sqlite.Micros(tx.Now.Add(-h.SameBody()))}, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return in.ExtID, nil
	case err != nil:
		return "", fmt.Errorf("look for the same content: %w", err)
	}
	return id, nil
}

// noteWebhookContent stores the hash of a delivery and deletes the outdated ones.
func noteWebhookContent(tx *Tx, h webhook.Hook, in event.In, content string) error {
	// Each delivery removes the old hashes of its webhook, so the table needs no clean-up of its own.
	if err := tx.Run("DELETE FROM contents WHERE hook = ? AND received <= ?", h.ID, sqlite.Micros(tx.Now.Add(-h.SameBody()))); err != nil {
		return fmt.Errorf("forget old contents: %w", err)
	}
	return tx.Run("INSERT INTO contents (hook, hash, ext_id, received) VALUES (?, ?, ?, ?) ON CONFLICT (hook, hash) DO UPDATE SET ext_id = excluded.ext_id, received = excluded.received",
		h.ID, content, in.ExtID, sqlite.Micros(tx.Now))
}
