package server

import (
	"context"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/sys"
	"hob/tools"
)

// The time for which an approval of a call from the command line stays open.
const approvalOpen = 24 * time.Hour

// CallStore commits the effects of calls.
type CallStore interface {
	// Record applies changes; the audit row of a call is one.
	Record(ctx context.Context, list ...tools.Change) error
	// RecordFrom is Record for changes that may send messages; in is the command that caused them.
	RecordFrom(ctx context.Context, in event.In, list ...tools.Change) error
	// UseOrAsk uses up an approval of the same call, or asks for one.
	UseOrAsk(ctx context.Context, q turn.Question) (code string, used bool, err error)
	// Settled closes the question about a call that was approved elsewhere.
	Settled(ctx context.Context, hash string) error
}

// Calls implements Tools with the agent's dispatcher, so calls are decided by the same permission rules as those of a turn. The person at the command line can answer at
// once, so a call that needs approval returns immediately instead of waiting. Every field must be set.
type Calls struct {
	Dispatch *agent.Dispatch
	Store    CallStore
	IDs      sys.IDs
	Clock    sys.Clock
	Absent   func() []api.Tool // tools that cannot work here
}

// Specs lists the tools.
func (t Calls) Specs() []tools.Spec { return t.Dispatch.Set.Specs() }

// Missing lists the tools that cannot work here.
func (t Calls) Missing() []api.Tool { return t.Absent() }

// Call judges and runs one call. If the call needs approval, the error is *api.Approval, and a question is open
// that any channel can answer. The same call runs with Approve set to its hash, or after its question is
// approved. The order is that of the agent: judge, get an approval if one is needed, write the audit row, run,
// and commit the result.
func (t Calls) Call(ctx context.Context, name string, c api.ToolCall) (tools.Result, error) {
	actor := agent.Actor{Name: "api", Trust: event.Owner, Reply: event.CLI}
	set := t.Dispatch.Settings(ctx)
	call := tools.Call{
		ID: "c" + t.IDs.Code(12), Name: name, Args: c.Input, Workdir: c.Workdir, Key: "main",
		ReplyTo: event.CLI, Trust: event.Owner, Zone: set.Zone, Now: t.Clock.Wall(), Typed: true,
	}
	// A call with a fault needs no approval: Run returns the fault as its result.
	j := t.Dispatch.Judge(ctx, actor, call)
	if j.Fault == nil && j.Decision.Verdict == policy.Ask {
		how, err := t.agreed(ctx, c, j)
		if err != nil {
			return tools.Result{}, err
		}
		j.Decision = policy.Decision{Verdict: policy.Allow, Reason: how}
	}
	entry := t.Dispatch.Entry(actor, j) // audited before the call runs, so that a crash leaves a trace
	if err := t.Store.Record(ctx, entry); err != nil {
		return tools.Result{}, err
	}
	start := t.Clock.Mono()
	r := t.Dispatch.Run(ctx, j)
	entry.Took = t.Clock.Mono() - start
	return t.settle(ctx, entry, r)
}

// agreed returns how a call that needs approval was approved; the error is *api.Approval if it was not.
func (t Calls) agreed(ctx context.Context, c api.ToolCall, j agent.Judged) (string, error) {
	if c.Approve != "" && c.Approve == j.Hash() {
		return "approved at the terminal", t.Store.Settled(ctx, j.Hash())
	}
	q := turn.Question{
		Subject: turn.AboutCall, Tool: j.Call.Name, Text: policy.ApprovalText("May the command line", j.Intent, j.Decision),
		Options: []string{turn.AnswerOnce, turn.AnswerNo}, ActionHash: j.Hash(), Until: t.Clock.Wall().Add(approvalOpen), To: event.CLI,
	}
	code, used, err := t.Store.UseOrAsk(ctx, q)
	if err != nil || used {
		return "approved: question " + code, err
	}
	return "", &api.Approval{
		Summary: j.Intent.Summary, Reason: j.Decision.Reason, Allow: j.Decision.Allow,
		Canonical: string(j.Intent.Canonical), Hash: j.Hash(), Code: code, Warnings: policy.Warnings(j.Intent),
	}
}

// settle commits the result of a call. A tool that steers a turn fails, because there is no turn here.
func (t Calls) settle(ctx context.Context, entry policy.Entry, r tools.Result) (tools.Result, error) {
	if r.Next != nil {
		r = tools.Fail(tools.Conflict, "ask hob in chat instead", "this tool parks or ends a turn, and there is none here")
	}
	entry = agent.Ended(entry, r)
	changes := []tools.Change{entry}
	changes = append(changes, agent.KeptChanges(r)...)
	// The call has run. Its result is recorded even if the client has gone meanwhile.
	err := t.Store.RecordFrom(context.WithoutCancel(ctx), t.input(entry), changes...)
	if f, ok := event.AsFault(err); ok {
		return tools.Fail(tools.Conflict, f.Hint, "%s", f.Text), nil
	}
	return r, err
}

// input returns the inbox row that counts as the cause of a message from the command line, because there is no step of a turn.
func (t Calls) input(entry policy.Entry) event.In {
	return event.In{
		Source: "api", ExtID: entry.CallID, Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
		ReplyTo: event.CLI, Parts: event.Say("hob tool " + entry.Tool), Received: t.Clock.Wall(),
	}
}
