package triggers

import (
	"context"
	"fmt"
	"reflect"

	"hob/daemon/event"
	"hob/scheduler/webhook"
)

// Sync makes the webhooks of the config rows, beside those made at run time. A section that did not change keeps its row and its past. off
// says which sections cannot be used, and why.
func (d *Webhooks) Sync(ctx context.Context, list []Wanted) (off []string, err error) {
	have, err := d.Rows.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	byName := map[string]webhook.Hook{}
	for _, h := range have {
		byName[h.Name] = h
	}
	for _, w := range list {
		if err := d.sync(ctx, w, byName[w.Name]); err != nil {
			off = append(off, "hooks."+w.Name+" is off: "+err.Error())
		}
		delete(byName, w.Name)
	}
	for _, h := range byName {
		// Only rows of the config follow the config.
		if h.Origin != OriginConfig {
			continue
		}
		d.forget(h.Name)
		if err := d.Rows.Remove(ctx, h.ID); err != nil {
			return off, fmt.Errorf("remove webhook %s: %w", h.Name, err)
		}
	}
	return off, nil
}

// sync makes one section a row. A secret that cannot be found now is a problem, and no reason to turn its senders away for good: they are
// told to come again.
func (d *Webhooks) sync(ctx context.Context, w Wanted, old webhook.Hook) error {
	in, err := decodeWebhook(w.Name, w.Decode)
	if err != nil {
		return err
	}
	if old.ID != 0 && old.Origin != OriginConfig && old.Broken == "" {
		return event.NewFault(event.Clash, "rename one of them", "there is a webhook named %s already, made at run time", w.Name)
	}
	h, err := webhookOf(in, d.Clock.Wall())
	if err != nil {
		return err
	}
	if h.Plain, err = d.Plain(h.Prompt, in.Plain, old.Prompt, old.Plain); err != nil {
		return err
	}
	lines := joined(in.Secret, in.OldSecret)
	if old.ID != 0 {
		_, before, err := d.Rows.Named(ctx, w.Name)
		if err != nil {
			return err
		}
		h.ID, h.Paused = old.ID, old.Paused
		if old.Broken == "" { // one that is spoilt is made anew
			h.Created, h.Trouble = old.Created, old.Trouble
		}
		// Nothing has changed: the rate limits and the cached secret stay.
		if before == lines && reflect.DeepEqual(h, old) {
			return d.usable(ctx, h, lines)
		}
	}
	if _, err := d.Rows.Put(ctx, h, lines); err != nil {
		return err
	}
	d.forget(w.Name)
	// The row is stored first: a secret that is missing now may be there when a request arrives.
	return d.usable(ctx, h, lines)
}
