// Package tasks holds work that takes several steps: the todo list of a conversation (todo), plan mode (plan), tasks for later
// (task_add, task_list, task_update), and the ends of turns that run a task or a job (complete_task, fail_task). It has their rows,
// pure rules over the rows, and the tools. It never touches the database, a clock or a model.
//
// The flow: a tool returns a Change. The store loads the Backlog and calls a rule (Add, Revise, End), which returns a Step. The store
// commits the Step, including the inbox rows that run tasks.
package tasks

import (
	"time"

	"hob/daemon/event"
)

// Source is the source of inbox rows that run tasks. Their ext_id is "TASK/ATTEMPT".
const Source = "task"

// Change is a change that the store applies in the commit of a tool call's result.
type Change interface{ change() }

// The changes.
type (
	// Todos replaces the todo list of a session.
	Todos struct {
		Session int64  // 0: the current session of Key
		Key     string // of the session
		List    []Todo
	}
	// Planning switches plan mode on for a session.
	Planning struct {
		Session int64  // 0: the current session of Key
		Key     string // of the session
	}
	// Add adds a new task to the backlog. Its number was reserved before.
	Add struct{ Task Task }
	// Revision changes a task. Nil fields change nothing.
	Revision struct {
		ID        int64
		Title     *string
		Prompt    *string
		Plain     *bool
		BlockedBy *[]int64
		NotBefore *time.Time
		Priority  *int
		State     State       // Cancelled cancels it, Blocked runs an ended one again, "" keeps the state
		Trust     event.Trust // of the requester
		Tainted   bool        // the requester has read foreign text
		Typed     bool        // the owner typed it
	}
)

func (Todos) change()    {}
func (Planning) change() {}
func (Add) change()      {}
func (Revision) change() {}
