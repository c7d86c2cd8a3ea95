package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/clock"
	"hob/daemon/control"
	"hob/daemon/event"
	"hob/daemon/guard"
	"hob/daemon/ident"
	"hob/daemon/store"
	"hob/tools"
)

// How long an approval of a call from the command line stays open.
const approvalOpen = 24 * time.Hour

// toolCalls calls tools for the local API, through the same gate as the thread.
type toolCalls struct {
	dispatch *agent.Dispatch
	store    *store.Store
	ids      ident.Source
	clock    clock.Clock
}

var _ control.Tools = toolCalls{}

// Specs lists the tools.
func (t toolCalls) Specs() []tools.Spec { return t.dispatch.Set.Specs() }

// Call judges and runs one call. A call that needs a person comes back as *control.Approval, with a question that any surface can answer;
// the same call with Approve set to its hash, or once its question is approved, runs.
func (t toolCalls) Call(ctx context.Context, c control.ToolCall) (tools.Result, error) {
	actor := agent.Actor{Name: "api", Trust: event.Owner, Reply: event.CLI}
	set := t.dispatch.Settings(ctx)
	call := tools.Call{
		ID: "c" + t.ids.Code(12), Name: c.Name, Args: c.Args, Workdir: c.Workdir, Key: "main",
		ReplyTo: event.CLI, Trust: event.Owner, Zone: set.Zone, Now: t.clock.Wall(), Typed: true,
	}
	j := t.dispatch.Judge(ctx, actor, call)
	if j.Fault == nil && j.Decision.Verdict == guard.Ask {
		how, err := t.agreed(ctx, c, j)
		if err != nil {
			return tools.Result{}, err
		}
		j.Decision = guard.Decision{Verdict: guard.Allow, Reason: how}
	}
	entry := t.dispatch.Entry(actor, j)
	if err := t.store.Record(ctx, entry); err != nil {
		return tools.Result{}, err
	}
	start := t.clock.Mono()
	r := t.dispatch.Run(ctx, j)
	entry.Took = t.clock.Mono() - start
	return t.settle(ctx, entry, r)
}

// agreed says how a call that needs a person was allowed; *control.Approval when it was not.
func (t toolCalls) agreed(ctx context.Context, c control.ToolCall, j agent.Judged) (string, error) {
	if c.Approve != "" && c.Approve == j.Hash() {
		return "approved at the terminal", t.store.Settled(ctx, j.Hash())
	}
	q := turn.Question{
		Subject: turn.AboutCall, Tool: j.Call.Name, Text: guard.Plea("May the command line", j.Intent, j.Decision),
		Options: []string{turn.AnswerOnce, turn.AnswerNo}, ActionHash: j.Hash(), Until: t.clock.Wall().Add(approvalOpen), To: event.CLI,
	}
	code, used, err := t.store.UseOrAsk(ctx, q)
	if err != nil || used {
		return "approved: question " + code, err
	}
	return "", &control.Approval{Summary: j.Intent.Summary, Canonical: string(j.Intent.Canonical), Hash: j.Hash(), Code: code, Warnings: j.Intent.Warnings}
}

// settle commits what a call came to. A tool that steers a turn has none to steer here.
func (t toolCalls) settle(ctx context.Context, entry guard.Entry, r tools.Result) (tools.Result, error) {
	if r.Next != nil {
		r = tools.Fail(tools.Conflict, "ask hob in chat instead", "this tool parks or ends a turn, and there is none here")
	}
	entry = agent.Ended(entry, r)
	changes := []tools.Change{entry}
	if !r.IsError {
		changes = append(changes, r.Changes...)
	}
	err := t.store.RecordFrom(context.WithoutCancel(ctx), t.input(entry), changes...)
	if f, ok := event.AsFault(err); ok {
		return tools.Fail(tools.Conflict, f.Hint, "%s", f.Text), nil
	}
	return r, err
}

// input is the row that a message from the command line comes from: outside a turn there is no step that could be its cause.
func (t toolCalls) input(entry guard.Entry) event.In {
	return event.In{
		Source: "api", ExtID: entry.CallID, Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
		ReplyTo: event.CLI, Parts: event.Say("hob tool " + entry.Tool), Received: t.clock.Wall(),
	}
}

// backupFault is what a user reads when a backup could not be written.
func backupFault(err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return &event.Fault{Kind: event.Clash, Text: "there is a file of that name already", Hint: "choose another path", Err: err}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &event.Fault{Kind: event.Invalid, Text: err.Error(), Hint: "choose a folder that exists and that hob may write to", Err: err}
	default:
		return err
	}
}
