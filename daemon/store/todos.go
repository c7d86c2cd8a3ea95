package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/tools/tasks"
)

// firstTask is a query over one row (seq, source). If the row belongs to a task, it returns the row of the most important task that can run
// now, otherwise seq. Tasks share one place in the inbox, that of the oldest; their priority decides which one takes it. Its parameters ?1
// and ?2 are the instant and the highest rank.
const firstTask = `SELECT iif(source <> 'task', seq, (SELECT i.seq FROM inbox i JOIN tasks k ON k.id = CAST(i.ext_id AS INTEGER)
	WHERE i.state = 'queued' AND i.source = 'task' AND i.not_before <= ?1 AND i.rank <= ?2 ORDER BY k.priority DESC, i.seq LIMIT 1)) FROM `

// planTool is the tool whose questions end plan mode.
const planTool = tasks.PlanTool

// planApproval returns the answer that approves the question of a tool; false if an approval is not an answer to it.
func planApproval(tool string) (answer string, ok bool) { return tasks.Approve, tool == planTool }

// applyTask writes a change of tasks, todos or plan mode, and what follows from it.
func applyTask(tx *Tx, turn int64, c tasks.Change) error {
	switch c := c.(type) {
	case tasks.Todos:
		return putTodos(tx, c)
	case tasks.Planning:
		return beginPlan(tx, c)
	case tasks.Add:
		if err := addTask(tx, c.Task); err != nil {
			return err
		}
		return noteSession(tx, "tasks", c.Task.ID, turn)
	case tasks.Revision:
		return reviseTask(tx, c)
	default:
		return fmt.Errorf("unknown change %T of the work", c)
	}
}

// sessionOf returns the session of a change: its number, or the live session of its key.
func sessionOf(tx *Tx, id int64, key string) (int64, error) {
	if id != 0 {
		return id, nil
	}
	key = cmp.Or(key, "main")
	err := tx.One("SELECT id FROM sessions WHERE key = ? AND archived = 0", []any{key}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, event.NewFault(event.Missing, "write to it first: hob chat", "there is no conversation %s yet", key)
	}
	return id, err
}

// putTodos replaces the to-do list of a session.
func putTodos(tx *Tx, c tasks.Todos) error {
	if err := tasks.CheckTodos(c.List); err != nil {
		return err
	}
	id, err := sessionOf(tx, c.Session, c.Key)
	if err != nil {
		return err
	}
	// The tool always sends the whole list.
	if err := tx.Run("DELETE FROM todos WHERE session = ?", id); err != nil {
		return err
	}
	for i, t := range c.List {
		if err := tx.Run("INSERT INTO todos (session, n, content, status, active_form) VALUES (?, ?, ?, ?, ?)", id, i+1, t.Content, t.Status, t.ActiveForm); err != nil {
			return fmt.Errorf("write todo %d: %w", i+1, err)
		}
	}
	return nil
}

// beginPlan puts a session into plan mode. A session that is in it stays so.
func beginPlan(tx *Tx, c tasks.Planning) error {
	id, err := sessionOf(tx, c.Session, c.Key)
	if err != nil {
		return err
	}
	return tx.Run("INSERT INTO plans (session, since) VALUES (?, ?) ON CONFLICT (session) DO NOTHING", id, sqlite.Micros(tx.Now))
}

// planAnswered ends the plan mode of a turn's session if the owner has approved the plan.
func planAnswered(tx *Tx, turn int64, text string) error {
	if !tasks.Approved(text) {
		return nil
	}
	return tx.Run("DELETE FROM plans WHERE session = (SELECT session FROM turns WHERE id = ?)", turn)
}
