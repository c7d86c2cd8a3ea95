package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

// gateWait is how long a report waits for the gates of new slots; one evaluation takes at most a minute.
const gateWait = 2 * time.Minute

// Report sends the owner one message about all slots that were not served in time and not reported yet. The message and the marks are one
// commit, so a crash neither loses nor repeats it. Until its gate has been evaluated, it is unknown whether a slot runs; the report waits
// for that as long as an evaluation may take. A job whose slot waits longer, for another run or after a failure, is reported separately.
func (d Jobs) Report(ctx context.Context) (later bool, err error) {
	var some bool
	if err := d.core.read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM fires f WHERE "+untoldFires+")").Scan(&some); err != nil || !some {
		return false, err
	}
	err = d.core.write(ctx, func(tx *Tx) error {
		// Gates decide the outcome of late fires; wait for those that are still being evaluated, so that one notice tells all.
		err := tx.One("SELECT EXISTS (SELECT 1 FROM fires WHERE told = 1 AND state = 'due' AND created > ?)", []any{sqlite.Micros(tx.Now.Add(-gateWait))}, &later)
		if err != nil || later {
			return err
		}
		newest, list, err := overdueJobs(tx)
		if err != nil {
			return err
		}
		// Mark the fires and queue the notice in one transaction, so that each is reported once.
		if err := tx.Run("UPDATE fires AS f SET told = 2 WHERE " + untoldFires); err != nil {
			return err
		}
		text := scheduler.MissedReport(list)
		if text == "" {
			return nil
		}
		return addNotice(tx, fmt.Sprintf("away:%d", newest), newest, text)
	})
	return later, err
}

// untoldFires selects the slots that can be reported. The slots of a job are reported together, once it is known whether the newest runs.
const untoldFires = "f.told = 1 AND f.trigger NOT IN (SELECT e.trigger FROM fires e INDEXED BY fires_due WHERE e.state = 'due' AND e.told = 1)"

// overdueJobs sums up the unreported slots by trigger, and returns the newest one. The heartbeat is not reported, and neither are slots
// with a closed gate, including the older slots that they stand for. If the gate could not be evaluated, all of them count as missed.
func overdueJobs(tx *Tx) (newest int64, list []scheduler.Overdue, err error) {
	const runs = "f.outcome IN ('', 'ran') OR f.outcome = 'failed' AND f.turn IS NOT NULL"
	rs, err := tx.Query(`SELECT t.name, coalesce(json_extract(t.body, '$.zone'), ''), min(f.due), max(f.due), max(max(f.created, f.due + f.late_us)), max(f.id),
		coalesce(sum(f.stands) FILTER (WHERE f.outcome = 'missed' OR f.outcome = 'failed' AND f.turn IS NULL), 0), coalesce(sum(f.stands) FILTER (WHERE f.outcome = 'coalesced'), 0),
		count(*) FILTER (WHERE `+runs+`), coalesce(max(f.late_us) FILTER (WHERE `+runs+`), 0) * 1000, sum(f.outcome = 'skipped') > 0, sum(f.outcome = 'failed' AND f.turn IS NULL) > 0, f.unstored
		FROM fires f JOIN triggers t ON t.id = f.trigger WHERE `+untoldFires+` AND t.kind <> ? GROUP BY t.id, f.unstored ORDER BY min(f.due), t.name`, kindHeartbeat) // #nosec G202 -- constants
	list, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (o scheduler.Overdue, err error) {
		var id int64
		var shut, blind bool
		err = rs.Scan(&o.Job, &o.Zone, sqlite.Stamp(&o.First), sqlite.Stamp(&o.Last), sqlite.Stamp(&o.Until), &id, &o.Gone, &o.Coalesced, &o.Runs, &o.Late, &shut, &blind, &o.StoreFailed)
		o.Running = o.First.After(tx.core.boot.Started)
		switch {
		// A run has served the older slots, so both counts stay.
		case o.Runs > 0:
		case blind:
			o.Gone, o.Coalesced = o.Gone+o.Coalesced, 0
		// A closed gate decided against the newest slot, and so against the older ones that it represents.
		case shut:
			o.Coalesced = 0
		}
		newest = max(newest, id)
		return o, err
	})
	return newest, list, err
}

// markLate marks the slots that were waiting when hob stopped and therefore run late. They are reported like slots that came due meanwhile.
// last is when hob was last running.
//
// Slots that come due while hob is not running are marked by the scheduler; these were due before it stopped.
func markLate(tx *Tx, last time.Time) error {
	if last.IsZero() || tx.Now.Sub(last) <= scheduler.NormalDelay {
		return nil
	}
	return tx.Run(`UPDATE fires SET told = 1, late_us = ?1 - due WHERE state <> 'done' AND state IN ('due', 'queued') AND told = 0 AND due < ?1 - ?2
		AND EXISTS (SELECT 1 FROM triggers t WHERE t.id = fires.trigger AND t.kind = 'job')`, sqlite.Micros(tx.Now), scheduler.NormalDelay.Microseconds())
}

// remindOfWaiting tells the owner, once a day in the job's zone, that a job cannot run because its last run is waiting.
func remindOfWaiting(tx *Tx, j scheduler.Job, open int64) error {
	var due time.Time
	var turn int64
	var why string
	err := tx.One("SELECT f.due, t.id, t.why FROM fires f JOIN turns t ON t.id = f.turn WHERE f.id = ? AND f.state = 'waiting'", []any{open}, sqlite.Stamp(&due), &turn, &why)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it is queued or running and will end by itself
	}
	if err != nil {
		return err
	}
	zone, err := scheduler.Zone(j.Zone)
	if err != nil {
		zone = time.UTC
	}
	text := fmt.Sprintf("Job %s waits for its run of %s, which is %s. What comes due meanwhile is folded into that run. To look at it: hob turns show %d",
		j.Name, due.In(zone).Format("Mon 2 Jan 15:04"), why, turn)
	return addNotice(tx, fmt.Sprintf("job:%d:waits:%s", j.ID, tx.Now.In(zone).Format(time.DateOnly)), open, text)
}
