package store

import (
	"context"
	"fmt"
)

// Disable switches off a job whose row cannot be used, and tells the owner.
func (d Jobs) Disable(ctx context.Context, id int64, why string) error {
	return d.core.write(ctx, func(tx *Tx) error { return switchOffTrigger(tx, id, why) })
}

// DisableUnreadable switches off the watches and webhooks whose rows cannot be read, and tells the owner about each once. Jobs are checked when they
// come due.
func (d Jobs) DisableUnreadable(ctx context.Context) error {
	watches, err := Watches(d).AllWatches(ctx)
	if err != nil {
		return fmt.Errorf("look for spoilt watches: %w", err)
	}
	hooks, err := Webhooks(d).All(ctx)
	if err != nil {
		return fmt.Errorf("look for spoilt webhooks: %w", err)
	}
	spoilt := map[int64]string{}
	for _, w := range watches {
		spoilt[w.ID] = w.Broken
	}
	for _, h := range hooks {
		spoilt[h.ID] = h.Broken
	}
	// One commit each: an error about one trigger does not undo the others.
	for id, why := range spoilt {
		if why == "" {
			continue
		}
		if err := d.core.write(ctx, func(tx *Tx) error { return switchOffTrigger(tx, id, why) }); err != nil {
			return fmt.Errorf("put trigger %d aside: %w", id, err)
		}
	}
	return nil
}

// switchOffTrigger switches off a trigger that cannot be used, and tells the owner, unless it is already off.
func switchOffTrigger(tx *Tx, id int64, why string) error {
	var name string
	var k triggerKind
	var off bool
	if err := tx.One("SELECT name, kind, broken <> '' FROM triggers WHERE id = ?", []any{id}, &name, &k, &off); err != nil || off {
		return err
	}
	version, err := nextTriggerVersion(tx)
	if err != nil {
		return err
	}
	if err := tx.Run("UPDATE triggers SET broken = ?, version = ? WHERE id = ?", why, version, id); err != nil {
		return err
	}
	mend := fmt.Sprintf("hob cron update %s mends it.", name)
	switch k {
	case kindWatch:
		mend = fmt.Sprintf("hob watch rm %s takes it away; then make it anew.", name)
	case kindHook:
		mend = fmt.Sprintf("hob hook rm %s takes it away; then make it anew.", name)
	}
	return addNotice(tx, fmt.Sprintf("%s:%d:broken:%d", k, id, version), id, fmt.Sprintf("%s %s cannot be used and is switched off: %s. %s", k.titled(), name, why, mend))
}
