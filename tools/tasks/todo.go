package tasks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hob/daemon/event"
	"hob/tools"
)

// Progress is the state of a todo entry.
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

// Doing returns the text to show while the entry is in progress.
func (t Todo) Doing() string {
	return cmp.Or(t.ActiveForm, t.Content)
}

// MostTodos is the largest number of entries of a todo list.
const MostTodos = 100

// CheckTodos rejects an invalid list: two entries in progress, an empty entry, or too many entries.
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
	}
	return nil
}

// Tally is the summary of a todo list.
type Tally struct {
	Session string `json:"session"` // session key
	Doing   string `json:"doing,omitempty"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Plan    bool   `json:"plan,omitempty"` // the session is in plan mode
}

// Count summarises a list. The caller fills in Session and Plan.
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

// TodoList is the input and the output of todo.
type TodoList struct {
	Todos []Todo `json:"todos" jsonschema:"the whole list" max:"100"`
}

// NewTodo builds the tool todo, which keeps the list of steps of a conversation.
func NewTodo() tools.Tool {
	return tools.New[TodoList, TodoList](tools.Spec{
		Name: "todo", Group: group, Core: true, Positional: "todos", Example: `'[{"content": "test it", "status": "in_progress"}]'`,
		Description: "Keep the todo list of this conversation; one entry in progress.",
	}, todoIntent, todoRun)
}

// todoIntent checks the list. It has no effects outside the conversation.
func todoIntent(_ context.Context, _ tools.Call, in TodoList) (tools.Intent, error) {
	if err := CheckTodos(in.Todos); err != nil {
		return tools.Intent{}, refusal(err)
	}
	raw, err := canonical("todo", in)
	sum := Count(in.Todos)
	return tools.Intent{Effect: tools.Keyed, Summary: fmt.Sprintf("todo: %d of %d done", sum.Done, sum.Total), Canonical: raw}, err
}

// todoRun replaces the list of the conversation.
func todoRun(_ context.Context, call tools.Call, in TodoList, _ tools.Intent) (tools.Result, error) {
	return tools.Result{
		Content: drawn(in.Todos), Data: in,
		Changes: []tools.Change{Todos{Session: call.Session, Key: call.Key, List: in.Todos}},
	}, nil
}

// drawn formats a list for people.
func drawn(list []Todo) string {
	if len(list) == 0 {
		return "the list is empty"
	}
	sum := Count(list)
	lines := []string{fmt.Sprintf("%d of %d done", sum.Done, sum.Total)}
	if sum.Doing != "" {
		lines[0] += "; now: " + sum.Doing
	}
	for _, t := range list {
		mark := map[Progress]string{Pending: "[ ]", InProgress: "[>]", Completed: "[x]"}[t.Status]
		lines = append(lines, mark+" "+t.Content)
	}
	return strings.Join(lines, "\n")
}
