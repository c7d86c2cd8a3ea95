package work

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/store/db"
	"hob/daemon/tasks"
	"hob/tools"
)

// columns of a task; its state and turn are those of the turn that has its newest inbox row in hand, while there is one.
const columns = `k.id, k.title, k.prompt, coalesce(CASE WHEN t.state = 'waiting' THEN 'parked' WHEN t.ended = 0 THEN 'running' END, k.state) AS state, k.blocked_by, k.not_before, k.priority, k.attempt,
	k.trust, k.tainted, k.typed, k.reply_to, k.result, coalesce(t.id, k.turn, 0) AS turn, k.created, k.ended`

const from = ` FROM tasks k LEFT JOIN inbox i ON k.state = 'queued' AND i.source = 'task' AND i.ext_id = k.id || '/' || k.attempt LEFT JOIN turns t ON t.id = i.turn AND t.ended = 0 `

func scan(rs *sql.Rows) (tasks.Task, error) {
	var t tasks.Task
	err := rs.Scan(&t.ID, &t.Title, &t.Prompt, &t.State, db.JSON(&t.BlockedBy), db.Stamp(&t.NotBefore), &t.Priority, &t.Attempt,
		&t.Trust, &t.Tainted, &t.Typed, &t.ReplyTo, &t.Result, &t.Turn, db.Stamp(&t.Created), db.Stamp(&t.Ended))
	return t, err
}

// related are the tasks that a rule over some of them needs: all that have not come to an end that lasts, those named, and those that
// any of these wait for. Its one parameter is a JSON list of numbers.
const related = `WITH some AS (SELECT id, blocked_by FROM tasks WHERE state NOT IN ('done', 'cancelled') OR id IN (SELECT value FROM json_each(?1)))
	SELECT ` + columns + from + `WHERE k.id IN (SELECT id FROM some UNION SELECT b.value FROM some, json_each(some.blocked_by) b)`

func gather(rs *sql.Rows, err error) (tasks.Backlog, error) {
	list, err := db.Collect(rs, err, scan)
	b := tasks.Backlog{}
	for _, t := range list {
		b[t.ID] = t
	}
	return b, err
}

func backlog(tx *db.Tx, ids ...int64) (tasks.Backlog, error) {
	doc, err := db.Doc(ids)
	if err != nil {
		return nil, err
	}
	b, err := gather(tx.Query(related, doc))
	if err != nil {
		return nil, fmt.Errorf("read the backlog: %w", err)
	}
	return b, nil
}

func add(tx *db.Tx, t tasks.Task, then func(tools.Change) error) error {
	b, err := backlog(tx, t.BlockedBy...)
	if err != nil {
		return err
	}
	t.Created = tx.Now
	step, err := b.Add(t)
	if err != nil {
		return err
	}
	return carryOut(tx, step, then)
}

func revise(tx *db.Tx, r tasks.Revision, then func(tools.Change) error) error {
	ids := []int64{r.ID}
	if r.BlockedBy != nil {
		ids = append(ids, *r.BlockedBy...)
	}
	b, err := backlog(tx, ids...)
	if err != nil {
		return err
	}
	step, err := b.Revise(r, tx.Now)
	if err != nil {
		return err
	}
	return carryOut(tx, step, then)
}

// End ends the task that a turn ran, if it ran one: what the turn has said is its summary, why tells what went wrong.
func End(tx *db.Tx, id int64, state turn.Status, why string, then func(tools.Change) error) error {
	o := tasks.Outcome{State: outcome(state), Turn: id, At: tx.Now}
	err := tx.One(`SELECT i.ext_id, t.text, t.tainted = 1 OR s.watermark <> 'owner' FROM turns t JOIN sessions s ON s.id = t.session JOIN inbox i ON i.turn = t.id AND i.source = 'task'
		WHERE t.id = ?`, []any{id}, &o.ExtID, &o.Text, &o.Tainted)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.State != tasks.Done {
		o.Text = why
	}
	number, _, _ := strings.Cut(o.ExtID, "/")
	task, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("task of turn %d: %w", id, err)
	}
	b, err := backlog(tx, task)
	if err != nil {
		return err
	}
	return carryOut(tx, b.End(task, o), then)
}

// outcome is what a turn's end makes of its task. What the owner has stopped nobody wants any more.
func outcome(state turn.Status) tasks.State {
	switch state {
	case turn.Done:
		return tasks.Done
	case turn.Stopped:
		return tasks.Cancelled
	default:
		return tasks.Failed
	}
}

// carryOut writes down a step of the backlog.
func carryOut(tx *db.Tx, s tasks.Step, then func(tools.Change) error) error {
	for _, t := range s.Tasks { // before their inbox rows change: a row that is withdrawn is not the newest attempt's any more
		if err := write(tx, t); err != nil {
			return fmt.Errorf("write task %d: %w", t.ID, err)
		}
	}
	for _, ext := range s.Withdrawn {
		if err := tx.Run("UPDATE inbox SET state = 'dropped', reason = 'the task was changed' WHERE source = 'task' AND ext_id = ? AND state = 'queued'", ext); err != nil {
			return fmt.Errorf("withdraw %s: %w", ext, err)
		}
	}
	var follow []tools.Change
	for _, in := range s.Inputs {
		follow = append(follow, in)
		if fail.Broken("task-twice") {
			in.ExtID += "/2"
			follow = append(follow, in)
		}
	}
	if t := s.Ended; t != nil {
		follow = append(follow, event.Event{Type: "task.finished", Session: t.Key(), Turn: t.Turn, Data: map[string]any{"task": t.ID, "state": t.State, "result": t.Result}})
		if s.Notice != "" {
			follow = append(follow, event.Out{Key: "notice:task:" + t.ExtID(), Cause: event.Cause{Kind: event.ByNotice, ID: t.ID}, To: event.ToOwner, Body: s.Notice, Urgency: event.Urgent})
		}
	}
	for _, c := range follow {
		if err := then(c); err != nil {
			return err
		}
	}
	return nil
}

// write stores a task as it is now.
func write(tx *db.Tx, t tasks.Task) error {
	if t.BlockedBy == nil {
		t.BlockedBy = []int64{}
	}
	blockers, err := db.Doc(t.BlockedBy)
	if err != nil {
		return err
	}
	return tx.Run(`INSERT INTO tasks (id, title, prompt, state, blocked_by, not_before, priority, attempt, trust, tainted, typed, reply_to, result, turn, created, ended)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET title = excluded.title, prompt = excluded.prompt, state = excluded.state, blocked_by = excluded.blocked_by, not_before = excluded.not_before,
		priority = excluded.priority, attempt = excluded.attempt, trust = excluded.trust, tainted = excluded.tainted, typed = excluded.typed, result = excluded.result, turn = excluded.turn, ended = excluded.ended`,
		t.ID, t.Title, t.Prompt, t.State, blockers, db.Micros(t.NotBefore), t.Priority, t.Attempt, t.Trust, db.Bit(t.Tainted), db.Bit(t.Typed), t.ReplyTo, t.Result, db.Ref(t.Turn), db.Micros(t.Created), db.Micros(t.Ended))
}
