package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/gate"
)

// keepShutGates is how long a row is kept that says that the heartbeat's gate was shut.
const keepShutGates = 30 * 24 * time.Hour

var _ gate.Store = Triggers{}

// kindOfJob tells the heartbeat from other jobs.
func kindOfJob(j scheduler.Job) triggerKind {
	if j.Name == scheduler.Heartbeat {
		return kindHeartbeat
	}
	return kindJob
}

// jobKind is the kind of a job that has a row.
func jobKind(tx *Tx, id int64) (triggerKind, error) {
	k := kindJob
	err := tx.One("SELECT kind FROM triggers WHERE id = ? AND "+ofJobs, []any{id}, &k)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil // whoever changes it finds that there is none
	}
	return k, err
}

// Gated lists slots in the state due whose gates can be looked at now, oldest first and at most one of each job. While an earlier fire of a
// job is under way its next one waits, and while the job backs off; that of a job that was removed waits for nothing.
func (d Triggers) Gated(ctx context.Context, now time.Time, most int) ([]gate.Slot, error) {
	columns := "t." + strings.ReplaceAll(jobColumns, ", ", ", t.")
	rs, err := d.core.read().QueryContext(ctx, "SELECT f.id, f.key, f.reason, f.note, t.removed > 0, t.seen, "+columns+` FROM fires f JOIN triggers t ON t.id = f.trigger
		WHERE f.state = 'due' AND (t.removed > 0 OR t.hold <= ?)
		AND NOT EXISTS (SELECT 1 FROM fires e WHERE e.trigger = f.trigger AND e.state <> 'done' AND (e.state <> 'due' OR e.id < f.id))
		ORDER BY f.due, f.id LIMIT ?`, sqlite.Micros(now), most) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (s gate.Slot, err error) {
		s.Job, err = scanJobAfter(rs, &s.Fire, &s.Key, &s.Reason, &s.Note, &s.Gone, &s.Seen)
		return s, err
	})
}

// Judge commits what the gate of a due slot said. A fire that is not due any more is left alone: somebody else has judged it.
func (d Triggers) Judge(ctx context.Context, v gate.Verdict) error {
	return d.core.write(ctx, func(tx *Tx) error {
		state, ended := scheduler.StateQueued, int64(0)
		if v.Outcome != "" {
			state, ended = scheduler.StateDone, sqlite.Micros(tx.Now)
		}
		n, err := tx.Change("UPDATE fires SET state = ?, outcome = ?, ended = ?, reason = ?, seen = ?, note = '' WHERE id = ? AND state = 'due'", state, v.Outcome, ended, v.Reason, v.Seen, v.Fire)
		if err != nil || n == 0 {
			return err
		}
		tx.Wake(sqlite.SignalJobs) // the job's next slot may have waited for this one
		switch v.Outcome {
		case "":
			if fail.Broken("gate-seen-early") {
				err = fireSucceeded(tx, v.Fire, v.Job)
			}
			return errors.Join(err, mustAccept(tx, v.In))
		case scheduler.Failed:
			return backOffTrigger(tx, v.Job, v.Reason)
		default:
			return gateWasShut(tx, v.Job)
		}
	})
}

// gateWasShut notes that a gate could be looked at and is shut: failures to look at it are over. Rows of the heartbeat that say no more than
// that do not pile up.
func gateWasShut(tx *Tx, job int64) error {
	err := tx.Run(`UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?1 AND failures > 0
		AND (SELECT reason FROM fires WHERE trigger = ?1 AND outcome = 'failed' ORDER BY id DESC LIMIT 1) LIKE 'gate: %'`, job)
	if err != nil {
		return fmt.Errorf("end the backoff: %w", err)
	}
	err = tx.Run(`DELETE FROM fires WHERE trigger = (SELECT id FROM triggers WHERE id = ? AND kind = 'heartbeat') AND outcome = 'skipped' AND turn IS NULL
		AND due < ? AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.fire = fires.id)`, job, sqlite.Micros(tx.Now.Add(-keepShutGates)))
	if err != nil {
		return fmt.Errorf("forget old skips: %w", err)
	}
	return nil
}

// fireSucceeded notes the good end of a run: what its gate saw has been dealt with, and failures before it hold nothing up any more.
func fireSucceeded(tx *Tx, fire, job int64) error {
	if err := clearFailures(tx, job, "a good run ended that"); err != nil {
		return fmt.Errorf("end the backoff: %w", err)
	}
	return tx.Run("UPDATE triggers SET seen = coalesce((SELECT nullif(seen, '') FROM fires WHERE id = ?), seen) WHERE id = ?", fire, job)
}

// Busy reports whether a turn of the main thread runs, or something that the owner wrote waits for one.
func (d Triggers) Busy(ctx context.Context, now time.Time) (busy bool, err error) {
	err = d.core.read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM turns WHERE state IN ('ready', 'running') AND parent IS NULL)
		OR EXISTS (SELECT 1 FROM inbox WHERE state = 'queued' AND kind = 'message' AND rank = 0 AND not_before <= ?)`, sqlite.Micros(now)).Scan(&busy)
	return busy, err
}
