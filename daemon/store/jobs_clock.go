package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

// The scheduler notices a jump; the store keeps and undoes it.
var _ scheduler.ClockJumps = Jobs{}

// keyClockJump is the setting with the recorded clock jumps.
const keyClockJump = "clock_leap"

// Jumps returns the recorded clock jumps, and when the previous epoch was last seen.
func (d Jobs) Jumps(ctx context.Context) (list []scheduler.ClockJump, seen time.Time, err error) {
	text, err := d.core.setting(ctx, keyClockJump)
	if err != nil {
		return nil, seen, err
	}
	if text != "" && json.Unmarshal([]byte(text), &list) != nil {
		list = nil // treated as no jumps, so nothing is taken back
	}
	return list, d.core.boot.Last, nil
}

// NoteJumps records the jumps of the clock. If the newest one has a notice, it tells the owner.
func (d Jobs) NoteJumps(ctx context.Context, list []scheduler.ClockJump) error {
	return d.core.write(ctx, func(tx *Tx) error {
		if err := putClockJumps(tx, list); err != nil || len(list) == 0 {
			return err
		}
		l := list[len(list)-1]
		if text := l.Notice(tx.core.zone()); text != "" {
			return addNotice(tx, l.Key(), 0, text)
		}
		return nil
	})
}

// NoteHold tells the owner that the clock went back and jobs wait.
func (d Jobs) NoteHold(ctx context.Context, l scheduler.ClockJump) error {
	return d.core.write(ctx, func(tx *Tx) error {
		return addNotice(tx, "clock:hold:"+scheduler.Key(l.To), 0, l.HoldNotice(tx.core.zone()))
	})
}

// putClockJumps stores the jumps of the clock, so that they can be undone after a restart.
func putClockJumps(tx *Tx, list []scheduler.ClockJump) error {
	doc, err := sqlite.Doc(list)
	if err != nil {
		return err
	}
	return putSetting(tx, keyClockJump, doc)
}

// zone returns the owner's zone; UTC if it is unknown.
func (s *core) zone() *time.Location {
	zone, err := scheduler.Zone(s.opt.Zone())
	if err != nil {
		return time.UTC
	}
	return zone
}

// jumpPage is the number of jobs per read.
const jumpPage = 1000

// UndoJump takes back what jobs did while the clock was ahead.
func (d Jobs) UndoJump(ctx context.Context, l scheduler.ClockJump, rest []scheduler.ClockJump, now time.Time) error {
	return d.core.write(ctx, func(tx *Tx) error {
		// All corrected jobs get one new version, by which the scheduler finds that they have changed.
		tx.Wake(sqlite.SignalJobs)
		version, err := nextTriggerVersion(tx)
		if err != nil {
			return err
		}
		// Jobs are read in pages, as there may be thousands. All are changed in one transaction: a half-undone jump would be worse than a
		// long commit.
		for after := int64(0); ; {
			rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers NOT INDEXED WHERE id > ? AND "+ofJobs+" AND removed = 0 ORDER BY id LIMIT ?", after, jumpPage)
			page, err := sqlite.Collect(rs, err, scanJob)
			if err != nil {
				return fmt.Errorf("list jobs: %w", err)
			}
			if len(page) == 0 {
				break
			}
			for _, j := range page {
				if err := undoJumpOfJob(tx, j, l.From, now, version); err != nil {
					return fmt.Errorf("job %d: %w", j.ID, err)
				}
			}
			after = page[len(page)-1].ID
		}
		// Holds that end in the far future stem from the wrong clock.
		if err := limitBackoffs(tx, now); err != nil {
			return err
		}
		if err := putClockJumps(tx, rest); err != nil {
			return err
		}
		return addNotice(tx, "clock:back:"+scheduler.Key(now), 0, l.ReturnNotice(now, tx.core.zone()))
	})
}

// undoJumpOfJob corrects one job.
func undoJumpOfJob(tx *Tx, j scheduler.Job, from, now time.Time, version int64) error {
	if err := freeSlots(tx, j.ID, now); err != nil || j.Broken != "" {
		return err
	}
	old := j
	// A last run in the future came from the wrong clock. The newest slot of the past takes its place.
	if j.Last.After(now) {
		var err error
		if j.Last, err = newestSlot(tx, j.ID, now); err != nil {
			return err
		}
	}
	next, err := scheduler.DueAfterJump(j, from, now)
	if err != nil {
		return nil //nolint:nilerr // it is disabled when it comes due
	}
	moved := old.Last.After(now) || old.Created.After(now)
	if !moved && (old.Due.IsZero() || !next.Due.Before(old.Due)) {
		return nil
	}
	if old.Paused {
		next.Due = old.Due // resuming computes its next slot
	}
	doc, err := sqlite.Doc(next)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE triggers SET body = ?, due = ?, version = ? WHERE id = ?", doc, sqlite.Micros(next.Due), version, j.ID)
}

// beyondDigits sorts after the keys of slots, which are timestamps, and before all other keys.
const beyondDigits = ":"

// freeSlots deletes the rows of slots in the future. A slot that ran, or is running, gets another key, so that the real slot can still run.
// A row that stands for several slots stands for one again.
func freeSlots(tx *Tx, job int64, now time.Time) error {
	key := scheduler.Key(now)
	for _, do := range []string{
		`DELETE FROM fires WHERE trigger = ?1 AND key > ?2 AND key < ?3 AND turn IS NULL AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.fire = fires.id) AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.fire = fires.id)`,
		`UPDATE inbox SET ext_id = 'job:' || ?1 || ':ahead:' || fire || ':' || ext_id WHERE fire IN (SELECT id FROM fires WHERE trigger = ?1 AND key > ?2 AND key < ?3)`,
		`UPDATE fires SET key = 'ahead:' || id || ':' || key, reason = iif(reason = '', '', reason || '; ') || 'run by a clock that was ahead' WHERE trigger = ?1 AND key > ?2 AND key < ?3`,
	} {
		if err := tx.Run(do, job, key, beyondDigits); err != nil {
			return fmt.Errorf("free slots: %w", err)
		}
	}
	return tx.Run("UPDATE fires SET stands = 1, reason = 'passed over by a clock that was ahead' WHERE trigger = ? AND stands > 1 AND created > ?", job, sqlite.Micros(now))
}

// newestSlot returns the newest past slot of a job with a row; zero: none.
func newestSlot(tx *Tx, job int64, now time.Time) (time.Time, error) {
	var key string
	err := tx.One("SELECT coalesce(max(key), '') FROM fires WHERE trigger = ? AND key <= ?", []any{job, scheduler.Key(now)}, &key)
	if err != nil || key == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, key)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // a spoilt row must not keep all jobs from going on; the keys of the others stop doubles
	} // an unreadable row must not stop all jobs; the keys of the other slots prevent double runs
	return at, nil
}

// limitBackoffs limits the pauses after failures that were computed with the wrong clock.
func limitBackoffs(tx *Tx, now time.Time) error {
	longest := sqlite.Micros(now.Add(scheduler.Backoff(askAfterFailures)))
	if err := tx.Run("UPDATE triggers SET hold = ?1 WHERE hold > ?1", longest); err != nil {
		return fmt.Errorf("end holds: %w", err)
	}
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND kind = 'fire' AND not_before > ?1", longest)
}
