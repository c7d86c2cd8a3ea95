package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/netguard"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/scheduler/gate"
)

// keepClosedGates is how long a heartbeat's row with a closed gate is kept.
const keepClosedGates = 30 * 24 * time.Hour

var _ gate.Store = Jobs{}

// kindOfJob distinguishes the heartbeat from other jobs.
func kindOfJob(j scheduler.Job) triggerKind {
	if j.Name == scheduler.Heartbeat {
		return kindHeartbeat
	}
	return kindJob
}

// jobKind returns the kind of an existing job.
func jobKind(tx *Tx, id int64) (triggerKind, error) {
	k := kindJob
	err := tx.One("SELECT kind FROM triggers WHERE id = ? AND "+ofJobs, []any{id}, &k)
	return k, ignoreNoRows(err) // the change that follows reports that the job does not exist
}

// Gated lists due slots whose gates can be evaluated now, oldest first, at most one per job. A slot waits while an earlier fire of its job
// is open, and during the pause after a failure. Slots of removed jobs do not wait.
func (d Jobs) Gated(ctx context.Context, now time.Time, most int) ([]gate.Slot, error) {
	columns := "t." + strings.ReplaceAll(jobColumns, ", ", ", t.")
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+columns+`, f.id, f.key, f.reason, f.note, t.removed > 0, t.seen FROM fires f JOIN triggers t ON t.id = f.trigger
		WHERE f.state = 'due' AND (t.removed > 0 OR t.hold <= ?)
		AND NOT EXISTS (SELECT 1 FROM fires e WHERE e.trigger = f.trigger AND e.state <> 'done' AND (e.state <> 'due' OR e.id < f.id))
		ORDER BY f.due, f.id LIMIT ?`, sqlite.Micros(now), most) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (s gate.Slot, err error) {
		s.Job, err = scanJobWith(rs, &s.Fire, &s.Key, &s.Reason, &s.Note, &s.Gone, &s.Seen)
		return s, err
	})
}

// GatesWait reports whether there are slots whose gates were not evaluated, also such that Gated does not list yet.
func (d Jobs) GatesWait(ctx context.Context) (some bool, err error) {
	err = d.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM fires WHERE state = 'due')").Scan(&some)
	return some, err
}

// Judge commits the result of a gate. A fire that is no longer due is left alone: it has already been decided.
func (d Jobs) Judge(ctx context.Context, v gate.Verdict) error {
	return d.core.write(ctx, func(tx *Tx) error {
		state, ended := scheduler.StateQueued, int64(0)
		var err error
		if v.Outcome != "" {
			state, ended = scheduler.StateDone, sqlite.Micros(tx.Now)
		} else if _, v.In.NotBefore, err = readBackoff(tx, v.Job); err != nil { // a run by hand may have failed while the gate was evaluated
			return err
		}
		reason := joinReasons(v.Reason, heldFor(tx, v.In.NotBefore))
		n, err := tx.Change("UPDATE fires SET state = ?, outcome = ?, ended = ?, reason = ?, seen = ?, note = '' WHERE id = ? AND state = 'due'", state, v.Outcome, ended, reason, v.Seen, v.Fire)
		if err != nil || n == 0 {
			return err
		}
		tx.Wake(sqlite.SignalJobs) // the job's next slot may have waited for this one
		switch v.Outcome {
		// The gate is open: the slot gets its inbox row, and a turn will run it.
		case "":
			if fail.Broken("gate-seen-early") {
				err = fireSucceeded(tx, v.Fire, v.Job)
			}
			return errors.Join(err, mustAccept(tx, v.In))
		// The gate could not be evaluated.
		case scheduler.OutcomeFailed:
			return errors.Join(backOffTrigger(tx, v.Job, v.Reason), tellGateFailed(tx, v))
		}
		return gateClosed(tx, v.Job)
	})
}

// tellGateFailed tells the owner of the first failure of a job's gate, at most once a day: a gate that can never be evaluated keeps the job
// from running.
func tellGateFailed(tx *Tx, v gate.Verdict) error {
	var failures int
	var name string
	var k triggerKind
	err := tx.One("SELECT failures, name, kind FROM triggers WHERE id = ?", []any{v.Job}, &failures, &name, &k)
	if err != nil || failures != 1 || k != kindJob {
		return err
	}
	text := fmt.Sprintf("Job %s did not run: %s. It is tried again at its next time. To look at it: hob cron show %s", name, netguard.Defang(v.Reason), name)
	return addNotice(tx, fmt.Sprintf("gate:%d:%s", v.Job, tx.core.day(tx.Now)), v.Fire, text)
}

// gateClosed records that a gate was evaluated and closed, which ends a series of gate failures. It also deletes old heartbeat rows that
// say nothing else.
func gateClosed(tx *Tx, job int64) error {
	err := tx.Run(`UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?1 AND failures > 0
		AND (SELECT reason FROM fires WHERE trigger = ?1 AND outcome = 'failed' ORDER BY id DESC LIMIT 1) LIKE 'gate: %'`, job)
	if err != nil {
		return fmt.Errorf("end the backoff: %w", err)
	}
	err = tx.Run(`DELETE FROM fires WHERE trigger = (SELECT id FROM triggers WHERE id = ? AND kind = 'heartbeat') AND outcome = 'skipped' AND turn IS NULL
		AND due < ? AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.fire = fires.id)`, job, sqlite.Micros(tx.Now.Add(-keepClosedGates)))
	if err != nil {
		return fmt.Errorf("forget old skips: %w", err)
	}
	return nil
}

// fireSucceeded records a successful run: the gate's observation has been handled, and earlier failures no longer delay the trigger.
func fireSucceeded(tx *Tx, fire, job int64) error {
	if err := clearFailures(tx, job, "a good run ended that"); err != nil {
		return fmt.Errorf("end the backoff: %w", err)
	}
	return tx.Run("UPDATE triggers SET seen = coalesce((SELECT nullif(seen, '') FROM fires WHERE id = ?), seen) WHERE id = ?", fire, job)
}
