package runtime

import (
	"context"
	"encoding/json"
	"time"

	"hob/tools"
)

// tick is more than the difference between FileClock and the clock that times the calls.
const tick = 20 * time.Millisecond

// traced adds to a tool the search for files that an interrupted run has written. It is a
// tools.Tracer.
type traced struct {
	tools.Tool
	find func(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark
}

// Traces lists the marks of the files written since the run started.
func (t traced) Traces(_ context.Context, call tools.Call, intent tools.Intent, since time.Time) []tools.Change {
	return changes(t.find(call, intent, since.Add(-tick)))
}

// traces returns the marks of an interrupted command. Nobody knows whether that command was
// confined, so everything that a tainted turn ran counts.
func (e executor) traces(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark {
	at, ok := intent.Keep.(*site)
	switch {
	case ok && at.host != "":
		return nil
	case call.Tainted:
		return marks(e.Guard, since, byTainted)
	case ok && at.why != "":
		return marks(e.Guard, since, at.why)
	case ok:
		return e.wroteNames(at, func() []string { return ChangedFiles(e.Guard, since) })
	}
	return nil
}

// traces returns the marks of the files that a process may have written from the input of a tainted
// turn. The process has ended with hob.
func (h handler) traces(call tools.Call, _ tools.Intent, since time.Time) []tools.Mark {
	var in ProcessInput
	if err := json.Unmarshal(call.Args, &in); err != nil || in.Action != "input" || !call.Tainted {
		return nil
	}
	return marks(h.executor.ExecDeps.Guard, since, byInput)
}
