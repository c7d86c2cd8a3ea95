package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/webhook"
)

// Webhooks is the rows of webhooks. Their secrets stand beside them, never in them: only Named reads one.
type Webhooks struct{ core *core }

const webhookColumns = "id, name, body, paused, broken, failures, hold"

func scanWebhook(rs *sql.Rows, more ...any) (webhook.Hook, error) {
	var h, row webhook.Hook
	var body string
	if err := rs.Scan(append([]any{&row.ID, &row.Name, &body, &row.Paused, &row.Broken, &row.Failures, sqlite.Stamp(&row.Hold)}, more...)...); err != nil {
		return h, err
	}
	if err := json.Unmarshal([]byte(body), &h); err != nil { // a spoilt row disables only itself
		h = webhook.Hook{}
		row.Broken = unreadable + err.Error()
	}
	h.ID, h.Name, h.Paused, h.Broken, h.Failures, h.Hold = row.ID, row.Name, row.Paused, row.Broken, row.Failures, row.Hold
	return h, nil
}

// All lists the webhooks by name.
func (w Webhooks) All(ctx context.Context) ([]webhook.Hook, error) {
	rs, err := w.core.read().QueryContext(ctx, "SELECT "+webhookColumns+" FROM triggers WHERE kind = 'hook' AND removed = 0 ORDER BY name")
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (webhook.Hook, error) { return scanWebhook(rs) })
}

// Named finds a webhook by its name or id, with its secret as Put was given it.
func (w Webhooks) Named(ctx context.Context, name string) (h webhook.Hook, secret string, err error) {
	rs, err := w.core.read().QueryContext(ctx, "SELECT "+webhookColumns+", secret FROM triggers WHERE kind = 'hook' AND removed = 0 AND (name = ?1 OR cast(id AS TEXT) = ?1) ORDER BY name = ?1 DESC LIMIT 1", name)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (webhook.Hook, error) { return scanWebhook(rs, &secret) })
	if err != nil {
		return h, "", fmt.Errorf("read webhook: %w", err)
	}
	if len(list) == 0 {
		return h, "", event.NewFault(event.Missing, kindHook.listed()+" shows them", "there is no webhook %s", name)
	}
	return list[0], secret, nil
}

// Put makes a webhook, or replaces the one with its ID, and returns its id.
func (w Webhooks) Put(ctx context.Context, h webhook.Hook, secret string) (id int64, err error) {
	err = w.core.write(ctx, func(tx *Tx) error {
		if id, err = putTrigger(tx, kindHook, h.Trigger, h, time.Time{}); err != nil {
			return err
		}
		return tx.Run("UPDATE triggers SET secret = ? WHERE id = ?", secret, id)
	})
	return id, err
}

// Remove takes a webhook away, with its secret; what it received stays.
func (w Webhooks) Remove(ctx context.Context, id int64) error {
	return w.core.write(ctx, func(tx *Tx) error {
		if err := tx.Run("DELETE FROM contents WHERE hook = ?", id); err != nil {
			return fmt.Errorf("forget what it was sent: %w", err)
		}
		return removeTrigger(tx, kindHook, id)
	})
}

// Pause stops a webhook, or lets it go on.
func (w Webhooks) Pause(ctx context.Context, id int64, paused bool) error {
	return w.core.write(ctx, func(tx *Tx) error { return pauseTrigger(tx, kindHook, id, paused, time.Time{}) })
}

// Receive commits what a webhook was sent: its fire and its inbox row, together. A second one with the same id changes nothing and gets the
// numbers of the first; so does one with the same content, a hash, within the hook's SameBody, unless content is "". An event.Fault of the kind Missing says that the webhook is gone or paused meanwhile. One that has failed
// several times rests first, as a job does.
func (w Webhooks) Receive(ctx context.Context, h webhook.Hook, in event.In, content string) (r event.Receipt, err error) {
	fail.Point("hook.before")
	err = w.core.write(ctx, func(tx *Tx) error {
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

func receiveWebhook(tx *Tx, h webhook.Hook, in event.In) (event.Receipt, error) {
	var live, known bool
	err := tx.One(`SELECT EXISTS (SELECT 1 FROM triggers WHERE id = ? AND kind = 'hook' AND removed = 0 AND paused = 0), EXISTS (SELECT 1 FROM inbox WHERE source = ? AND ext_id = ?)`,
		[]any{h.ID, in.Source, in.ExtID}, &live, &known)
	switch {
	case err != nil:
		return event.Receipt{}, err
	case !live:
		return event.Receipt{}, event.NewFault(event.Missing, kindHook.listed()+" shows them", "there is no webhook %s", h.Name)
	case known:
		return acceptIn(tx, in)
	}
	now := tx.Now
	if in.Fire, err = addFire(tx, h.ID, scheduler.Slot{Key: in.ExtID, Due: now, State: scheduler.StateQueued}); err != nil {
		return event.Receipt{}, fmt.Errorf("add fire: %w", err)
	}
	if h.Hold.After(now) {
		in.NotBefore = h.Hold
	}
	if fail.Broken("hook-ack-before-commit") {
		acceptApart(tx, in)
		return event.Receipt{Inbox: 1, Event: 1, New: true}, nil
	}
	r, err := acceptIn(tx, in)
	if err == nil && !r.New {
		err = fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return r, err
}

// sentBefore is the id of the delivery that had the same content, and that of in when there was none.
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
	default:
		return id, nil
	}
}

// noteWebhookContent keeps what a webhook was sent for as long as it counts, and forgets what is older.
func noteWebhookContent(tx *Tx, h webhook.Hook, in event.In, content string) error {
	if err := tx.Run("DELETE FROM contents WHERE hook = ? AND received <= ?", h.ID, sqlite.Micros(tx.Now.Add(-h.SameBody()))); err != nil {
		return fmt.Errorf("forget old contents: %w", err)
	}
	return tx.Run("INSERT INTO contents (hook, hash, ext_id, received) VALUES (?, ?, ?, ?) ON CONFLICT (hook, hash) DO UPDATE SET ext_id = excluded.ext_id, received = excluded.received",
		h.ID, content, in.ExtID, sqlite.Micros(tx.Now))
}
