package store

import (
	"context"
	"fmt"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

var _ scheduler.Zones = Jobs{}

// keyZones is the setting with the fingerprint of the time zone rules that the due times are based on.
const keyZones = "zone_rules"

// ZoneRules returns the stored fingerprint.
func (d Jobs) ZoneRules(ctx context.Context) (string, error) { return d.core.setting(ctx, keyZones) }

// Crons lists live jobs with a cron schedule and a due time, by id.
func (d Jobs) Crons(ctx context.Context, after int64, most int) ([]scheduler.Job, error) {
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers NOT INDEXED WHERE id > ? AND "+ofJobs+" AND removed = 0 AND broken = '' AND due > 0 AND json_extract(body, '$.spec') LIKE 'cron %' ORDER BY id LIMIT ?", after, most)
	return sqlite.Collect(rs, err, scanJob)
}

// Redate moves due times, and stores the fingerprint of the rules that they follow.
func (d Jobs) Redate(ctx context.Context, print string, list []scheduler.Redated) error {
	return d.core.write(ctx, func(tx *Tx) error {
		// A job that was changed since it was read keeps the due time of that change.
		for _, r := range list {
			err := tx.Run("UPDATE triggers SET due = ? WHERE id = ? AND due = ? AND version = ? AND removed = 0", sqlite.Micros(r.Due), r.Job.ID, sqlite.Micros(r.Job.Due), r.Job.Version)
			if err != nil {
				return fmt.Errorf("move job %d: %w", r.Job.ID, err)
			}
		}
		return putSetting(tx, keyZones, print)
	})
}
