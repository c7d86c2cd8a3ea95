package backlog

import (
	"context"
	"fmt"
	"strings"

	"hob/daemon/tasks"
	"hob/tools"
)

// Todos is the input and the output of todo.
type Todos struct {
	Todos []tasks.Todo `json:"todos" jsonschema:"the whole list" max:"100"`
}

// NewTodo builds the tool todo, which keeps the list of steps of a conversation.
func NewTodo() tools.Tool {
	return tools.New[Todos, Todos](tools.Spec{
		Name: "todo", Group: group, Core: true, Positional: "todos", Example: `'[{"content": "test it", "status": "in_progress"}]'`,
		Description: "Keep the todo list of this conversation; one entry in progress.",
	}, todoIntent, todoRun)
}

// todoIntent checks the list. It has no effects outside the conversation.
func todoIntent(_ context.Context, _ tools.Call, in Todos) (tools.Intent, error) {
	if err := tasks.CheckTodos(in.Todos); err != nil {
		return tools.Intent{}, refusal(err)
	}
	raw, err := canonical("todo", in)
	sum := tasks.Count(in.Todos)
	return tools.Intent{Effect: tools.Keyed, Summary: fmt.Sprintf("todo: %d of %d done", sum.Done, sum.Total), Canonical: raw}, err
}

// todoRun replaces the list of the conversation.
func todoRun(_ context.Context, call tools.Call, in Todos, _ tools.Intent) (tools.Result, error) {
	return tools.Result{
		Content: drawn(in.Todos), Data: in,
		Changes: []tools.Change{tasks.Todos{Session: call.Session, Key: call.Key, List: in.Todos}},
	}, nil
}

// drawn formats a list for people.
func drawn(list []tasks.Todo) string {
	if len(list) == 0 {
		return "the list is empty"
	}
	sum := tasks.Count(list)
	lines := []string{fmt.Sprintf("%d of %d done", sum.Done, sum.Total)}
	if sum.Doing != "" {
		lines[0] += "; now: " + sum.Doing
	}
	for _, t := range list {
		mark := map[tasks.Progress]string{tasks.Pending: "[ ]", tasks.InProgress: "[>]", tasks.Completed: "[x]"}[t.Status]
		lines = append(lines, mark+" "+t.Content)
	}
	return strings.Join(lines, "\n")
}
