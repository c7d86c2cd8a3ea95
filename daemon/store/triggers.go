package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
)

// triggerKind is the kind of a trigger in its row.
type triggerKind string

// The kinds of triggers.
const (
	kindJob       triggerKind = "job"
	kindHeartbeat triggerKind = "heartbeat"
	kindWatch     triggerKind = "watch"
	kindHook      triggerKind = "hook"
)

// listed returns the command that lists the triggers of a kind.
func (k triggerKind) listed() string {
	switch k {
	case kindWatch:
		return "hob watch list"
	case kindHook:
		return "hob hook list"
	}
	return "hob cron list"
}

// noun returns the name of the kind for people.
func (k triggerKind) noun() string {
	switch k {
	case kindHook:
		return "webhook"
	case kindHeartbeat:
		return "job"
	}
	return string(k)
}

// titled returns the noun for the beginning of a sentence.
func (k triggerKind) titled() string { return strings.ToUpper(k.noun()[:1]) + k.noun()[1:] }

// triggerColumns are the columns of every trigger. Its other fields are JSON in body.
const triggerColumns = "id, name, body, paused, broken, failures, hold"

// unreadable introduces the reason that a row cannot be read.
const unreadable = "its row cannot be read: "

// scanTrigger reads a row of triggerColumns, and more columns after them, into a job, a watch or a webhook. common returns its common part: the
// columns replace what the body says, because a pause or a failure changes only them. An unreadable row disables only its own trigger: lists
// show it as broken.
func scanTrigger[T any](rs *sql.Rows, common func(*T) *scheduler.Trigger, more ...any) (t T, err error) {
	var row scheduler.Trigger
	var body string
	if err := rs.Scan(append([]any{&row.ID, &row.Name, &body, &row.Paused, &row.Broken, &row.Failures, sqlite.Stamp(&row.BackoffUntil)}, more...)...); err != nil {
		return t, err
	}
	// A body that decodes only in part must not be used, so everything decoded is dropped.
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		t = *new(T)
		row.Broken = unreadable + err.Error()
	}
	c := common(&t)
	c.ID, c.Name, c.Paused, c.Broken, c.Failures, c.BackoffUntil = row.ID, row.Name, row.Paused, row.Broken, row.Failures, row.BackoffUntil
	return t, nil
}

// putTrigger creates a trigger, or replaces the one with its ID, and returns the ID. body is the whole trigger, stored as JSON; due is zero
// for triggers without a schedule.
func putTrigger(tx *Tx, k triggerKind, t scheduler.Trigger, body any, due time.Time) (int64, error) {
	doc, err := sqlite.Doc(body)
	if err != nil {
		return 0, err
	}
	version, err := nextTriggerVersion(tx)
	if err != nil {
		return 0, err
	}
	// The scheduler and the watcher read the trigger anew when the signal comes.
	tx.Wake(sqlite.SignalJobs)
	// A live trigger of the same kind and name makes the insert do nothing, which is a clash.
	if t.ID == 0 {
		id, err := tx.Insert("INSERT INTO triggers (kind, name, body, due, paused, broken, failures, hold, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			k, t.Name, doc, sqlite.Micros(due), sqlite.Bit(t.Paused), t.Broken, t.Failures, sqlite.Micros(t.BackoffUntil), version)
		if err == nil && id == 0 {
			return 0, event.NewFault(event.Clash, "choose another name, or change that one", "there is a %s named %s already", k.noun(), t.Name)
		}
		return id, err
	}
	n, err := tx.Change("UPDATE triggers SET name = ?, body = ?, due = ?, paused = ?, broken = ?, failures = ?, hold = ?, version = ? WHERE id = ? AND kind = ? AND removed = 0",
		t.Name, doc, sqlite.Micros(due), sqlite.Bit(t.Paused), t.Broken, t.Failures, sqlite.Micros(t.BackoffUntil), version, t.ID, k)
	return t.ID, k.found(n, err, t.ID)
}

// removeTrigger removes a trigger. Its fires stay; those that have not started are cancelled.
//
// The row stays, marked as removed: fires, audit and hob why still refer to it.
func removeTrigger(tx *Tx, k triggerKind, id int64) error {
	version, err := nextTriggerVersion(tx)
	if err != nil {
		return err
	}
	tx.Wake(sqlite.SignalJobs)
	if err := missUnserved(tx, id, scheduler.Job{}, "the job was removed"); err != nil {
		return err
	}
	n, err := tx.Change("UPDATE triggers SET removed = ?, due = 0, secret = '', version = ? WHERE id = ? AND kind = ? AND removed = 0", sqlite.Micros(tx.Now), version, id, k)
	if err := k.found(n, err, id); err != nil {
		return err
	}
	return errors.Join(dropFailingQuestion(tx, id), cancelFires(tx, id, scheduler.OutcomeSkipped, "the "+k.noun()+" was removed"))
}

// cancelFires ends the fires of a trigger that have not started, with their inbox rows. Running ones continue.
func cancelFires(tx *Tx, id int64, outcome scheduler.Outcome, why string) error {
	// The inbox rows go first: a row that a turn has taken is joined, and its fire then continues.
	err := tx.Run(`UPDATE inbox SET state = 'dropped', reason = ? WHERE state IN ('queued', 'held')
		AND fire IN (SELECT id FROM fires WHERE trigger = ? AND state <> 'done' AND state IN ('due', 'queued'))`, why, id)
	if err != nil {
		return fmt.Errorf("drop what waits: %w", err)
	}
	err = tx.Run(`UPDATE fires SET state = 'done', outcome = ?, reason = ?, note = '', ended = ? WHERE trigger = ? AND state <> 'done' AND state IN ('due', 'queued')
		AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.fire = fires.id AND i.state = 'joined')`, outcome, why, sqlite.Micros(tx.Now), id)
	if err != nil {
		return fmt.Errorf("end what is due: %w", err)
	}
	return nil
}

// pauseTrigger pauses a trigger and cancels its waiting runs, or resumes it with due as the next slot.
func pauseTrigger(tx *Tx, k triggerKind, id int64, paused bool, due time.Time) error {
	version, err := nextTriggerVersion(tx)
	if err != nil {
		return err
	}
	tx.Wake(sqlite.SignalJobs)
	// The slots that came due until now get their rows before the due time is overwritten.
	if paused {
		if err := errors.Join(missUnserved(tx, id, scheduler.Job{}, "the job was paused"), dropFailingQuestion(tx, id)); err != nil {
			return err
		}
		if err := cancelFires(tx, id, scheduler.OutcomeMissed, "the "+k.noun()+" was paused"); err != nil {
			return err
		}
	}
	n, err := tx.Change("UPDATE triggers SET paused = ?, due = ?, failures = 0, hold = 0, version = ? WHERE id = ? AND kind = ? AND removed = 0", sqlite.Bit(paused), sqlite.Micros(due), version, id, k)
	return k.found(n, err, id)
}

// found turns a change that affected no trigger into a fault.
func (k triggerKind) found(n int64, err error, id int64) error {
	if err == nil && n == 0 {
		return event.NewFault(event.Clash, k.listed()+" shows what there is", "there is no %s %d", k.noun(), id)
	}
	return err
}

// nextTriggerVersion returns the number for a change. The runner finds changed triggers by it.
func nextTriggerVersion(tx *Tx) (int64, error) {
	var v int64
	err := tx.One("SELECT coalesce(max(version), 0) + 1 FROM triggers", nil, &v)
	return v, err
}
