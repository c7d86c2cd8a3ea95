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

// askAfterFailures is the number of consecutive failures after which the owner is asked.
const askAfterFailures = 5

// failingQuestion marks that question.
const failingQuestion = "failing"

// endFire ends the fire that a turn ran. A failure delays the job's next run; every fifth one in a row also asks the owner.
//
// It runs in the commit that ends the turn, so a fire is never open without a turn that will end it.
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
	outcome, why, delays := FireOutcome(f)
	if err := tx.Run("UPDATE fires SET state = 'done', outcome = ?, ended = ?, reason = CASE WHEN ? <> '' THEN ? ELSE reason END WHERE id = ?", outcome, sqlite.Micros(tx.Now), why, why, fire); err != nil {
		return err
	}
	tx.Wake(sqlite.SignalJobs) // the gate of the job's next slot can now be evaluated
	if outcome == scheduler.OutcomeRan {
		return fireSucceeded(tx, fire, job)
	}
	if !delays {
		return nil
	}
	return backOffTrigger(tx, job, why)
}

// FireOutcome decides the outcome of a fire from the end of its turn, and whether the outcome delays the trigger's next run. Only a turn that is
// done without a fault counts as a run. A turn that the owner has stopped failed, but says nothing about the next run.
func FireOutcome(f turn.Finish) (outcome scheduler.Outcome, why string, delays bool) {
	why = cmp.Or(f.Fault, f.Why)
	if f.State == turn.Done && f.Fault == "" {
		return scheduler.OutcomeRan, why, false
	}
	return scheduler.OutcomeFailed, why, f.State != turn.Stopped
}

// failReported corrects the run of a literal command: the command continued in the background after its turn and has now failed.
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
	// The turn reported success when it ended; now the slot counts as failed and delays the next run.
	if err := tx.Run("UPDATE fires SET outcome = 'failed', ended = ?, reason = ? WHERE id = ?", sqlite.Micros(tx.Now), why, fire); err != nil {
		return err
	}
	return backOffTrigger(tx, job, why)
}

// AfterFailure decides when a trigger with this many consecutive failures may run again, and whether to ask the owner.
func AfterFailure(failures int, now time.Time) (hold time.Time, ask bool) {
	return now.Add(scheduler.Backoff(failures)), failures%askAfterFailures == 0
}

// backOffTrigger counts a failure of a trigger and sets how long it pauses. After several failures in a row it asks the owner whether to go
// on, unless such a question is open.
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
	// One open question about the same trigger is enough.
	var asked bool
	if err := tx.One("SELECT EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND until > ? AND subject = ? AND ref = ? AND action_hash = ?)",
		[]any{sqlite.Micros(tx.Now), turn.AboutJob, job, failingQuestion}, &asked); err != nil || asked || !ask {
		return err
	}
	text := fmt.Sprintf("%s %s has failed %d times in a row, the last time because %s. Shall it go on?", k.titled(), name, failures, netguard.Defang(why))
	_, err := askOwner(tx, &turn.Question{Subject: turn.AboutJob, Ref: job, Text: text, Options: []string{"go on", "pause"}, To: event.ToOwner, Until: tx.Now.Add(7 * 24 * time.Hour), ActionHash: failingQuestion})
	return err
}

// clearFailures resets a trigger's failures, and lets held runs start. why is added to their reason.
//
// The rows that waited for the end of the backoff are moved forward here; nothing else looks at them before their time.
func clearFailures(tx *Tx, id int64, why string) error {
	var k triggerKind
	var held bool
	if err := tx.One("SELECT kind, hold > ? FROM triggers WHERE id = ?", []any{sqlite.Micros(tx.Now), id}, &k, &held); err != nil {
		return err
	}
	err := errors.Join(tx.Run("UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?", id), dropFailingQuestion(tx, id))
	if err != nil || !held {
		return err
	}
	var until time.Time
	if k == kindWatch { // a watch that fires too often stays held for that
		if until, _, err = watchDelayedUntil(tx, id); err != nil {
			return err
		}
	}
	tx.Wake(sqlite.SignalInbox | sqlite.SignalJobs)
	waits := "SELECT id FROM fires WHERE trigger = ? AND state <> 'done' AND state IN ('due', 'queued')"
	if err := tx.Run("UPDATE fires SET reason = reason || '; ' || ? WHERE reason LIKE '%held until %' AND id IN ("+waits+")", why, id); err != nil {
		return fmt.Errorf("say why the hold is over: %w", err)
	}
	return tx.Run("UPDATE inbox SET not_before = ?1 WHERE state = 'queued' AND not_before > ?1 AND fire IN ("+waits+")", sqlite.Micros(until), id)
}

// dropFailingQuestion ends the question whether a trigger shall go on. It has no subject any more after a good run, a pause or a removal.
func dropFailingQuestion(tx *Tx, id int64) error {
	return expireQuestions(tx, "subject = 'job' AND action_hash = '"+failingQuestion+"' AND ref = ?", id)
}

// jobAnswered carries out the answer to a question about a job: continue or pause after failures; run or skip missed slots.
func jobAnswered(tx *Tx, q turn.Question) error {
	// This question came after several failures. Any answer but no lets the trigger go on.
	if q.ActionHash == failingQuestion {
		if q.Answer != turn.AnswerNo {
			return clearFailures(tx, q.Ref, "the owner let it go on")
		}
		var k triggerKind
		err := tx.One("SELECT kind FROM triggers WHERE id = ? AND removed = 0", []any{q.Ref}, &k)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		return pauseTrigger(tx, k, q.Ref, true, time.Time{})
	}
	if q.Answer == turn.AnswerNo {
		return nil
	}
	// The question about missed slots. "run once now" starts one run for all of them.
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
