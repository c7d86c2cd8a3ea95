package agent

import (
	"context"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/policy"
	"hob/tools"
)

// Reasons for marking the files that a call wrote as foreign text.
const (
	byTainted = "written by a turn that had read foreign text"
	byLimited = "written by a run with limits" // an instruction in such a file would otherwise be carried out without the limits
)

// KeptChanges returns the changes of a result that must be committed. A failed call keeps only its marks: it may have written
// files before it failed.
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

// TaintedMarks returns the marks for files that a call outside a turn has written, if the program that chose the call had read foreign text.
func TaintedMarks(j Judged) []tools.Change {
	if !j.Call.Tainted || j.Fault != nil {
		return nil
	}
	return marksOfPaths(j, byTainted)
}

// marks returns the marks for files that a call has written and that count as foreign text from now on. taint is the source of
// foreign text that the call itself read. limited is true for a run with limits. since is when the call started.
func marks(ctx context.Context, j Judged, taint string, limited bool, since time.Time) []tools.Change {
	switch {
	case taint != "" || j.Call.Tainted:
		return marksOfPaths(j, byTainted)
	case limited:
		return append(marksOfPaths(j, byLimited), marksOfTraces(ctx, j, since)...)
	}
	return nil
}

// marksOfPaths marks the files that a call names. For a shell command it returns nothing: that tool finds the written files itself.
func marksOfPaths(j Judged, why string) []tools.Change {
	var list []tools.Change
	for _, p := range j.Intent.Paths {
		if p.Write && p.Area != tools.Scratch && !slices.Contains(j.Intent.Scopes, tools.Exec) {
			list = append(list, tools.Mark{Path: p.Path, Why: why})
		}
	}
	return list
}

// marksOfTraces marks the files that a command of a run with limits has written. The tool looks for written files only in
// tainted turns, so the call is passed as tainted.
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

// traces returns the marks for files that an interrupted call may have written.
func (r toolCalls) traces(ctx context.Context, a turn.Resolve) []tools.Change {
	j := r.run.thread.Dispatch.Judge(ctx, r.actor(a.Call), r.call(a.Call))
	if j.Tool == nil {
		return nil
	}
	list := marks(ctx, j, policy.ForeignSource(j.Intent), r.st.Turn.Limited(), a.Step.Started)
	if t, ok := j.Tool.(tools.Tracer); ok && !a.Step.Started.IsZero() {
		list = append(list, t.Traces(ctx, j.Call, j.Intent, a.Step.Started)...)
	}
	return list
}
