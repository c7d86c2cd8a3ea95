package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/daemon/store/db"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/scheduler"
)

const jobColumns = "id, name, body, due, paused, broken, failures, hold"

func scanJob(rs *sql.Rows) (scheduler.Job, error) {
	var j scheduler.Job
	var row scheduler.Job
	var body string
	if err := rs.Scan(&row.ID, &row.Name, &body, db.Stamp(&row.Due), &row.Paused, &row.Broken, &row.Failures, db.Stamp(&row.Hold)); err != nil {
		return j, err
	}
	if err := json.Unmarshal([]byte(body), &j); err != nil {
		// A spoilt row disables only itself: it is shown, and Job refuses it.
		j = scheduler.Job{}
		j.Broken = fmt.Sprintf("its row cannot be read: %v", err)
		row.Broken = j.Broken
	}
	j.ID, j.Name, j.Due, j.Paused, j.Broken, j.Failures, j.Hold = row.ID, row.Name, row.Due, row.Paused, row.Broken, row.Failures, row.Hold
	return j, nil
}

// AllJobs lists all jobs by name.
func (s Jobs) AllJobs(ctx context.Context) ([]scheduler.Job, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE kind = 'job' AND removed = 0 ORDER BY name")
	return db.Collect(rs, err, scanJob)
}

// Job reads one job.
func (s Jobs) Job(ctx context.Context, id int64) (scheduler.Job, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE kind = 'job' AND removed = 0 AND id = ?", id)
	list, err := db.Collect(rs, err, scanJob)
	switch {
	case err != nil:
		return scheduler.Job{}, err
	case len(list) == 0:
		return scheduler.Job{}, notFound("job", id)
	case list[0].Spec == "" && list[0].Broken != "":
		return list[0], fmt.Errorf("%w: %s", scheduler.ErrUnreadable, list[0].Broken)
	default:
		return list[0], nil
	}
}

// JobNamed finds a live job by its name or id.
func (s Jobs) JobNamed(ctx context.Context, name string) (scheduler.Job, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT "+jobColumns+" FROM triggers WHERE kind = 'job' AND removed = 0 AND (name = ?1 OR cast(id AS TEXT) = ?1) ORDER BY name = ?1 DESC LIMIT 1", name)
	list, err := db.Collect(rs, err, scanJob)
	if err != nil {
		return scheduler.Job{}, err
	}
	if len(list) == 0 {
		return scheduler.Job{}, event.NewFault(event.Missing, "hob cron list shows them", "there is no job %s", name)
	}
	return list[0], nil
}

// Moved lists the jobs whose due instant may have changed since a version, with the newest version; due is zero for those that no longer fire.
func (s Jobs) Moved(ctx context.Context, since int64) ([]scheduler.Entry, int64, error) {
	newest := since
	rs, err := s.read().QueryContext(ctx, "SELECT id, CASE WHEN paused = 1 OR broken <> '' OR removed > 0 THEN 0 ELSE due END, version FROM triggers WHERE kind = 'job' AND version > ?", since)
	list, err := db.Collect(rs, err, func(rs *sql.Rows) (scheduler.Entry, error) {
		var e scheduler.Entry
		var version int64
		err := rs.Scan(&e.ID, db.Stamp(&e.Due), &version)
		newest = max(newest, version)
		return e, err
	})
	return list, newest, err
}

// putJob makes a job, or replaces the one with its ID.
func putJob(tx *Tx, j scheduler.Job) error {
	body, err := db.Doc(j)
	if err != nil {
		return err
	}
	version, err := nextVersion(tx)
	if err != nil {
		return err
	}
	tx.Ring(db.BellJobs)
	if j.ID == 0 {
		id, err := tx.Insert("INSERT INTO triggers (kind, name, body, due, paused, broken, failures, hold, version) VALUES ('job', ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			j.Name, body, db.Micros(j.Due), db.Bit(j.Paused), j.Broken, j.Failures, db.Micros(j.Hold), version)
		if err == nil && id == 0 {
			return event.NewFault(event.Clash, "choose another name, or hob cron update "+j.Name, "there is a job named %s already", j.Name)
		}
		return err
	}
	n, err := tx.Change("UPDATE triggers SET name = ?, body = ?, due = ?, paused = ?, broken = ?, failures = ?, hold = ?, version = ? WHERE id = ? AND removed = 0",
		j.Name, body, db.Micros(j.Due), db.Bit(j.Paused), j.Broken, j.Failures, db.Micros(j.Hold), version, j.ID)
	return oneRow(n, err, "there is no job %d", "hob cron list shows them", j.ID)
}

func nextVersion(tx *Tx) (int64, error) {
	var v int64
	err := tx.One("SELECT coalesce(max(version), 0) + 1 FROM triggers", nil, &v)
	return v, err
}

func removeJob(tx *Tx, id int64) error {
	version, err := nextVersion(tx)
	if err != nil {
		return err
	}
	tx.Ring(db.BellJobs)
	n, err := tx.Change("UPDATE triggers SET removed = ?, due = 0, version = ? WHERE id = ? AND removed = 0", db.Micros(tx.Now), version, id)
	return oneRow(n, err, "there is no job %d", "hob cron list shows them", id)
}

func pauseJob(tx *Tx, c scheduler.Pause) error {
	version, err := nextVersion(tx)
	if err != nil {
		return err
	}
	tx.Ring(db.BellJobs)
	n, err := tx.Change("UPDATE triggers SET paused = ?, due = ?, failures = 0, hold = 0, version = ? WHERE id = ? AND removed = 0", db.Bit(c.Paused), db.Micros(c.Due), version, c.ID)
	return oneRow(n, err, "there is no job %d", "hob cron list shows them", c.ID)
}

// runNow queues one run by hand: a fire with the key "run:ID" and its inbox row.
func runNow(tx *Tx, c scheduler.RunNow) error {
	key := "run:" + c.In.ExtID
	slot := scheduler.Slot{Key: key, Due: tx.Now, State: scheduler.StateQueued, Reason: "run by hand"}
	id, err := addFire(tx, c.Job.ID, slot)
	if err != nil || id == 0 {
		return err
	}
	c.In.Fire = id
	_, err = acceptIn(tx, c.In)
	return err
}

// Fire commits a batch of firings: the slots' rows, the inbox rows of those that run, the question, and each job's next due instant.
// scheduler.ErrMoved, and nothing is committed, when a job was changed since it was read.
func (s Jobs) Fire(ctx context.Context, all []scheduler.Firing) error {
	return s.Write(ctx, func(tx *Tx) error {
		for _, f := range all {
			if err := commitFiring(tx, f); err != nil {
				return fmt.Errorf("job %d: %w", f.Job.ID, err)
			}
		}
		return nil
	})
}

func commitFiring(tx *Tx, f scheduler.Firing) error {
	n, err := tx.Change("UPDATE triggers SET body = json_set(body, '$.last', ?), due = ? WHERE id = ? AND due = ? AND removed = 0 AND paused = 0",
		f.Job.Last.UTC().Format(time.RFC3339Nano), db.Micros(f.Job.Due), f.Job.ID, db.Micros(f.From))
	if err != nil {
		return err
	}
	if n == 0 {
		return scheduler.ErrMoved
	}
	open, err := openFire(tx, f.Job.ID) // before this commit adds any
	if err != nil {
		return err
	}
	runs := map[int]event.In{}
	for _, q := range f.Run {
		runs[q.Slot] = q.In
	}
	for i, slot := range f.Slots {
		in, run := runs[i]
		if err := addSlot(tx, f.Job, slot, in, run, open); err != nil {
			return fmt.Errorf("slot %s: %w", slot.Key, err)
		}
	}
	if f.Ask == "" {
		return nil
	}
	_, err = askOwner(tx, &turn.Question{Subject: turn.AboutJob, Ref: f.Job.ID, Text: f.Ask, Options: []string{"run once now", "skip"}, To: event.ToOwner, Until: tx.Now.Add(7 * 24 * time.Hour)})
	return err
}

// addSlot writes one slot's row and, when it runs, its inbox row. A slot that is there already changes nothing: that is what stops doubles.
func addSlot(tx *Tx, j scheduler.Job, slot scheduler.Slot, in event.In, run bool, open int64) error {
	if run && open != 0 && j.Overlap != scheduler.Queue {
		run = false
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.Coalesced, fmt.Sprintf("waiting for #%d", open)
	}
	id, err := addFire(tx, j.ID, slot)
	if err != nil || id == 0 || !run {
		return err
	}
	in.Fire = id
	if fail.Broken("fire-in-two") {
		tx.core.apart(context.WithoutCancel(tx.Context()), in)
		return nil
	}
	return mustAccept(tx, in)
}

// mustAccept stores the inbox row of a new fire; a row of that id that is there already is somebody else's.
func mustAccept(tx *Tx, in event.In) error {
	r, err := acceptIn(tx, in)
	if err == nil && !r.New {
		return fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return err
}

// apart is a deliberate fault: a fire's inbox row is committed later than the fire.
func (s *core) apart(ctx context.Context, in event.In) {
	s.db.Once("broken fire", func() error {
		fail.Point("fire.between")
		return s.Write(ctx, func(tx *Tx) error {
			_, err := acceptIn(tx, in)
			return err
		})
	})
}

func addFire(tx *Tx, job int64, slot scheduler.Slot) (int64, error) {
	ended := int64(0)
	if slot.State == scheduler.StateDone {
		ended = db.Micros(tx.Now)
	}
	return tx.Insert(`INSERT INTO fires (trigger, key, due, created, ended, state, outcome, late_us, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trigger, key) DO NOTHING`,
		job, slot.Key, db.Micros(slot.Due), db.Micros(tx.Now), ended, slot.State, slot.Outcome, slot.Late.Microseconds(), slot.Reason)
}

// openFire is the oldest fire of a job that has not ended, 0 when there is none.
func openFire(tx *Tx, job int64) (int64, error) {
	var id int64
	err := tx.One("SELECT coalesce(min(id), 0) FROM fires WHERE trigger = ? AND state <> 'done'", []any{job}, &id)
	return id, err
}

// Disable puts a job aside whose row cannot be used, and tells the owner.
func (s Jobs) Disable(ctx context.Context, id int64, why string) error {
	return s.Write(ctx, func(tx *Tx) error {
		version, err := nextVersion(tx)
		if err != nil {
			return err
		}
		var name string
		if err := tx.One("SELECT name FROM triggers WHERE id = ?", []any{id}, &name); err != nil {
			return err
		}
		if err := tx.Run("UPDATE triggers SET broken = ?, version = ? WHERE id = ?", why, version, id); err != nil {
			return err
		}
		return addNotice(tx, fmt.Sprintf("job:%d:broken:%d", id, version), id, fmt.Sprintf("Job %s cannot be used and is switched off: %s. hob cron update %s mends it.", name, why, name))
	})
}

// After this many failures in a row the owner is asked.
const askAfter = 5

// endFire ends the fire that a turn served: a failure backs the job off, the fifth in a row asks the owner.
func endFire(tx *Tx, id int64, state turn.Status, why string, now int64) error {
	var fire, job int64
	err := tx.One("SELECT f.id, f.trigger FROM turns t JOIN fires f ON f.id = t.fire WHERE t.id = ?", []any{id}, &fire, &job)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	fail.Point("fire.ending")
	outcome := scheduler.Ran
	if state != turn.Done {
		outcome = scheduler.Failed
	}
	if err := tx.Run("UPDATE fires SET state = 'done', outcome = ?, ended = ?, reason = CASE WHEN ? <> '' THEN ? ELSE reason END WHERE id = ?", outcome, now, why, why, fire); err != nil {
		return err
	}
	if outcome == scheduler.Ran {
		return tx.Run("UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?", job)
	}
	if state == turn.Stopped {
		return nil
	}
	return backOff(tx, job, why)
}

func backOff(tx *Tx, job int64, why string) error {
	var failures int
	var name string
	if err := tx.One("SELECT failures + 1, name FROM triggers WHERE id = ?", []any{job}, &failures, &name); err != nil {
		return err
	}
	hold := tx.Now.Add(scheduler.Backoff(failures))
	if err := tx.Run("UPDATE triggers SET failures = ?, hold = ? WHERE id = ?", failures, db.Micros(hold), job); err != nil {
		return err
	}
	if failures%askAfter != 0 {
		return nil
	}
	text := fmt.Sprintf("Job %s has failed %d times in a row, the last time because %s. Shall it go on?", name, failures, why)
	_, err := askOwner(tx, &turn.Question{Subject: turn.AboutJob, Ref: job, Text: text, Options: []string{"go on", "pause"}, To: event.ToOwner, Until: tx.Now.Add(7 * 24 * time.Hour), ActionHash: "failing"})
	return err
}

var _ scheduler.Store = (*Store)(nil)

// answerJob carries out the answer to a question about a job: go on or pause after failures; run or skip what was missed.
func answerJob(tx *Tx, q turn.Question) error {
	if q.ActionHash == "failing" {
		if q.Answer != turn.AnswerNo {
			return tx.Run("UPDATE triggers SET failures = 0, hold = 0 WHERE id = ?", q.Ref)
		}
		return pauseJob(tx, scheduler.Pause{ID: q.Ref, Paused: true})
	}
	if q.Answer == turn.AnswerNo {
		return nil
	}
	rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers WHERE id = ? AND removed = 0", q.Ref)
	list, err := db.Collect(rs, err, scanJob)
	if err != nil || len(list) == 0 {
		return err
	}
	return runNow(tx, scheduler.RunNow{Job: list[0], In: scheduler.ByHand(list[0], "question-"+q.Code, tx.Now)})
}

// NextJob is the earliest due instant of all jobs, and the job's name; zero when nothing is due any more.
func (s Jobs) NextJob(ctx context.Context) (time.Time, string, error) {
	var due time.Time
	var name string
	err := s.read().QueryRowContext(ctx, "SELECT due, name FROM triggers WHERE kind = 'job' AND removed = 0 AND paused = 0 AND broken = '' AND due > 0 ORDER BY due LIMIT 1").Scan(db.Stamp(&due), &name)
	if errors.Is(err, sql.ErrNoRows) {
		return due, "", nil
	}
	return due, name, err
}
