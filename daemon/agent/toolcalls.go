package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/llm"
	"hob/daemon/netguard"
	"hob/daemon/policy"
	"hob/tools"
)

// approvalOpen and askOpen are how long an approval and a question of the ask tool stay open.
const (
	approvalOpen = 24 * time.Hour
	askOpen      = 7 * 24 * time.Hour
)

// toolCalls carries out the actions on the tool calls of an answer.
type toolCalls struct {
	run *run
	st  turn.Snapshot
}

// judge decides about all calls of an answer before any of them runs. One question covers all calls that need approval. If a call names
// something that an earlier call creates, it is judged when it runs; a question then includes only its arguments. If the answer was cut off
// at its limit, no call runs, because the calls may be incomplete. unread holds the names that mean no tool, by the place of the call.
func (r toolCalls) judge(ctx context.Context, c turn.Commit, n int, cutOff bool, unread map[int]string) error {
	r.st = r.st.With(c.Items)
	var asks []Judged
	var first *Judged
	var later []Judged
	open, changing, place := 0, false, -1
	for _, it := range c.Items {
		if it.Kind != llm.CallItem {
			continue
		}
		n++
		place++
		j := r.refused(r.run.thread.Dispatch.Judge(ctx, r.actor(it), r.call(it)))
		raw := event.TextOf(it.Parts)
		if strings.TrimSpace(raw) != "" {
			j = j.refuse(tools.Fail(tools.Validation, "send the arguments as one JSON object", "the arguments are not valid JSON: %s", truncate(raw, 200)))
		}
		j = r.withExample(j, it, raw != "")
		if said, ok := unread[place]; ok {
			j = j.refuse(unknown(r.run.thread.Dispatch.Set, said))
		}
		// If an answer was cut off, its last call may be incomplete, and the model may have meant more calls after it.
		if cutOff {
			j = j.refuse(tools.Fail(tools.Cancelled, "make the call again, with less in one answer", "not run: the answer was cut off at its limit of tokens (max_output_tokens)"))
		}
		if j.Fault != nil && j.IntentFailed && changing && !j.Tool.Spec().Terminal {
			j = judgedLater(j)
			later = append(later, j)
		}
		step := r.stepOf(n, j)
		changing = changing || j.Fault == nil && j.Intent.Effect != tools.Read
		switch {
		case j.Fault != nil:
			step.State, step.Ended = turn.StepDone, r.run.thread.Clock.Wall()
			c.Items = append(c.Items, resultItem(r.st, it, step.N, *j.Fault))
			c.Changes = append(c.Changes, r.entry(j, *j.Fault))
		case j.Decision.Verdict == policy.Ask:
			step.State, step.Question = turn.StepAsked, turn.Asks
			asks = append(asks, j)
			open++
		default:
			if open == 0 {
				first = &j
			}
			open++
		}
		c.Steps = append(c.Steps, step)
	}
	if len(asks) > 0 {
		c.Question, c.Wait = r.approval(append(asks, coveredByQuestion(c.Steps, asks, later)...)), approvalOf(asks[0])
	}
	return r.begin(ctx, c, first)
}

// withExample adds the right arguments to the result of a call whose arguments are wrong. unread: they are no JSON, so that nothing of them counts.
func (r toolCalls) withExample(j Judged, it llm.Item, unread bool) Judged {
	if j.Fault == nil || j.Fault.Code != tools.Validation || j.Tool == nil {
		return j
	}
	args := j.Call.Args
	if unread {
		args = json.RawMessage("[]")
	}
	example := tools.Example(j.Tool, args, j.Fault.Content)
	if example == "" {
		return j
	}
	name := j.Tool.Spec().Name
	if inner, _, ok := tools.Inner(it.Args); ok && it.Tool == tools.CatalogTool {
		name, example = tools.CatalogTool, fmt.Sprintf(`{"action":"call","name":%q,"arguments":%s}`, inner, example)
	}
	j.Fault.Content += "\n" + turn.RightCall + name + " with " + example
	return j
}

// begin commits a judged answer. If the first open call may run and has an effect, the same commit records its intent, which
// saves one commit per answer. The call then runs.
func (r toolCalls) begin(ctx context.Context, c turn.Commit, first *Judged) error {
	if first == nil || !needsIntent(*first) || repeatsItself(r.st) {
		err := r.run.commit(ctx, c)
		fail.Point("answer.committed")
		return err
	}
	var step turn.Step
	for i := range c.Steps {
		if c.Steps[i].CallID != first.Call.ID {
			continue
		}
		step = c.Steps[i]
		step.State, step.Started = turn.StepIntent, r.run.thread.Clock.Wall()
		if !fail.Broken("no-intent") {
			c.Steps[i] = step
		}
	}
	c.Changes = append(c.Changes, r.run.thread.Dispatch.Entry(r.actorOf(*first), *first))
	c.Events = append(c.Events, r.started(*first))
	if err := r.run.commit(ctx, c); err != nil {
		return err
	}
	fail.Point("answer.committed")
	return r.perform(ctx, step, *first)
}

// repeatsItself reports whether turn.Next would end the turn, because it makes the same calls again and again.
func repeatsItself(st turn.Snapshot) bool {
	_, ends := turn.Next(st).(turn.Finish)
	return ends
}

// needsIntent reports whether the intent must be committed before the call runs. Reads and keyed calls can run again after a crash, so they
// need none.
func needsIntent(j Judged) bool {
	return j.Intent.Effect != tools.Read && j.Intent.Effect != tools.Keyed
}

// call makes the call as the tool receives it.
func (r toolCalls) call(it llm.Item) tools.Call {
	return tools.Call{
		ID: it.CallID, Turn: r.run.id, Session: r.st.Turn.Session, Key: r.st.Turn.Key, Name: it.Tool, Args: it.Args,
		ReplyTo: r.st.Turn.ReplyTo, Trust: r.st.Turn.Asker, Guest: r.st.Turn.Guest, Zone: r.run.set.Zone, Now: r.run.thread.Clock.Wall(), Words: ownWords(r.st),
		Tainted: r.tainted(it), Limited: r.st.Turn.Limited(), Scratch: fsguard.ScratchOf(r.run.set.Workspace, r.st.Turn.Key), Plan: r.st.Turn.Plan,
		Few: slices.ContainsFunc(r.run.thread.Models().Models(), func(m llm.Model) bool {
			return m.Info().Few && m.Info().Provider == it.Provider && m.Info().Model == it.Model
		}),
	}
}

// tainted reports whether foreign text may have influenced a call. The built-in interpreter derives its calls only from the
// owner's text, so they are not tainted.
func (r toolCalls) tainted(it llm.Item) bool {
	return r.st.Turn.Tainted && (it.Provider != llm.Builtin || ownWords(r.st) == "")
}

// ownWords returns the newest input if the owner typed it, "" otherwise.
func ownWords(st turn.Snapshot) string {
	for i := len(st.Items) - 1; i >= 0; i-- {
		it := st.Items[i]
		if it.Kind != llm.Input {
			continue
		}
		if it.Envelope != nil && it.Envelope.Typed && it.Trust == event.Owner {
			return event.TextOf(it.Parts[:1])
		}
		return ""
	}
	return ""
}

// actorOf returns the caller of a judged call.
func (r toolCalls) actorOf(j Judged) Actor { return r.actor(callItem(r.st, j.Call.ID)) }

// actor returns the caller of a call.
func (r toolCalls) actor(it llm.Item) Actor {
	t := r.st.Turn
	a := Actor{Name: "thread", Trust: t.Asker, Tainted: r.tainted(it), Rights: t.Rights, Only: t.Only, Limited: t.Limited(), Reply: t.ReplyTo, Given: r.given, Narrowed: narrowed(r.st.Items)}
	if t.Parent != 0 {
		a.Name = ChildActor
	}
	for _, q := range r.st.Questions {
		if q.Answer == turn.AnswerTurn {
			a.Approved = append(a.Approved, q)
		}
	}
	return a
}

// given returns the web addresses that the owner has typed in this conversation.
func (r toolCalls) given(ctx context.Context) ([]string, error) {
	texts, err := r.run.thread.History.Typed(ctx, r.st.Turn.Session)
	if err != nil {
		return nil, err
	}
	var links []string
	for _, text := range texts {
		links = append(links, netguard.Links(text)...)
	}
	return links, nil
}

// stepOf is the step of a call that may run. The hash binds the step to what the call would do.
func (r toolCalls) stepOf(n int, j Judged) turn.Step {
	return turn.Step{N: n, Kind: turn.ToolStep, State: turn.StepAllowed, CallID: j.Call.ID, Tool: j.Call.Name, Effect: j.Intent.Effect, Hash: j.Hash()}
}

// approval makes the one question about all calls of an answer that need approval. The answer is bound to a hash over what the
// calls would do. It offers "always" only for a single call with a pattern, and "turn" only if all calls are ordinary.
func (r toolCalls) approval(asks []Judged) *turn.Question {
	sum := sha256.New()
	var lines []string
	if len(asks) > 1 {
		lines = append(lines, fmt.Sprintf("%d calls; one answer is for all of them:", len(asks)))
	}
	for _, j := range asks {
		line := policy.ApprovalText("May I", j.Intent, j.Decision)
		lines = append(lines, line)
		sum.Write([]byte(j.Hash()))
	}
	q := &turn.Question{
		Subject: turn.AboutCalls, Turn: r.run.id, CallID: asks[0].Call.ID, Tool: asks[0].Call.Name, Text: strings.Join(lines, "\n"),
		Options:    []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerNo},
		ActionHash: hex.EncodeToString(sum.Sum(nil)[:16]), Until: r.run.thread.Clock.Wall().Add(approvalOpen), To: r.run.ownerAddress(r.st.Turn),
	}
	first, pattern := asks[0].Intent, policy.Pattern(asks[0].Intent)
	tainted := slices.ContainsFunc(asks, func(j Judged) bool { return j.Call.Tainted })
	if tainted {
		pattern = policy.Bound(first)
	}
	if len(asks) == 1 && pattern != "" {
		q.Pattern = pattern
		q.Options = []string{turn.AnswerOnce, turn.AnswerTurn, turn.AnswerAlways, turn.AnswerNo}
	}
	// An approval for the turn would not cover such a call again. In a tainted turn it ends with the next foreign result, which may be the call's own.
	if slices.ContainsFunc(asks, func(j Judged) bool { return !policy.Ordinary(j.Intent) }) || tainted && (q.Pattern == "" || first.Server != "" || policy.ForeignSource(first) != "") {
		q.Options = slices.DeleteFunc(q.Options, func(o string) bool { return o == turn.AnswerTurn })
	}
	return q
}

// ownerAddress is where the owner gets questions and failures: the chat the turn answers to if it is the owner's, otherwise the
// owner's first address. A job may answer to another person, who must not see its questions.
func (r *run) ownerAddress(t turn.Turn) event.Address {
	if t.Asker == event.Owner && slices.Contains(r.set.OwnerAddresses, t.ReplyTo) {
		return t.ReplyTo
	}
	return event.ToOwner
}

// execute runs a call that turn.Next has released. It judges the call again first, because earlier calls, settings or files may
// have changed since. A call that was approved runs only if its effect still has the approved hash.
func (r toolCalls) execute(ctx context.Context, a turn.Execute) error {
	j := r.run.thread.Dispatch.Judge(ctx, r.actor(a.Call), r.call(a.Call))
	asks := j.Decision.Verdict == policy.Ask
	if a.Approved == nil {
		j = r.refused(j)
	}
	same := j.Hash() == a.Step.Hash || a.Step.Hash == judgedLater(j).Hash() && inOwnRows(j.Intent)
	switch {
	case j.Fault != nil:
		return r.done(ctx, a.Step, j, *j.Fault)
	case asks && !same && a.Approved != nil && ranSinceAsked(r.st.Steps, a):
		j.Decision.Reason += "; the calls before it have changed what it would touch"
		return r.askAgain(ctx, a.Step, j)
	case (asks && a.Again || a.Approved != nil && (asks || !ranSinceAsked(r.st.Steps, a))) && !same:
		return r.done(ctx, a.Step, j, tools.Fail(tools.Conflict, "ask again", "not run: what the call would touch has changed since it was approved"))
	case a.Approved == nil && asks && !a.Again:
		return r.askAgain(ctx, a.Step, j)
	}
	step := a.Step
	step.State, step.Started, step.Hash, step.Effect = turn.StepIntent, r.run.thread.Clock.Wall(), j.Hash(), j.Intent.Effect
	if needsIntent(j) || a.Approved != nil {
		c := turn.Commit{Steps: []turn.Step{step}, Changes: []tools.Change{r.approved(j, a.Approved)}, Events: []event.Event{r.started(j)}}
		if a.Approved != nil {
			c.UsedApproval = a.Approved.ID
		}
		if err := r.run.commit(ctx, c); err != nil {
			return err
		}
		fail.Point("tool.intent")
	}
	return r.perform(ctx, step, j)
}

// askAgain asks for approval of a call that was allowed at first, or whose effect has changed since.
func (r toolCalls) askAgain(ctx context.Context, step turn.Step, j Judged) error {
	step.State, step.Question, step.Hash = turn.StepAsked, turn.Asks, j.Hash()
	return r.run.commit(ctx, turn.Commit{Steps: []turn.Step{step}, Question: r.approval([]Judged{j}), Wait: approvalOf(j)})
}

// approvalOf makes the wait that wakes the turn when the question about a call is answered or expires. It is committed with the
// question, because the answer may come before the turn has parked.
func approvalOf(j Judged) *turn.Wait {
	return &turn.Wait{CallID: j.Call.ID, Kind: tools.ForQuestion, Question: turn.Asks}
}

// approved is the audit row of a call that starts. q is the question that approved it, nil for none.
func (r toolCalls) approved(j Judged, q *turn.Question) policy.Entry {
	e := r.run.thread.Dispatch.Entry(r.actorOf(j), j)
	if q != nil {
		e.Decision = policy.Decision{Verdict: policy.Allow, Reason: "approved: question " + q.Code + " (" + q.Answer + ")"}
	}
	return e
}

// perform runs a call whose intent is committed, and commits its result.
func (r toolCalls) perform(ctx context.Context, step turn.Step, j Judged) error {
	fail.Point("tool.started")
	if step.Started.IsZero() {
		step.Started = r.run.thread.Clock.Wall()
	}
	j.Call.Live = live(ctx, r, j, step.N)
	return r.await(ctx, step, j, func(ctx context.Context) tools.Result { return r.run.thread.Dispatch.Run(ctx, j) })
}

// ended commits the result of a call that has run, or parks the turn if the result says so.
func (r toolCalls) ended(ctx context.Context, step turn.Step, c slowCall) error {
	j := c.judged
	result := r.assisted(ctx, j, c.result)
	result = r.run.thread.Dispatch.limited(ctx, j, result, resultLimit(r.st, r.run.thread.Models().First().Info(), step))
	fail.Point("tool.effect")
	if w, ok := result.Next.(tools.Wait); ok && !result.IsError {
		return r.park(ctx, step, j, w, result)
	}
	return r.doneIn(ctx, step, j, result, c.took)
}

// resultShare is the part of a model's window, in percent, that the results of one answer may fill. leastResult is the minimum for each
// result, in bytes.
const (
	resultShare = 25
	leastResult = 1_000
)

// park parks the turn with a wait. turn.Next makes the call's result when the wait is over.
func (r toolCalls) park(ctx context.Context, step turn.Step, j Judged, w tools.Wait, result tools.Result) error {
	ran := step
	step.State = turn.StepParked
	c := turn.Commit{
		Taint: j.Taint(result), Steps: []turn.Step{step},
		Wait: &turn.Wait{CallID: j.Call.ID, Kind: w.Kind, Until: w.Until, Subject: w.Subject},
	}
	if w.Ask != nil {
		until := w.Until
		if until.IsZero() {
			until = r.run.thread.Clock.Wall().Add(askOpen)
		}
		c.Wait.Until, c.Wait.Question = time.Time{}, turn.Asks
		c.Question = &turn.Question{Subject: turn.AboutAsk, Turn: r.run.id, CallID: j.Call.ID, Tool: j.Call.Name, Text: w.Ask.Text, Link: w.Ask.Link, Options: w.Ask.Options, Until: until, To: r.run.ownerAddress(r.st.Turn)}
	}
	if w.Kind == tools.ForProcess { // nothing has been read yet
		c.Taint = ""
	}
	c.Park = r.st.ParkedBy(step, *c.Wait)
	e := r.run.thread.Dispatch.Entry(r.actorOf(j), j)
	e.Outcome = "waits"
	c.Changes = append(append(c.Changes, result.Changes...), e)
	err := r.run.commit(ctx, c)
	if fault, ok := refused(err); ok && len(result.Changes) > 0 {
		return r.done(ctx, ran, j, tools.Fail(tools.Conflict, fault.Hint, "%s", fault.Text))
	}
	return err
}

// started is the event for clients that watch the turn. It is committed with the intent, so it comes before the effect.
func (r toolCalls) started(j Judged) event.Event {
	return event.Event{Type: "tool.started", Session: r.st.Turn.Key, Turn: r.run.id, Data: map[string]any{"call": j.Call.ID, "tool": j.Call.Name, "summary": j.Intent.Summary}}
}

// probe asks the tool whether an interrupted run took effect. If it did not, the call runs again.
func (r toolCalls) probe(ctx context.Context, a turn.Probe) error {
	j := r.run.thread.Dispatch.Judge(ctx, r.actor(a.Call), r.call(a.Call))
	prober, ok := j.Tool.(tools.Prober)
	if !ok || j.Fault != nil {
		return r.resolve(ctx, turn.Unknown(a.Step, a.Call))
	}
	took, err := prober.Probe(ctx, j.Call, j.Intent)
	switch {
	case err != nil:
		return r.resolve(ctx, turn.Unknown(a.Step, a.Call))
	case took:
		return r.done(ctx, a.Step, j, tools.Result{Content: "done (hob was interrupted right after; it checked that the effect is there)"})
	}
	return r.execute(ctx, turn.Execute{Step: a.Step, Call: a.Call, Again: true})
}

// resolve gives a call a result without running it.
func (r toolCalls) resolve(ctx context.Context, a turn.Resolve) error {
	if a.Lost && fail.Broken("repeat-once") {
		return r.execute(ctx, turn.Execute{Step: a.Step, Call: a.Call, Again: true})
	}
	step := a.Step
	step.State, step.Ended = turn.StepDone, r.run.thread.Clock.Wall()
	if a.Lost {
		step.State = turn.StepUnknown
	}
	outcome := "ok"
	if a.Result.IsError {
		outcome = string(a.Result.Code)
	}
	st := r.st
	st.Turn.Tainted = st.Turn.Tainted || a.Result.Foreign != ""
	answer := resultItem(st, a.Call, step.N, a.Result)
	finished := map[string]any{"call": step.CallID, "tool": step.Tool, "error": outcome, "failed": turn.FailureLine(a.Call, answer), "ms": 0}
	c := turn.Commit{
		Taint: a.Result.Foreign,
		Steps: []turn.Step{step}, Items: []llm.Item{answer}, Changes: []tools.Change{r.unrun(a, outcome)},
		Events: []event.Event{{Type: "tool.finished", Session: r.st.Turn.Key, Turn: r.run.id, Data: finished}},
	}
	if a.Lost {
		c.Changes = append(c.Changes, r.traces(ctx, a)...)
	}
	return r.run.commit(ctx, c)
}

// unrun makes the audit row of a call that was resolved without running. A call that was started has an earlier row with the
// decision.
func (r toolCalls) unrun(a turn.Resolve, outcome string) policy.Entry {
	e := r.run.thread.Dispatch.Entry(r.actor(a.Call), Judged{Call: r.call(a.Call), Decision: policy.Decision{Verdict: policy.Allow}})
	e.ArgsHash, e.Outcome = a.Step.Hash, outcome
	if a.Step.Started.IsZero() {
		e.Decision = policy.Decision{Verdict: policy.NotJudged, Reason: failureOf(a.Result)}
		if a.Result.Code == tools.Denied {
			e.Decision.Verdict = policy.Deny // the owner refused or did not answer
		}
	}
	return e
}

// callItem finds a call in the transcript.
func callItem(st turn.Snapshot, id string) llm.Item {
	for _, it := range st.Items {
		if it.Kind == llm.CallItem && it.CallID == id {
			return it
		}
	}
	return llm.Item{Session: st.Turn.Session, Turn: st.Turn.ID, CallID: id}
}
