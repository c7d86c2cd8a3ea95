package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

var _ scheduler.Leaps = Triggers{}

// keyClockJump is the setting with the last leap of the clock.
const keyClockJump = "clock_leap"

// Leap is the leap of the clock that was noted last.
func (d Triggers) Leap(ctx context.Context) (l scheduler.Leap, err error) {
	var text string
	err = d.core.read().QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", keyClockJump).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return scheduler.Leap{}, nil //nolint:nilerr // as if there had been none: nothing is taken back
	}
	return l, nil
}

// Leapt notes a leap of the clock, and tells the owner.
func (d Triggers) Leapt(ctx context.Context, l scheduler.Leap) error {
	return d.core.write(ctx, func(tx *Tx) error {
		if err := noteClockJump(tx, l); err != nil {
			return err
		}
		return addNotice(tx, "clock:ahead:"+scheduler.Key(l.To), 0, l.Told())
	})
}

func noteClockJump(tx *Tx, l scheduler.Leap) error {
	doc, err := sqlite.Doc(l)
	if err != nil {
		return err
	}
	return putSetting(tx, keyClockJump, doc)
}

// recallPage is how many jobs are read at once.
const recallPage = 1000

// Recall takes back what jobs did by a clock that was far ahead.
func (d Triggers) Recall(ctx context.Context, l scheduler.Leap, now time.Time) error {
	return d.core.write(ctx, func(tx *Tx) error {
		tx.Wake(sqlite.SignalJobs)
		version, err := nextTriggerVersion(tx)
		if err != nil {
			return err
		}
		for after := int64(0); ; {
			rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers NOT INDEXED WHERE id > ? AND "+ofJobs+" AND removed = 0 ORDER BY id LIMIT ?", after, recallPage)
			page, err := sqlite.Collect(rs, err, scanJob)
			if err != nil {
				return fmt.Errorf("list jobs: %w", err)
			}
			if len(page) == 0 {
				break
			}
			for _, j := range page {
				if err := recallJob(tx, j, l.From, now, version); err != nil {
					return fmt.Errorf("job %d: %w", j.ID, err)
				}
			}
			after = page[len(page)-1].ID
		}
		if err := releaseHolds(tx, now); err != nil {
			return err
		}
		if err := noteClockJump(tx, l.Left(now)); err != nil {
			return err
		}
		return addNotice(tx, "clock:back:"+scheduler.Key(now), 0, l.Over(now))
	})
}

// recallJob takes back what one job did.
func recallJob(tx *Tx, j scheduler.Job, from, now time.Time, version int64) error {
	if err := freeSlots(tx, j.ID, now); err != nil || j.Broken != "" {
		return err
	}
	old := j
	if j.Last.After(now) {
		var err error
		if j.Last, err = newestSlot(tx, j.ID, now); err != nil {
			return err
		}
	}
	next, err := scheduler.Recall(j, from, now)
	if err != nil {
		return nil //nolint:nilerr // it is put aside when it comes due
	}
	moved := old.Last.After(now) || old.Created.After(now)
	if !moved && (old.Due.IsZero() || !next.Due.Before(old.Due)) {
		return nil
	}
	if old.Paused {
		next.Due = old.Due // its end says when it goes on
	}
	doc, err := sqlite.Doc(next)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE triggers SET body = ?, due = ?, version = ? WHERE id = ?", doc, sqlite.Micros(next.Due), version, j.ID)
}

// beyondDigits sorts behind the keys of slots, which are instants, and before all other keys.
const beyondDigits = ":"

// freeSlots deletes the rows of slots that have not come, and gives those of them that run, or ran, a key which is no slot's. The row of those that
// came while the clock was wrong stands for itself.
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

// newestSlot is the newest slot of a job that has come and has a row; zero: none has.
func newestSlot(tx *Tx, job int64, now time.Time) (time.Time, error) {
	var key string
	err := tx.One("SELECT coalesce(max(key), '') FROM fires WHERE trigger = ? AND key <= ?", []any{job, scheduler.Key(now)}, &key)
	if err != nil || key == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, key)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // a spoilt row must not keep all jobs from going on; the keys of the others stop doubles
	}
	return at, nil
}

// releaseHolds bounds the pauses after failures that were reckoned by the wrong clock.
func releaseHolds(tx *Tx, now time.Time) error {
	longest := sqlite.Micros(now.Add(scheduler.Backoff(askAfterFailures)))
	if err := tx.Run("UPDATE triggers SET hold = ?1 WHERE hold > ?1", longest); err != nil {
		return fmt.Errorf("end holds: %w", err)
	}
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND kind = 'fire' AND not_before > ?1", longest)
}
