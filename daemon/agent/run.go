package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/tools"
)

// run steps one claimed turn. modelCalls and toolCalls extend it with the actions on models and tools.
type run struct {
	thread  *Thread
	id      int64
	turn    turn.Turn // the row as last read
	set     Settings
	counted time.Duration // monotonic time; running time up to here is committed
	over    bool          // ended or parked
	instead error         // why the built-in interpreter answers in place of the models; nil: it does not, or a restart forgot it

	opening  *turn.Opening // the rows of a new turn, until its first request is made
	reserved turn.Step     // the request that the claim has reserved, until it is made; N 0: none
}

// newRun makes the run of a claimed turn. Its running time counts from now.
func newRun(t *Thread, id int64) *run { return &run{thread: t, id: id, counted: t.Clock.Mono()} }

// ran returns the running time since the last call, for the next commit.
func (r *run) ran() time.Duration {
	now := r.thread.Clock.Mono()
	d := now - r.counted
	r.counted = now
	return d
}

// loop carries out the actions that turn.Next returns, until the turn ends, parks or is cancelled. It reads the rows again
// before each action, because commands, answers and other turns change them.
func (r *run) loop(ctx context.Context) error {
	err := r.steps(ctx)
	if r.reserved.N != 0 && !r.over {
		err = errors.Join(err, r.commit(context.WithoutCancel(ctx), turn.Commit{})) // gives the reservation back
	}
	return err
}

// load reads the turn. The claim of a new turn has brought its rows.
func (r *run) load(ctx context.Context) (turn.Snapshot, error) {
	if r.opening != nil {
		return r.opening.Snapshot, nil
	}
	return r.thread.Turns.Load(ctx, r.id)
}

func (r *run) steps(ctx context.Context) error {
	for !r.over {
		r.thread.progress()
		st, err := r.load(ctx)
		if err != nil {
			return r.interrupted(ctx, st, fmt.Errorf("load turn %d: %w", r.id, err))
		}
		r.set, r.turn = r.thread.Settings(ctx), st.Turn
		// The limits of the config are not stored with the turn, so a changed config applies to turns that run.
		st.Limits = st.Relations.Limits(r.set.Limits)
		if err := r.withDeadline(ctx, st); err != nil {
			return r.interrupted(ctx, st, err)
		}
	}
	return nil
}

// withDeadline carries out one action within the running time that the turn has left.
func (r *run) withDeadline(ctx context.Context, st turn.Snapshot) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if st.Limits.Running > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(st.Limits.Running-st.Turn.Running, 0), errDeadline)
		defer cancel()
	}
	err := r.carryOut(ctx, st, turn.Next(st))
	if err != nil && errors.Is(context.Cause(ctx), errDeadline) {
		return errDeadline
	}
	return err
}

// carryOut executes one action of turn.Next. Each branch ends with a commit, from which the next action follows.
func (r *run) carryOut(ctx context.Context, st turn.Snapshot, action turn.Action) error {
	switch a := action.(type) {
	case turn.Say:
		return r.say(ctx, st, a.Text)
	case turn.Request:
		return modelCalls{r}.request(ctx, st)
	case turn.Execute:
		return toolCalls{r, st}.execute(ctx, a)
	case turn.Probe:
		return toolCalls{r, st}.probe(ctx, a)
	case turn.Collect:
		return toolCalls{r, st}.collect(ctx, a)
	case turn.Resolve:
		return toolCalls{r, st}.resolve(ctx, a)
	case turn.Park:
		return r.commit(ctx, turn.Commit{Park: &a})
	case turn.Finish:
		return r.finish(ctx, st, turn.Commit{}, a)
	default:
		return fmt.Errorf("turn %d: unknown action %T", r.id, action)
	}
}

// interrupted ends the turn when the owner stopped it or it ran too long. It returns any other error.
func (r *run) interrupted(ctx context.Context, st turn.Snapshot, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStopped):
		return r.finish(context.WithoutCancel(ctx), st, turn.Commit{}, turn.Finish{State: turn.Stopped, Why: stopReason(st.Turn)})
	case errors.Is(err, errDeadline):
		why := fmt.Sprintf("it ran for %s, the limit of one turn", st.Limits.Running)
		return r.finish(context.WithoutCancel(ctx), st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: why})
	}
	return err
}

// stopReason is the text for a stopped turn. A sub-agent may also be stopped by its parent, so its text names nobody.
func stopReason(t turn.Turn) string {
	if t.Parent != 0 {
		return "it was stopped before it ended"
	}
	if t.ReplyTo.Channel() == event.Endpoint {
		return "stopped by the owner, or because its client went away"
	}
	return "stopped by the owner"
}

// commit writes the result of a step. A commit that parks or ends the turn also ends the loop.
func (r *run) commit(ctx context.Context, c turn.Commit) error {
	// All text of a turn is published here or in stream, so links are defanged only in these two places.
	c = r.defanged(ctx, c)
	c.Turn = r.id
	c.Ran = r.ran()
	if r.reserved.N != 0 { // the request was never made
		unsent := r.reserved
		unsent.State, unsent.Reserve, unsent.Ended, unsent.Why = turn.StepUnknown, turn.Amount{}, r.thread.Clock.Wall(), "not sent"
		c.Steps = append([]turn.Step{unsent}, c.Steps...)
		r.reserved = turn.Step{}
	}
	if err := r.thread.Turns.Commit(ctx, c); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	r.over = c.Park != nil || c.End != nil
	return nil
}

// say delivers a reminder without a model, in one commit.
func (r *run) say(ctx context.Context, st turn.Snapshot, text string) error {
	item := r.item(st, 1, llm.Text, text)
	return r.finish(ctx, st, turn.Commit{Items: []llm.Item{item}}, turn.Finish{State: turn.Done, Text: text})
}

// item makes a transcript item of the assistant in this turn.
func (r *run) item(st turn.Snapshot, step int, kind llm.Kind, text string) llm.Item {
	return llm.Item{
		Session: st.Turn.Session, Turn: r.id, Step: step, Role: llm.Assistant, Kind: kind, Parts: event.Say(text),
		Trust: st.Turn.Trust(), Source: "model",
	}
}

// finish ends the turn. One commit holds its last items, its end and the message in the outbox.
// It also serves a turn that fails or was stopped; finalMessage decides whether anybody hears of it.
func (r *run) finish(ctx context.Context, st turn.Snapshot, c turn.Commit, f turn.Finish) error {
	st = st.With(c.Items)
	if f.State == turn.Done && f.Fault == "" {
		f.Fault = turn.Fault(st)
	}
	if t := st.Turn; f.State == turn.Done && t.Parent == 0 && t.ReplyTo.Channel() != event.Endpoint && !saysNothing(f.Text) {
		f.Text = turn.FinalText(st, f, f.Text, r.toOwner(t))
	}
	if out, ok := r.finalMessage(st, f); ok {
		c.Changes = append([]tools.Change{out}, c.Changes...)
	}
	c.End = &f
	fail.Point("finish.before")
	err := r.commit(ctx, c)
	fail.Point("finish.after")
	return err
}

// toOwner reports whether only the owner reads a turn's answer.
func (r *run) toOwner(t turn.Turn) bool {
	return t.ReplyTo == "" || slices.Contains(r.set.OwnerAddresses, t.ReplyTo)
}

// finalMessage makes the outbox row of a turn's end. It returns false when the turn sends nothing.
func (r *run) finalMessage(st turn.Snapshot, f turn.Finish) (event.Out, bool) {
	t := st.Turn
	if t.Parent != 0 {
		return event.Out{}, false // the parent turn reads the answer instead
	}
	out := event.Out{
		Key: fmt.Sprintf("turn:%d:final", t.ID), Cause: event.Cause{Kind: event.ByTurn, ID: t.ID},
		To: t.ReplyTo, ReplyRef: t.ReplyRef, Body: f.Text, Urgency: event.Urgent,
	}
	if t.Unattended() {
		out.Urgency, out.ReplyRef = event.Normal, ""
	}
	if f.State == turn.Failed {
		out.Body = turn.FinalText(st, f, "I could not finish this: "+f.Why+".", true)
		if t.ReplyTo.Channel() == event.Endpoint { // the owner has not seen the request
			out.Body = fmt.Sprintf("I could not finish a request of the program %s: %s.", t.ReplyTo.Local(), f.Why)
		}
		if place := r.ownerAddress(t); place != out.To || out.To == event.ToNone {
			out.To, out.ReplyRef = event.ToOwner, "" // errors go to the owner only
		}
		if t.Asker != event.Owner { // one an hour from each session: strangers must not flood the owner
			from, _, _ := strings.Cut(t.Key, "/") // a client of the endpoint can begin any number of conversations
			if t.ReplyTo.Channel() != event.Endpoint {
				from = t.Key
			}
			out.Key = fmt.Sprintf("failed:%s:%d", from, t.Started.Unix()/3600)
		}
	}
	if saysNothing(out.Body) || f.State == turn.Stopped || f.State == turn.Dead {
		return out, false
	}
	out.To = cmp.Or(out.To, event.ToOwner)
	return out, out.To != event.ToNone
}
