package server

import (
	"context"
	"fmt"
	"slices"
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
	// UseOrAsk uses up an approval of the same call, or asks for one. It is a fault if most questions of q.CallID are open already; 0: there is no limit.
	UseOrAsk(ctx context.Context, q turn.Question, most int) (asked turn.Question, used bool, err error)
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

	Quotas  *Quotas                                                         // of the programs that call by MCP
	Scratch func(session string) string                                     // the folder for what a session writes after it has read foreign text
	Tainted func(ctx context.Context, actor agent.Actor, from string) error // notes that a call has brought foreign text to an actor
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
	return t.run(ctx, actor, call, func(j agent.Judged) (string, error) { return t.agreed(ctx, c, j) })
}

// run judges a call, gets an approval if one is needed, and runs it. agreed returns how the call was approved.
func (t Calls) run(ctx context.Context, actor agent.Actor, call tools.Call, agreed func(agent.Judged) (string, error)) (tools.Result, error) {
	// A call with a fault needs no approval: Run returns the fault as its result.
	j := t.Dispatch.Judge(ctx, actor, call)
	if err := t.room(actor, j); err != nil {
		return tools.Result{}, err
	}
	if j.Fault == nil && j.Decision.Verdict == policy.Ask {
		how, err := agreed(j)
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
	if from := j.Taint(r); from != "" && actor.Name == mcpActor && ran(j) {
		if err := t.Tainted(context.WithoutCancel(ctx), actor, from); err != nil {
			return tools.Result{}, err
		}
	}
	return t.settle(ctx, actor, j, entry, r)
}

// room returns a fault if a call of a program would write to a scratch folder that is full.
func (t Calls) room(actor agent.Actor, j agent.Judged) error {
	writes := slices.ContainsFunc(j.Intent.Paths, func(p tools.Path) bool { return p.Write && p.Area == tools.Scratch })
	if actor.Name != mcpActor || j.Fault != nil || !writes {
		return nil
	}
	over, err := full(j.Call.Scratch)
	if err != nil {
		return fmt.Errorf("measure the scratch folder: %w", err)
	}
	if over {
		return event.NewFault(event.TooLarge, "delete files in "+j.Call.Scratch, "the scratch folder of this program holds more than %d MB or %d files", maxScratch>>20, maxFiles)
	}
	return nil
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
	asked, used, err := t.Store.UseOrAsk(ctx, q, 0)
	if err != nil || used {
		return "approved: question " + asked.Code, err
	}
	return "", &api.Approval{
		Summary: j.Intent.Summary, Reason: j.Decision.Reason, Allow: j.Decision.Allow,
		Shown: policy.Shown(j.Intent), Canonical: string(j.Intent.Canonical), Hash: j.Hash(), Code: asked.Code, Question: asked.ID, Warnings: policy.Warnings(j.Intent),
	}
}

// ran reports whether a call was allowed to run. One that was not brings nothing, whatever it would have read.
func ran(j agent.Judged) bool { return j.Fault == nil && j.Decision.Verdict == policy.Allow }

// settle commits the result of a call. A tool that steers a turn fails, because there is no turn here.
func (t Calls) settle(ctx context.Context, actor agent.Actor, j agent.Judged, entry policy.Entry, r tools.Result) (tools.Result, error) {
	if r.Next != nil {
		r = tools.Fail(tools.Conflict, "ask hob in chat instead", "this tool parks or ends a turn, and there is none here")
	}
	entry = agent.Ended(entry, r)
	changes := append([]tools.Change{entry}, agent.TaintedMarks(j)...)
	changes = append(changes, agent.KeptChanges(r)...)
	// The call has run. Its result is recorded even if the client has gone meanwhile.
	err := t.Store.RecordFrom(context.WithoutCancel(ctx), t.input(actor, entry), changes...)
	if f, ok := event.AsFault(err); ok {
		return tools.Fail(tools.Conflict, f.Hint, "%s", f.Text), nil
	}
	return r, err
}

// input returns the inbox row that counts as the cause of a message from the command line, because there is no step of a turn.
func (t Calls) input(actor agent.Actor, entry policy.Entry) event.In {
	in := event.In{
		Source: "api", ExtID: entry.CallID, Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
		ReplyTo: event.CLI, Parts: event.Say("hob tool " + entry.Tool), Received: t.Clock.Wall(),
	}
	if actor.Name == mcpActor {
		in.Source, in.Session, in.ReplyTo, in.Trust, in.Kind, in.Tainted = event.Endpoint, string(actor.Reply), actor.Reply, actor.Trust, event.Message, actor.Tainted
		in.Parts = event.Say("MCP call of " + entry.Tool)
	}
	return in
}
