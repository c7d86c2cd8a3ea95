package agent

import (
	"context"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/tools"
)

// resultLimit returns how many bytes of a call's result may enter the transcript. The calls of one answer share resultShare of
// the window: what is left is divided among the calls that have no result yet.
func resultLimit(st turn.Snapshot, info llm.Info, step turn.Step) int {
	if info.Interpreter || info.Context <= 0 {
		return artifactOver
	}
	left, open := info.Context*resultShare/100*minBytesPerToken, 0
	call := callItem(st, step.CallID)
	same := map[string]bool{}
	for _, it := range st.Items {
		switch {
		case it.Kind == llm.CallItem && it.Step == call.Step:
			same[it.CallID] = true
			open++
		case it.Kind == llm.ResultItem && same[it.CallID]:
			left -= bytesOf(it, info)
			open--
		}
	}
	return max(left/max(open, 1), leastResult)
}

// refused returns the fault with which the store rejected a tool's change to hob's own rows. False means another error.
func refused(err error) (*event.Fault, bool) {
	fault, ok := event.AsFault(err)
	return fault, ok && fault.Kind != event.Unavailable
}

// done commits a result without a measured duration.
func (r toolCalls) done(ctx context.Context, step turn.Step, j Judged, result tools.Result) error {
	return r.doneIn(ctx, step, j, result, 0)
}

// doneIn commits a call's result: the item, the step, what it changed in hob's own rows, and the audit row.
func (r toolCalls) doneIn(ctx context.Context, step turn.Step, j Judged, result tools.Result, took time.Duration) error {
	step.State, step.Ended = turn.StepDone, r.run.thread.Clock.Wall()
	item := callItem(r.st, step.CallID)
	taint := j.Taint(result)
	if j.Fault != nil {
		taint = "" // the call has not run
	}
	st := r.st
	st.Turn.Tainted = st.Turn.Tainted || taint != ""
	answer := resultItem(st, item, step.N, result)
	c := turn.Commit{Steps: []turn.Step{step}, Items: []llm.Item{answer}, Taint: taint}
	if j.Fault == nil {
		c.Changes = append(c.Changes, marks(ctx, j, taint, r.st.Turn.Limited(), step.Started)...)
	}
	c.Changes = append(c.Changes, KeptChanges(result)...) // the tool knows best why a file that it wrote is foreign
	entry := r.entry(j, result)
	entry.Took = took
	c.Changes = append(c.Changes, entry)
	finished := map[string]any{"call": step.CallID, "tool": step.Tool, "summary": j.Intent.Summary, "error": string(result.Code), "failed": turn.FailureLine(item, answer), "ms": took.Milliseconds()}
	if !r.st.Turn.Tainted && taint != "" {
		finished["tainted"] = taint // clients say it at the moment when it happens
	}
	if item.Provider == llm.Builtin {
		finished["verbatim"] = true // the interpreter's answer is the result, which is no Markdown
	}
	c.Events = []event.Event{{Type: "tool.finished", Session: r.st.Turn.Key, Turn: r.run.id, Data: finished}}
	err := r.commitResult(context.WithoutCancel(ctx), c, result)
	if fault, ok := refused(err); ok && len(result.Changes) > 0 && !result.IsError {
		// The store rejected the tool's change to hob's own rows. The model gets the reason as the result.
		return r.doneIn(ctx, step, j, tools.Fail(tools.Conflict, fault.Hint, "%s", fault.Text), took)
	}
	fail.Point("tool.result")
	return err
}

// commitResult commits a result. If the tool ends the turn, the same commit finishes it.
func (r toolCalls) commitResult(ctx context.Context, c turn.Commit, result tools.Result) error {
	end, ok := result.Next.(tools.End)
	if !ok || result.IsError {
		return r.run.commit(ctx, c)
	}
	f := turn.Finish{State: turn.Done, Text: end.Text}
	if end.Failed {
		f = turn.Finish{State: turn.Failed, Why: end.Text}
	}
	return r.run.finish(ctx, r.st, c, f)
}

// entry is the audit row of a call that has ended.
func (r toolCalls) entry(j Judged, result tools.Result) policy.Entry {
	e := Ended(r.run.thread.Dispatch.Entry(r.actorOf(j), j), result)
	if j.Decision.Verdict == policy.Ask {
		e.Decision = policy.Decision{Verdict: policy.Allow} // the intent's row has the approval
	}
	return e
}

// resultItem makes the transcript item of a call's result.
func resultItem(st turn.Snapshot, call llm.Item, step int, result tools.Result) llm.Item {
	parts := append(textParts(result), result.Parts...)
	return llm.Item{
		Session: st.Turn.Session, Turn: st.Turn.ID, Step: step, Role: llm.ToolRole, Kind: llm.ResultItem, Parts: parts,
		CallID: call.CallID, Tool: call.Tool, IsError: result.IsError, Trust: st.Turn.Trust(), Source: call.Tool,
	}
}
