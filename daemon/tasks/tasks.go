// Package tasks holds the todo list of a conversation, plan mode and the backlog of tasks.
// It holds rows and the pure rules over them; it never touches the database, a clock or a model.
package tasks

import (
	"time"

	"hob/daemon/event"
)

// Source is the source of the inbox rows that run tasks; their ext_id is "TASK/ATTEMPT".
const Source = "task"

// Change is a row of this package that the store applies in the commit of a call's result.
type Change interface{ change() }

// The changes.
type (
	// Todos replaces the todo list of a session.
	Todos struct {
		Session int64  // 0: the live session of Key
		Key     string // of the session
		List    []Todo
	}
	// Planning lets a session enter plan mode.
	Planning struct {
		Session int64  // 0: the live session of Key
		Key     string // of the session
	}
	// Add puts a new task into the backlog, under the number that was reserved for it.
	Add struct{ Task Task }
	// Revision changes a task. Nil fields change nothing.
	Revision struct {
		ID        int64
		Title     *string
		Prompt    *string
		BlockedBy *[]int64
		NotBefore *time.Time
		Priority  *int
		State     State       // Cancelled ends it, Blocked runs an ended one again, "" leaves it
		Trust     event.Trust // of who asks for the change
		Tainted   bool        // he has read foreign text
		Typed     bool        // the owner typed it
	}
)

func (Todos) change()    {}
func (Planning) change() {}
func (Add) change()      {}
func (Revision) change() {}
