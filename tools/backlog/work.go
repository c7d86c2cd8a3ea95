// Package work holds the tools about hob's own work: the todo list of a conversation, plan mode, the backlog of tasks, and the ends of
// turns that run a task or a job. They plan rows for the store to write with the call's result; they never write them themselves.
package backlog

import (
	"context"

	"hob/daemon/event"
	"hob/daemon/tasks"
	"hob/tools"
)

// Group is the tools' group.
const group = "work"

// Backlog is the rows that the tools read. Faults (event.Fault) are what a person or model should read; other errors are hob's own.
type Backlog interface {
	// Backlog reads all open tasks, those named, and those that any of these wait for.
	Backlog(ctx context.Context, ids ...int64) (tasks.Backlog, error)
	// Tasks lists tasks: the open ones as they run, then those that have ended, the newest first; State "open" is the former only.
	Tasks(ctx context.Context, f event.Filter) ([]tasks.Task, error)
	// Reserve gives out the number of a new task. One that no task takes stays a gap.
	Reserve(ctx context.Context) (int64, error)
	// Serves reports whether a turn runs a task or the fire of a trigger.
	Serves(ctx context.Context, turn int64) (bool, error)
}

// refusal turns a fault of the rules into what the model reads.
func refusal(err error) error {
	f, ok := event.AsFault(err)
	if !ok {
		return err
	}
	code := tools.Conflict
	switch f.Kind {
	case event.Missing:
		code = tools.NotFound
	case event.Invalid, event.TooLarge:
		code = tools.Validation
	case event.Clash, event.Refused, event.Pending, event.Unavailable:
	}
	return tools.Refuse(code, f.Hint, "%s", f.Text)
}

// canonical is all that matters of a call.
func canonical(name string, in any) ([]byte, error) {
	return tools.Canonical(struct {
		Tool string `json:"tool"`
		In   any    `json:"in"`
	}{name, in})
}
