package runtime

import (
	"context"
	"encoding/json"
	"time"

	"hob/tools"
)

// tick is more than what the clock of files is behind the one that calls are timed by.
const tick = 20 * time.Millisecond

// traced is a tool that finds what a run of it has written that was cut off: it is a tools.Tracer.
type traced struct {
	tools.Tool
	find func(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark
}

// Traces lists the marks of what was written since the run began.
func (t traced) Traces(_ context.Context, call tools.Call, intent tools.Intent, since time.Time) []tools.Change {
	return changes(t.find(call, intent, since.Add(-tick)))
}

// traces are the marks of a command that was cut off. Whether it was confined then is not known: what a tainted turn ran counts.
func (e executor) traces(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark {
	at, ok := intent.Keep.(*site)
	switch {
	case ok && at.host != "":
		return nil
	case call.Tainted:
		return marks(e.Guard, since, byTainted)
	case ok && at.why != "":
		return marks(e.Guard, since, at.why)
	default:
		return nil
	}
}

// traces are the marks of what a process may have made of the input of a tainted turn: it has ended with hob.
func (h handler) traces(call tools.Call, _ tools.Intent, since time.Time) []tools.Mark {
	var in Handling
	if err := json.Unmarshal(call.Args, &in); err != nil || in.Action != "input" || !call.Tainted {
		return nil
	}
	return marks(h.Guard, since, byInput)
}
