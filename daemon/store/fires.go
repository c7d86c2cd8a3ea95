package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
)

// Fire commits a batch of firings: the rows of their slots, the inbox rows of slots that run, questions, and each job's next due time. If a
// job was changed since it was read, it returns scheduler.ErrMoved and commits nothing.
func (d Jobs) Fire(ctx context.Context, all []scheduler.Firing) error {
	return d.core.write(ctx, func(tx *Tx) error {
		for _, f := range all {
			if err := commitFiring(tx, f); err != nil {
				return fmt.Errorf("job %d: %w", f.Job.ID, err)
			}
		}
		return nil
	})
}

// commitFiring commits the slots of a job that came due, and the next due time.
//
//   - The job's row is updated first, on the condition that it is the one that the scheduler has read; otherwise the scheduler reads it
//     again.
//   - Each slot gets a row; a slot that runs also gets an input in the inbox. A slot whose key exists already is skipped.
//   - If the policy asks the owner about missed slots, the question is asked only if a slot was added: a repeated commit asks once.
func commitFiring(tx *Tx, f scheduler.Firing) error {
	// The conditions on due and version are the optimistic lock.
	n, err := tx.Change("UPDATE triggers SET body = json_set(body, '$.last', ?), due = ? WHERE id = ? AND due = ? AND version = ? AND removed = 0 AND paused = 0",
		f.Job.Last.UTC().Format(time.RFC3339Nano), sqlite.Micros(f.Job.Due), f.Job.ID, sqlite.Micros(f.From), f.Job.Version)
	if err != nil {
		return err
	}
	if n == 0 {
		return scheduler.ErrMoved
	}
	open, err := openFire(tx, f.Job.ID) // before this commit adds a fire
	if err != nil {
		return err
	}
	if f.Job.Failures, f.Job.BackoffUntil, err = readBackoff(tx, f.Job.ID); err != nil {
		return err
	}
	// f.Run names slots by their index. Slots without an entry are recorded and do not run.
	runs := map[int]event.In{}
	for _, q := range f.Run {
		runs[q.Slot] = q.In
	}
	added := false
	for i, slot := range f.Slots {
		in, run := runs[i]
		id, err := addSlot(tx, f.Job, slot, in, run, open)
		if err != nil {
			return fmt.Errorf("slot %s: %w", slot.Key, err)
		}
		added = added || id != 0
	}
	if f.Ask == "" || !added { // the owner was already asked about these slots
		return nil
	}
	_, err = askOwner(tx, &turn.Question{Subject: turn.AboutJob, Ref: f.Job.ID, Text: f.Ask, Options: []string{"run once now", "skip"}, To: event.ToOwner, Until: tx.Now.Add(7 * 24 * time.Hour)})
	return err
}

// addSlot writes the row of one slot and, if it runs, its inbox row. It returns the row's id. If the slot already has a row, nothing
// changes and the id is 0: this prevents double runs.
func addSlot(tx *Tx, j scheduler.Job, slot scheduler.Slot, in event.In, run bool, open int64) (int64, error) {
	// An earlier run of the job is open. Unless the policy is to queue, this slot is folded into that run.
	if (run || slot.State == scheduler.StateDue) && open != 0 && j.Overlap != scheduler.OverlapQueue {
		run = false
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.OutcomeCoalesced, fmt.Sprintf("waiting for #%d", open)
		if err := remindOfWaiting(tx, j, open); err != nil {
			return 0, err
		}
	}
	// After failures the slot waits. Its reason tells the owner until when.
	if (run || slot.State == scheduler.StateDue) && !j.BackoffUntil.IsZero() {
		slot.Reason, in.NotBefore = backoffReason(j, slot.Reason), j.BackoffUntil
	}
	id, err := addFire(tx, j.ID, slot)
	if err == nil && slot.State == scheduler.StateDue {
		tx.Wake(sqlite.SignalJobs) // the gate must be evaluated
	}
	if err != nil || id == 0 || !run {
		return id, err
	}
	in.Fire = id
	return id, acceptFire(tx, in)
}

// readBackoff reads a trigger's failures and until when its runs wait because of them; zero if they need not wait. The commit that adds a run
// reads them itself: an earlier run may have ended since the trigger was read.
func readBackoff(tx *Tx, trigger int64) (failures int, until time.Time, err error) {
	err = tx.One("SELECT failures, CASE WHEN hold > ? THEN hold ELSE 0 END FROM triggers WHERE id = ?", []any{sqlite.Micros(tx.Now), trigger}, &failures, sqlite.Stamp(&until))
	return failures, until, err
}

// backoffReason adds to a reason until when a slot is held.
func backoffReason(j scheduler.Job, reason string) string {
	zone, err := scheduler.Zone(j.Zone)
	if err != nil {
		zone = time.UTC
	}
	times := "failures"
	if j.Failures == 1 {
		times = "failure"
	}
	return joinReasons(reason, fmt.Sprintf("held until %s after %d %s", j.BackoffUntil.In(zone).Format("15:04"), j.Failures, times))
}

// joinReasons joins two reasons of a fire, either of which may be empty.
func joinReasons(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// addFire adds the row of a slot and returns its id, 0 if the key exists already.
func addFire(tx *Tx, job int64, slot scheduler.Slot) (int64, error) {
	ended := int64(0)
	if slot.State == scheduler.StateDone {
		ended = sqlite.Micros(tx.Now)
	}
	if slot.State != scheduler.StateDue {
		slot.Note = "" // it is in the inbox row, or obsolete
	}
	return tx.Insert(`INSERT INTO fires (trigger, key, due, created, ended, state, outcome, late_us, limit_us, told, stands, reason, note, unstored) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trigger, key) DO NOTHING`,
		job, slot.Key, sqlite.Micros(slot.Due), sqlite.Micros(tx.Now), ended, slot.State, slot.Outcome, slot.Late.Microseconds(), slot.Limit.Microseconds(), sqlite.Bit(slot.Tell), max(slot.Represents, 1), slot.Reason, slot.Note, sqlite.Bit(slot.StoreFailed))
}

// openFire returns the oldest fire of a job that has not ended; 0: none.
func openFire(tx *Tx, job int64) (int64, error) {
	var id int64
	err := tx.One("SELECT coalesce(min(id), 0) FROM fires WHERE trigger = ? AND state <> 'done'", []any{job}, &id)
	return id, err
}

// mustAccept stores the inbox row of a new fire. An existing row with that id belongs to something else, so it is an error.
func mustAccept(tx *Tx, in event.In) error {
	r, err := acceptIn(tx, in)
	if err == nil && !r.New {
		return fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return err
}
