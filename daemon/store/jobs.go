package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/tools"
)

// Jobs holds jobs and the heartbeat, and the fires of all triggers. It is safe for concurrent use; each method is one transaction. The
// scheduler decides which slots are due.
type Jobs struct{ core *core }

var _ scheduler.Store = Jobs{}

// Record applies changes of triggers.
func (d Jobs) Record(ctx context.Context, list ...tools.Change) error {
	return d.core.record(ctx, list)
}

// JobsSignal fires when a trigger was created or changed.
func (d Jobs) JobsSignal() <-chan struct{} { return d.core.db.Wait(sqlite.SignalJobs) }

// ofJobs selects the kinds that fire by a schedule.
const ofJobs = "kind IN ('job', 'heartbeat')"

// jobColumns are the columns that scanJob reads.
const jobColumns = triggerColumns + ", due, version"

// scanJobWith reads a row of jobColumns, and more columns after them.
func scanJobWith(rs *sql.Rows, more ...any) (scheduler.Job, error) {
	var due time.Time
	var version int64
	j, err := scanTrigger(rs, func(j *scheduler.Job) *scheduler.Trigger { return &j.Trigger }, append([]any{sqlite.Stamp(&due), &version}, more...)...)
	j.Due, j.Version = due, version
	return j, err
}

// scanJob reads a row of jobColumns.
func scanJob(rs *sql.Rows) (scheduler.Job, error) { return scanJobWith(rs) }

// runsNext selects the jobs that will run by themselves, and runsNot the others.
const (
	runsNext = ofJobs + " AND removed = 0 AND paused = 0 AND broken = '' AND due > 0"
	runsNot  = ofJobs + " AND removed = 0 AND (paused = 1 OR broken <> '' OR due = 0)"
)

// JobRows lists jobs: those that run next first, then those that do not run, by name. With the state scheduler.InTrouble it lists only those
// that are broken or have failed, by name.
func (d Jobs) JobRows(ctx context.Context, f event.Filter) ([]scheduler.Job, error) {
	limit := rowLimit(f)
	if f.State == scheduler.InTrouble {
		rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers INDEXED BY triggers_trouble WHERE "+ofJobs+" AND removed = 0 AND (broken <> '' OR failures > 0) ORDER BY kind, name LIMIT ?", limit)
		return sqlite.Collect(rs, err, scanJob)
	}
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers INDEXED BY triggers_due WHERE "+runsNext+" ORDER BY due LIMIT ?", limit)
	list, err := sqlite.Collect(rs, err, scanJob)
	if err != nil || len(list) == limit {
		return list, err
	}
	rs, err = d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE "+runsNot+" ORDER BY kind, name LIMIT ?", limit-len(list))
	rest, err := sqlite.Collect(rs, err, scanJob)
	return append(list, rest...), err
}

// ConfigJobs lists the jobs that the config has made. Their number is that of its sections, however many other jobs there are.
func (d Jobs) ConfigJobs(ctx context.Context) ([]scheduler.Job, error) {
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers INDEXED BY triggers_config WHERE "+ofJobs+" AND removed = 0 AND body ->> '$.origin' = 'config'")
	return sqlite.Collect(rs, err, scanJob)
}

// Job reads one job.
func (d Jobs) Job(ctx context.Context, id int64) (scheduler.Job, error) {
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE "+ofJobs+" AND removed = 0 AND id = ?", id)
	list, err := sqlite.Collect(rs, err, scanJob)
	switch {
	case err != nil:
		return scheduler.Job{}, err
	case len(list) == 0:
		return scheduler.Job{}, event.NewFault(event.Missing, "hob cron list shows them", "there is no job %d", id)
	case list[0].Spec == "" && list[0].Broken != "":
		return list[0], fmt.Errorf("%w: %s", scheduler.ErrUnreadable, strings.TrimPrefix(list[0].Broken, unreadable))
	}
	return list[0], nil
}

// JobNamed returns a live job by its name or id. A name wins over an id.
func (d Jobs) JobNamed(ctx context.Context, name string) (scheduler.Job, error) {
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != name {
		id = 0 // not an id
	}
	rs, err := d.core.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE "+ofJobs+" AND removed = 0 AND name = ?1 UNION ALL SELECT "+jobColumns+" FROM triggers WHERE "+ofJobs+" AND removed = 0 AND id = ?2 AND name <> ?1 LIMIT 1", name, id)
	list, err := sqlite.Collect(rs, err, scanJob)
	if err != nil {
		return scheduler.Job{}, err
	}
	if len(list) == 0 {
		return scheduler.Job{}, d.noJob(ctx, name)
	}
	return list[0], nil
}

// noJob is the error for a name that no job has.
func (d Jobs) noJob(ctx context.Context, name string) error {
	var names string // a name has no spaces
	if err := d.core.read().QueryRowContext(ctx, "SELECT coalesce(group_concat(name, ' '), '') FROM triggers WHERE "+ofJobs+" AND removed = 0").Scan(&names); err != nil {
		return err
	}
	return scheduler.NoJob(name, tools.Nearest(name, strings.Fields(names), 3))
}

// Moved lists the jobs whose due time may have changed since a version, and the newest version. due is zero for jobs that no longer fire.
// The runner keeps its queue current with this.
func (d Jobs) Moved(ctx context.Context, since int64) ([]scheduler.Entry, int64, error) {
	newest := since
	rs, err := d.core.read().QueryContext(ctx, "SELECT id, CASE WHEN paused = 1 OR broken <> '' OR removed > 0 THEN 0 ELSE due END, version FROM triggers WHERE "+ofJobs+" AND version > ?", since)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (e scheduler.Entry, err error) {
		var version int64
		err = rs.Scan(&e.ID, sqlite.Stamp(&e.Due), &version)
		newest = max(newest, version)
		return e, err
	})
	return list, newest, err
}

// NextJob returns the earliest due time of all jobs but the heartbeat, which would nearly always be the next, with the job's name; zero if nothing is due.
func (d Jobs) NextJob(ctx context.Context) (time.Time, string, error) {
	var due time.Time
	var name string
	err := d.core.read().QueryRowContext(ctx, "SELECT due, name FROM triggers INDEXED BY triggers_due WHERE kind = 'job' AND removed = 0 AND paused = 0 AND broken = '' AND due > 0 ORDER BY due LIMIT 1").Scan(sqlite.Stamp(&due), &name)
	if errors.Is(err, sql.ErrNoRows) {
		return due, "", nil
	}
	return due, name, err
}

// putJob creates a job or replaces the one with its ID. Slots of the old version that are due, or wait to run, are missed.
func putJob(tx *Tx, turn int64, j scheduler.Job) error {
	if j.ID != 0 {
		if err := missUnserved(tx, j.ID, j, "its schedule was changed"); err != nil {
			return err
		}
		if err := cancelFires(tx, j.ID, scheduler.OutcomeMissed, "the job was changed"); err != nil {
			return err
		}
	}
	id, err := putTrigger(tx, kindOfJob(j), j.Trigger, j, j.Due)
	if err != nil || j.ID != 0 {
		return err
	}
	return noteSession(tx, "triggers", id, turn)
}

// handKey returns the slot key of a manual run: "run:ID".
func handKey(c scheduler.RunNow) string {
	return strings.TrimPrefix(c.In.ExtID, fmt.Sprintf("job:%d:", c.Job.ID))
}

// runNow queues one manual run: its fire and its inbox row.
func runNow(tx *Tx, c scheduler.RunNow) error {
	slot := scheduler.Slot{Key: handKey(c), Due: tx.Now, State: scheduler.StateQueued, Reason: "run by hand"}
	if err := limitRunsByTurns(tx, c); err != nil {
		return err
	}
	id, err := addFire(tx, c.Job.ID, slot)
	if err != nil || id == 0 {
		return err
	}
	c.In.Fire = id
	return mustAccept(tx, c.In)
}

// mostByTurns limits the runs of a job that turns start within ten minutes. Without it, jobs that start themselves or each other would
// never stop.
const mostByTurns = 30

// limitRunsByTurns refuses a run that a turn requests if turns have started the job too often. Runs that people start do not count.
func limitRunsByTurns(tx *Tx, c scheduler.RunNow) error {
	const byTurn = "run:t*" // the calls of turns have ids like t1_2
	var often bool
	err := tx.One("SELECT ?1 GLOB ?2 AND count(*) >= ?3 FROM fires WHERE trigger = ?4 AND key GLOB ?2 AND key <> ?1 AND created > ?5",
		[]any{handKey(c), byTurn, mostByTurns, c.Job.ID, sqlite.Micros(tx.Now.Add(-watchBusyTime))}, &often)
	if err == nil && often {
		err = event.NewFault(event.Clash, "hob cron run "+c.Job.Name+" starts it by hand", "job %s was run %d times within ten minutes by turns of hob's own: perhaps jobs run each other", c.Job.Name, mostByTurns)
	}
	return err
}
