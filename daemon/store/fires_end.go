package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/netguard"
	"hob/daemon/sqlite"
	"hob/scheduler"
)

// After this many failures in a row the owner is asked.
const askAfterFailures = 5

// failingQuestion marks the question that is put then.
const failingQuestion = "failing"

// endFire ends the fire that a turn served: a failure backs the job off, the fifth in a row asks the owner.
func endFire(tx *Tx, id int64, f turn.Finish) error {
	var fire, job int64
	err := tx.One("SELECT f.id, f.trigger FROM turns t JOIN fires f ON f.id = t.fire WHERE t.id = ?", []any{id}, &fire, &job)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	fail.Point("fire.ending")
	outcome, why := scheduler.Ran, cmp.Or(f.Fault, f.Why)
	if f.State != turn.Done || f.Fault != "" {
		outcome = scheduler.Failed
	}
	if err := tx.Run("UPDATE fires SET state = 'done', outcome = ?, ended = ?, reason = CASE WHEN ? <> '' THEN ? ELSE reason END WHERE id = ?", outcome, sqlite.Micros(tx.Now), why, why, fire); err != nil {
		return err
	}
	tx.Wake(sqlite.SignalJobs) // the gate of the job's next slot may be looked at now
	if outcome == scheduler.Ran {
		return fireSucceeded(tx, fire, job)
	}
	if f.State == turn.Stopped {
		return nil
	}
	return backOffTrigger(tx, job, why)
}

// failReported ends the run of a literal command anew when the command, which went on in the background after its turn, has failed.
func failReported(tx *Tx, call, report string) error {
	var fire, job int64
	var prompt string
	err := tx.One(`SELECT f.id, f.trigger, coalesce(i.parts ->> '$[0].text', '') FROM items c JOIN turns t ON t.id = c.turn JOIN fires f ON f.id = t.fire JOIN inbox i ON i.turn = t.id AND i.fire = f.id
		WHERE c.call_id = ? AND c.kind = 'call' AND f.turn = t.id AND f.state = 'done' AND f.outcome = 'ran' LIMIT 1`, []any{call}, &fire, &job, &prompt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	why := turn.ReportFault(prompt, report)
	if err != nil || why == "" {
		return err
	}
	if err := tx.Run("UPDATE fires SET outcome = 'failed', ended = ?, reason = ? WHERE id = ?", sqlite.Micros(tx.Now), why, fire); err != nil {
		return err
	}
	return backOffTrigger(tx, job, why)
}

// AfterFailure decides when a trigger that has failed so many times in a row may run again, and whether the owner is asked if it shall go on.
func AfterFailure(failures int, now time.Time) (hold time.Time, ask bool) {
	return now.Add(scheduler.Backoff(failures)), failures%askAfterFailures == 0
}

func backOffTrigger(tx *Tx, job int64, why string) error {
	var failures int
	var name string
	var k triggerKind
	if err := tx.One("SELECT failures + 1, name, kind FROM triggers WHERE id = ?", []any{job}, &failures, &name, &k); err != nil {
		return err
	}
	hold, ask := AfterFailure(failures, tx.Now)
	if err := tx.Run("UPDATE triggers SET failures = ?, hold = ? WHERE id = ?", failures, sqlite.Micros(hold), job); err != nil {
		return err
	}
	var asked bool
	if err := tx.One("SELECT EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND until > ? AND subject = ? AND ref = ? AND action_hash = ?)",
		[]any{sqlite.Micros(tx.Now), turn.AboutJob, job, failingQuestion}, &asked); err != nil || asked || !ask {
		return err
	}
	text := fmt.Sprintf("%s %s has failed %d times in a row, the last time because %s. Shall it go on?", k.titled(), name, failures, netguard.Defang(why))
	_, err := askOwner(tx, &turn.Question{Subject: turn.AboutJob, Ref: job, Text: text, Options: []string{"go on", "pause"}, To: event.ToOwner, Until: tx.Now.Add(7 * 24 * time.Hour), ActionHash: failingQuestion})
	return err
}

// clearFailures forgets a trigger's failures. What waits for the end of its hold may run now; why stands behind what its row says of that.
func clearFailures(tx *Tx, id int64, why string) error {
	var k triggerKind
	var held bool
	now := tx.Now
	if err := tx.One("SELECT kind, hold > ? FROM triggers WHERE id = ?", []any{sqlite.Micros(now), id}, &k, &held); err != nil {
		return err
	}
	if err := tx.Run("UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?", id); err != nil || !held {
		return err
	}
	var until time.Time
	var err error
	if k == kindWatch { // one that fires too often is held for that all the same
		if until, _, err = watchHeldUntil(tx, id); err != nil {
			return err
		}
	}
	tx.Wake(sqlite.SignalInbox | sqlite.SignalJobs)
	waits := "SELECT id FROM fires WHERE trigger = ? AND state <> 'done' AND state IN ('due', 'queued')"
	err = tx.Run("UPDATE fires SET reason = reason || '; ' || ? WHERE reason LIKE '%held until %' AND id IN ("+waits+")", why, id)
	if err != nil {
		return fmt.Errorf("say why the hold is over: %w", err)
	}
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND not_before > ?1 AND fire IN ("+waits+")", sqlite.Micros(until), id)
}

// jobAnswered carries out the answer to a question about a job: go on or pause after failures; run or skip what was missed.
func jobAnswered(tx *Tx, q turn.Question) error {
	if q.ActionHash == failingQuestion {
		if q.Answer != turn.AnswerNo {
			return clearFailures(tx, q.Ref, "the owner let it go on")
		}
		var k triggerKind
		err := tx.One("SELECT kind FROM triggers WHERE id = ? AND removed = 0", []any{q.Ref}, &k)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it was taken away meanwhile, and fails no more
		}
		if err != nil {
			return err
		}
		return pauseTrigger(tx, k, q.Ref, true, time.Time{})
	}
	if q.Answer == turn.AnswerNo {
		return nil
	}
	rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers WHERE id = ? AND removed = 0", q.Ref)
	list, err := sqlite.Collect(rs, err, scanJob)
	if err != nil || len(list) == 0 {
		return err
	}
	if list[0].Broken != "" {
		return event.NewFault(event.Clash, "hob cron update "+list[0].Name+" mends it", "job %s cannot run: %s", list[0].Name, list[0].Broken)
	}
	return runNow(tx, scheduler.RunNow{Job: list[0], In: scheduler.ByHand(list[0], "question-"+q.Code, tx.Now)})
}
