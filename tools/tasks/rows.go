package tasks

import (
	"context"

	"hob/daemon/event"
	"hob/tools"
)

// group is the group of these tools.
const group = "work"

// Rows reads the rows that the tools need. An event.Fault is meant for a person or model; all
// other errors are internal.
type Rows interface {
	// Backlog returns all open tasks, the tasks with the given ids, and all tasks that any of these
	// wait for.
	Backlog(ctx context.Context, ids ...int64) (Backlog, error)
	// Tasks lists tasks: first the open ones in the order in which they run, then the ended ones,
	// newest first. State "open" lists only the former.
	Tasks(ctx context.Context, f event.Filter) ([]Task, error)
	// Reserve returns the number of a new task. An unused number leaves a gap.
	Reserve(ctx context.Context) (int64, error)
	// Serves reports whether a turn runs a task or the fire of a trigger.
	Serves(ctx context.Context, turn int64) (bool, error)
}

// refusal converts a fault of the rules into a refusal for the model.
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

// canonical returns the bytes that identify a call.
func canonical(name string, in any) ([]byte, error) {
	return tools.Canonical(struct {
		Tool string `json:"tool"`
		In   any    `json:"in"`
	}{name, in})
}
