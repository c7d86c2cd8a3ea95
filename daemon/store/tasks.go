package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/tools/tasks"
)

// taskColumns are the columns of a task. A task whose newest inbox row is held is held. While a turn runs that row, the turn gives the task's state.
const taskColumns = `k.id, k.title, k.prompt, coalesce(CASE WHEN t.state = 'waiting' THEN 'parked' WHEN t.ended = 0 THEN 'running' WHEN i.state = 'held' THEN 'held' END, k.state) AS state, k.blocked_by, k.not_before, k.priority, k.attempt,
	k.trust, k.tainted, k.typed, k.plain, k.reply_to, k.result, coalesce(t.id, k.turn, 0) AS turn, k.created, k.ended`

// taskTables joins a task with its turn: the input of the current attempt has opened it.
const taskTables = ` FROM tasks k LEFT JOIN inbox i ON k.state = 'queued' AND i.source = 'task' AND i.ext_id = k.id || '/' || k.attempt LEFT JOIN turns t ON t.id = i.turn AND t.ended = 0 `

// scanTask reads a row of taskColumns.
func scanTask(rs *sql.Rows) (t tasks.Task, err error) {
	return t, rs.Scan(&t.ID, &t.Title, &t.Prompt, &t.State, sqlite.JSON(&t.BlockedBy), sqlite.Stamp(&t.NotBefore), &t.Priority, &t.Attempt,
		&t.Trust, &t.Tainted, &t.Typed, &t.Plain, &t.ReplyTo, &t.Result, &t.Turn, sqlite.Stamp(&t.Created), sqlite.Stamp(&t.Ended))
}

// relatedTasks selects the tasks that a rule needs: all open ones, the given ones, and those that these wait for. Its parameter is a JSON
// list of ids.
const relatedTasks = `WITH some AS (SELECT id, blocked_by FROM tasks WHERE state NOT IN ('done', 'cancelled') OR id IN (SELECT value FROM json_each(?1)))
	SELECT ` + taskColumns + taskTables + `WHERE k.id IN (SELECT id FROM some UNION SELECT b.value FROM some, json_each(some.blocked_by) b)`

// collectBacklog reads tasks into the form that the rules of the backlog take.
func collectBacklog(rs *sql.Rows, err error) (tasks.Backlog, error) {
	list, err := sqlite.Collect(rs, err, scanTask)
	b := tasks.Backlog{}
	for _, t := range list {
		b[t.ID] = t
	}
	return b, err
}

// readBacklog reads the tasks with the ids and all tasks that they depend on, for the rules of the backlog.
func readBacklog(tx *Tx, ids ...int64) (tasks.Backlog, error) {
	doc, err := sqlite.Doc(ids)
	if err != nil {
		return nil, err
	}
	b, err := collectBacklog(tx.Query(relatedTasks, doc))
	if err != nil {
		return nil, fmt.Errorf("read the backlog: %w", err)
	}
	return b, nil
}

// addTask adds a task. The backlog's rules decide what changes.
func addTask(tx *Tx, t tasks.Task) error {
	b, err := readBacklog(tx, t.BlockedBy...)
	if err != nil {
		return err
	}
	t.Created = tx.Now
	step, err := b.Add(t)
	if err != nil {
		return err
	}
	return runTaskStep(tx, step)
}

// reviseTask changes a task. It also reads the new blockers, which may form a cycle with it.
func reviseTask(tx *Tx, r tasks.Revision) error {
	ids := []int64{r.ID}
	if r.BlockedBy != nil {
		ids = append(ids, *r.BlockedBy...)
	}
	b, err := readBacklog(tx, ids...)
	if err != nil {
		return err
	}
	step, err := b.Revise(r, tx.Now)
	if err != nil {
		return err
	}
	return runTaskStep(tx, step)
}

// endTask ends the task that a turn ran, if any. The turn's text is the result; after a failure it is why.
//
// The input of the task names its attempt, so that a turn of an earlier attempt cannot end a later one.
func endTask(tx *Tx, id int64, f turn.Finish) error {
	state, why := taskOutcome(f)
	o := tasks.Outcome{State: state, Turn: id, At: tx.Now}
	err := tx.One(`SELECT i.ext_id, t.text, t.tainted = 1 OR s.watermark <> 'owner' FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox i ON i.turn = t.id AND i.source = 'task'
		WHERE t.id = ?`, []any{id}, &o.ExtID, &o.Text, &o.Tainted)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	// After a failure the turn has no result, only a reason.
	if state != tasks.Done {
		o.Text = why
	}
	number, _, _ := strings.Cut(o.ExtID, "/")
	task, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("task of turn %d: %w", id, err)
	}
	b, err := readBacklog(tx, task)
	if err != nil {
		return err
	}
	return runTaskStep(tx, b.End(task, o))
}

// taskOutcome returns the task's state after its turn, and why it is not done. A task fails as a fire does. Stopping the turn cancels the task.
func taskOutcome(f turn.Finish) (tasks.State, string) {
	outcome, why, _ := FireOutcome(f)
	switch {
	case outcome == scheduler.OutcomeRan:
		return tasks.Done, why
	case f.State == turn.Stopped:
		return tasks.Cancelled, why
	}
	return tasks.Failed, why
}

// runTaskStep writes a step of the backlog. The step itself was computed by pure functions of package tasks.
func runTaskStep(tx *Tx, s tasks.Step) error {
	for _, t := range s.Tasks { // before their inbox rows: a withdrawn row must not belong to the newest attempt
		if err := writeTask(tx, t); err != nil {
			return fmt.Errorf("write task %d: %w", t.ID, err)
		}
	}
	for _, ext := range s.Withdrawn {
		if err := tx.Run("UPDATE inbox SET state = 'dropped', reason = 'the task was changed' WHERE source = 'task' AND ext_id = ? AND state IN ('queued', 'held')", ext); err != nil {
			return fmt.Errorf("withdraw %s: %w", ext, err)
		}
	}
	for _, in := range s.Inputs {
		if err := mustAccept(tx, in); err != nil {
			return err
		}
		if err := taskBroken(tx, in); err != nil {
			return err
		}
	}
	// Ended is the task that this step has ended; nil: none.
	t := s.Ended
	if t == nil {
		return nil
	}
	if err := addEvent(tx, event.Event{Type: "task.finished", Session: t.Key(), Turn: t.Turn, Data: map[string]any{"task": t.ID, "state": t.State, "result": t.Result}}); err != nil || s.Notice == "" {
		return err
	}
	return queueOut(tx, event.Out{Key: "notice:task:" + t.ExtID(), Cause: event.Cause{Kind: event.ByNotice, ID: t.ID}, To: event.ToOwner, Body: s.Notice, Urgency: event.Urgent})
}

// writeTask stores a task in its present state.
func writeTask(tx *Tx, t tasks.Task) error {
	if t.BlockedBy == nil {
		t.BlockedBy = []int64{}
	}
	blockers, err := sqlite.Doc(t.BlockedBy)
	if err != nil {
		return err
	}
	return tx.Run(`INSERT INTO tasks (id, title, prompt, state, blocked_by, not_before, priority, attempt, trust, tainted, typed, plain, reply_to, result, turn, created, ended)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET title = excluded.title, prompt = excluded.prompt, state = excluded.state, blocked_by = excluded.blocked_by, not_before = excluded.not_before,
		priority = excluded.priority, attempt = excluded.attempt, trust = excluded.trust, tainted = excluded.tainted, typed = excluded.typed, plain = excluded.plain, result = excluded.result, turn = excluded.turn, ended = excluded.ended`,
		t.ID, t.Title, t.Prompt, t.State, blockers, sqlite.Micros(t.NotBefore), t.Priority, t.Attempt, t.Trust, sqlite.Bit(t.Tainted), sqlite.Bit(t.Typed), sqlite.Bit(t.Plain), t.ReplyTo, t.Result, sqlite.Ref(t.Turn), sqlite.Micros(t.Created), sqlite.Micros(t.Ended))
}
