package tasks

import (
	"strings"

	"hob/daemon/event"
)

// Progress is how far an entry of a todo list has come.
type Progress string

// The states of todo entries.
const (
	Pending    Progress = "pending"
	InProgress Progress = "in_progress"
	Completed  Progress = "completed"
)

// Todo is one entry of a conversation's todo list.
type Todo struct {
	Content    string   `json:"content" jsonschema:"what is to be done" min:"1"`
	Status     Progress `json:"status" jsonschema:"how far it is" enum:"pending,in_progress,completed"`
	ActiveForm string   `json:"activeForm,omitempty" jsonschema:"the same while it is done: Testing the fix"`
}

// Doing is what is said of the entry while it is in progress.
func (t Todo) Doing() string {
	if t.ActiveForm != "" {
		return t.ActiveForm
	}
	return t.Content
}

// MostTodos is the longest todo list.
const MostTodos = 100

// CheckTodos refuses a list that cannot be: two entries in progress, an entry without words, too many.
func CheckTodos(list []Todo) error {
	doing := 0
	for i, t := range list {
		if strings.TrimSpace(t.Content) == "" {
			return event.NewFault(event.Invalid, "", "todos[%d].content: it is empty", i)
		}
		if t.Status == InProgress {
			doing++
		}
	}
	switch {
	case doing > 1:
		return event.NewFault(event.Invalid, "set all but one of them to pending or completed", "todos: %d are in_progress, at most one may be", doing)
	case len(list) > MostTodos:
		return event.NewFault(event.Invalid, "keep a backlog with task_add", "todos: %d entries, at most %d", len(list), MostTodos)
	default:
		return nil
	}
}

// Tally counts a todo list.
type Tally struct {
	Session string `json:"session"` // its key
	Doing   string `json:"doing,omitempty"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Plan    bool   `json:"plan,omitempty"` // the session plans
}

// Count sums a list up; the session's key and whether it plans are the caller's to fill in.
func Count(list []Todo) Tally {
	sum := Tally{Total: len(list)}
	for _, t := range list {
		switch t.Status {
		case Completed:
			sum.Done++
		case InProgress:
			sum.Doing = t.Doing()
		case Pending:
		}
	}
	return sum
}
