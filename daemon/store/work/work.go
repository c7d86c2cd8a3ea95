// Package work is the tables of hob's own work: todo lists, plan mode, and the backlog of tasks. It writes down what the rules of
// daemon/work come to; what that leads to in other tables (inbox rows, notices, events) it hands back to the caller's transaction.
package work

import (
	"database/sql"
	"errors"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/store/db"
	"hob/daemon/tasks"
	"hob/tools"
)

// First is a query for the seq of the inbox row of the most important task that can run now, if the row of seq and source before it is
// a task's; else for that seq. The tasks' place in the inbox is that of the oldest of them; which of them takes it, their priority says.
// Its parameters ?1 and ?2 are the instant and the highest rank.
const First = `SELECT iif(source <> 'task', seq, (SELECT i.seq FROM inbox i JOIN tasks k ON k.id = CAST(i.ext_id AS INTEGER)
	WHERE i.state = 'queued' AND i.source = 'task' AND i.not_before <= ?1 AND i.rank <= ?2 ORDER BY k.priority DESC, i.seq LIMIT 1)) FROM `

// Change is what Apply takes.
type Change = tasks.Change

// Plan is the tool whose questions Answer follows.
const Plan = tasks.PlanTool

// Yes is the answer by which the owner approves what a tool asks him; false: an approval is no answer to it.
func Yes(tool string) (answer string, ok bool) { return tasks.Approve, tool == Plan }

// Apply writes a change. What follows from it for other tables goes to then: event.In, event.Event, event.Out.
func Apply(tx *db.Tx, c tasks.Change, then func(tools.Change) error) error {
	switch c := c.(type) {
	case tasks.Todos:
		return putTodos(tx, c)
	case tasks.Planning:
		return plan(tx, c)
	case tasks.Add:
		return add(tx, c.Task, then)
	case tasks.Revision:
		return revise(tx, c, then)
	default:
		return fmt.Errorf("unknown change %T of the work", c)
	}
}

// sessionOf is the session that a change is about: its number, or the live one of its key.
func sessionOf(tx *db.Tx, id int64, key string) (int64, error) {
	if id != 0 {
		return id, nil
	}
	if key == "" {
		key = "main"
	}
	err := tx.One("SELECT id FROM sessions WHERE key = ? AND archived = 0", []any{key}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, event.NewFault(event.Missing, "write to it first: hob chat", "there is no conversation %s yet", key)
	}
	return id, err
}

func putTodos(tx *db.Tx, c tasks.Todos) error {
	if err := tasks.CheckTodos(c.List); err != nil {
		return err
	}
	id, err := sessionOf(tx, c.Session, c.Key)
	if err != nil {
		return err
	}
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

func plan(tx *db.Tx, c tasks.Planning) error {
	id, err := sessionOf(tx, c.Session, c.Key)
	if err != nil {
		return err
	}
	return tx.Run("INSERT INTO plans (session, since) VALUES (?, ?) ON CONFLICT (session) DO NOTHING", id, db.Micros(tx.Now))
}

// Answer ends the plan mode of a turn's session if the owner's answer to its plan is a yes.
func Answer(tx *db.Tx, turn int64, text string) error {
	if !tasks.Approved(text) {
		return nil
	}
	return tx.Run("DELETE FROM plans WHERE session = (SELECT session FROM turns WHERE id = ?)", turn)
}
