package agent

import (
	"context"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/policy"
	"hob/tools"
)

// Why the files that a call wrote count as foreign from then on.
const (
	byTainted = "written by a turn that had read foreign text"
	byLimited = "written by a run with limits" // else a wish that it leaves behind would be carried out without them
)

// Kept are the changes of a result that hold. Those of a call that failed do not, but for marks: it may have written files before.
func KeptChanges(result tools.Result) []tools.Change {
	if !result.IsError {
		return result.Changes
	}
	var list []tools.Change
	for _, c := range result.Changes {
		if m, ok := c.(tools.Mark); ok {
			list = append(list, m)
		}
	}
	return list
}

// marks are the files that a call which began at since has written and that count as foreign from now on. taint is what it has read itself;
// limited: its run has limits.
func marks(ctx context.Context, j Judged, taint string, limited bool, since time.Time) []tools.Change {
	switch {
	case taint != "" || j.Call.Tainted:
		return marksOfPaths(j, byTainted)
	case limited:
		return append(marksOfPaths(j, byLimited), marksOfTraces(ctx, j, since)...)
	default:
		return nil
	}
}

// named are the marks of the files that a call names. What a command writes its tool finds out itself.
func marksOfPaths(j Judged, why string) []tools.Change {
	var list []tools.Change
	for _, p := range j.Intent.Paths {
		if p.Write && p.Area != tools.Scratch && !slices.Contains(j.Intent.Scopes, tools.Exec) {
			list = append(list, tools.Mark{Path: p.Path, Why: why})
		}
	}
	return list
}

// swept are the marks of what a command of a run with limits has written. Its tool looks for that after foreign text only: it is asked as
// for such a turn.
func marksOfTraces(ctx context.Context, j Judged, since time.Time) []tools.Change {
	t, ok := j.Tool.(tools.Tracer)
	if !ok || since.IsZero() {
		return nil
	}
	call := j.Call
	call.Tainted = true
	var list []tools.Change
	for _, c := range t.Traces(ctx, call, j.Intent, since) {
		if m, ok := c.(tools.Mark); ok {
			list = append(list, tools.Mark{Path: m.Path, Why: byLimited})
		}
	}
	return list
}

// traces are the marks of what a call may have written before it was cut off.
func (r toolCalls) traces(ctx context.Context, a turn.Resolve) []tools.Change {
	j := r.Dispatch.Judge(ctx, r.actor(a.Call), r.call(a.Call))
	if j.Tool == nil {
		return nil
	}
	list := marks(ctx, j, policy.Foreign(j.Intent), r.st.Turn.Limited(), a.Step.Started)
	if t, ok := j.Tool.(tools.Tracer); ok && !a.Step.Started.IsZero() {
		list = append(list, t.Traces(ctx, j.Call, j.Intent, a.Step.Started)...)
	}
	return list
}
