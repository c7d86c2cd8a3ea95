package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/daemon/sys"
	"hob/tools"
)

// Prompts keeps the stable prefix of each session. The prefix changes only with the session, the model or the config, so that
// providers can cache it.
type Prompts interface {
	// Prompt returns the prefix of a session. If there is none, it stores and returns the result of fresh.
	// The prefix for guests (askers other than the owner) is stored apart from the owner's.
	Prompt(ctx context.Context, session int64, guest bool, fresh func() turn.Prefix) (turn.Prefix, error)
	// Shown returns the sections that the session was shown last, nil if it has no prefix. A turn.Shown changes them.
	Shown(ctx context.Context, session int64, guest bool) ([]turn.Section, error)
}

// prefix is the system text and the tools that precede the transcript in each request.
type prefix struct {
	system string
	tools  []llm.Tool
}

// Switch says that another model answered instead of the first choice.
type Switch struct {
	Session  string
	From, To llm.Info
	Cause    error // an *llm.Error, or turn.ErrBudget
}

// attempt is one request to one model, with the rows it is made of and the step that holds its reservation.
type attempt struct {
	st    turn.Snapshot
	info  llm.Info
	step  turn.Step
	req   llm.Request
	size  size
	usage llm.Usage // cost of an answer that cannot be used
	news  []Switch  // notices for the owner, sent with the answer

	refused bool // the model has refused a longer form of this request
	shrunk  bool // the request is a shorter form of the conversation; see fitted
}

// modelCalls carries out turn.Request.
type modelCalls struct{ run *run }

// request sends the transcript to the models of the chain until one answers, and commits the answer. Each attempt is a step of
// its own: Begin commits it with a reservation before the request, so that a crash cannot lose its cost.
func (r modelCalls) request(ctx context.Context, st turn.Snapshot) error {
	if err := r.transcribe(ctx, &st); err != nil {
		return err
	}
	chain := r.run.thread.Models()
	models := chain
	interprets := r.interprets(ctx, st, models)
	if interprets {
		chain = llm.NewChain(r.run.thread.Fallback.Model)
	}
	if done, err := r.noteChanges(ctx, st, chain.First().Info()); done || err != nil {
		return err
	}
	// A compaction is committed on its own. The loop then reads the shorter conversation and comes back.
	if done, err := r.compactIfFull(ctx, st, chain.First().Info(), false); done || err != nil {
		return err
	}
	plan, news, err := r.plan(ctx, st, chain)
	if err != nil {
		return err
	}
	// All models failed a short time ago, so the interpreter answers without asking them again.
	// A program is told at once too, because it can try again itself.
	if plan.AllResting() && (r.mayFallBack(st) || st.Turn.ReplyTo.Channel() == event.Endpoint) {
		return r.fallBackOrFail(ctx, st, nextStep(st), r.allFailed(chain))
	}
	refused := false
	for n := nextStep(st); ; n++ {
		a := attempt{st: st, info: plan.Model().Info(), step: turn.Step{N: n, Kind: turn.ModelStep, State: turn.StepIntent}, refused: refused}
		err := r.prepare(ctx, &a)
		st = a.st // includes the messages that have joined
		switch {
		case errors.Is(err, turn.ErrBudget) && plan.Skip():
			news = append(news, Switch{Session: st.Turn.Key, From: a.info, Cause: turn.ErrBudget})
			continue // a cheaper model may fit into the budget
		case errors.Is(err, turn.ErrBudget):
			return r.fallBackOrFail(ctx, st, n, err)
		case err != nil:
			return r.unprepared(ctx, st, err)
		case interprets && !r.interprets(ctx, st, models): // the loop comes back and asks the model
			return r.closeFailed(ctx, a, errors.New("a message joined that is for a model"), "")
		}
		answer, fault := r.ask(ctx, plan.Model(), &a)
		if fault == nil {
			plan.Worked()
			a.news = news
			return r.run.answered(ctx, a, answer)
		}
		// The provider's count can differ from hob's estimate, so its refusal of a long request forces a compaction. If a parked
		// turn prevents that, a shorter form is sent once.
		first := chain.First().Info() // a refusal may have told a smaller window
		if llm.FaultOf(fault) == llm.TooLarge && a.info.Is(first) && !refused && r.shrinks(ctx, a) {
			refused = true
			if err := r.closeFailed(ctx, a, fault, ""); err != nil {
				return err
			}
			if done, err := r.compactIfFull(ctx, st, first, true); done || err != nil {
				return err
			}
			continue
		}
		wait, next, err := r.failed(ctx, plan, a, fault)
		switch {
		case err != nil:
			return err
		case next == llm.GiveUp:
			return r.fallBackOrFail(ctx, st, n+1, r.explained(ctx, a, fault))
		case next == llm.Another && plan.Rests(a.info, r.run.thread.Clock.Wall()):
			news = append(news, Switch{Session: st.Turn.Key, From: a.info, Cause: fault})
		}
		if changed, err := r.pause(ctx, wait, models); changed || err != nil {
			return err // the loop comes back and asks the models of the new config
		}
	}
}

// pause waits before the next attempt. It ends early, and reports changed, when other models are configured.
func (r modelCalls) pause(ctx context.Context, wait time.Duration, models *llm.Chain) (changed bool, err error) {
	for ; ; wait -= time.Second {
		if !sys.Sleep(ctx, min(wait, time.Second)) {
			return false, context.Cause(ctx)
		}
		if changed = r.run.thread.Models() != models; changed || wait <= time.Second {
			return changed, nil
		}
	}
}

// firstRequest returns the request that a new turn begins with, for the commit that claims the turn. It returns false if the turn begins
// with something else, or if the cost cannot be known yet: prepare then reserves it in a commit of its own.
func (t *Thread) firstRequest(o turn.Opening) (turn.Step, bool) {
	if _, asks := turn.Next(o.Snapshot).(turn.Request); !asks || !o.Prefixed || o.Snapshot.Turn.Plain || t.Transcribe != nil && slices.ContainsFunc(o.Snapshot.Items, untranscribed) {
		return turn.Step{}, false
	}
	if t.Fallback.First != nil && every(o.Snapshot, t.understood) {
		return turn.Step{}, false // the interpreter may go first, which costs nothing
	}
	plan := t.Models().Plan(t.Clock.Wall(), func(i llm.Info) bool { return sizeOf(o.Transcript, prefix{}, i).fits(i) })
	info := plan.Model().Info()
	s := sizeOf(o.Transcript, requestPrefix(o.Prefix, info, t.Dispatch.Set), info).with(nil, info)
	if info.Local || info.Interpreter || plan.AllResting() || !s.fits(info) || s.estimate() > room(info)*compactAt/100 || checkTokenLimit(o.Snapshot.Turn.RunLimits, s, info) != nil {
		return turn.Step{}, false
	}
	return turn.Step{N: 1, Kind: turn.ModelStep, State: turn.StepIntent, Model: info.Name(), Reserve: s.reserve(info)}, true
}

// unprepared ends the turn if its request can never be made. It returns any other error.
func (r modelCalls) unprepared(ctx context.Context, st turn.Snapshot, err error) error {
	if spent := (*tokenLimitError)(nil); errors.As(err, &spent) {
		return r.run.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: spent.Error()})
	}
	if errors.Is(err, turn.ErrOpenCall) {
		return r.run.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: "the conversation has a call without a result (/new begins a new one)"})
	}
	return err
}

// plan orders the models for a request. Models that failed a short time ago come last. The first choice is left out
// when not even a shorter form of the request fits into its window.
func (r modelCalls) plan(ctx context.Context, st turn.Snapshot, chain *llm.Chain) (*llm.Plan, []Switch, error) {
	items, err := r.transcript(ctx, st.Turn.Session)
	if err != nil {
		return nil, nil, err
	}
	first := chain.First().Info()
	_, size, _ := r.fitted(items, prefix{}, first, false)
	// Any other model can take a shorter form of the request too; see fitted.
	plan := chain.Plan(r.run.thread.Clock.Wall(), func(i llm.Info) bool { return size.fits(i) || i != first })
	if size.fits(first) || plan.Model().Info() == first {
		return plan, nil, nil
	}
	return plan, []Switch{{Session: st.Turn.Key, From: first, Cause: &llm.Error{Fault: llm.TooLarge}}}, nil
}

// failed closes a failed attempt and returns what to do next, and after which wait.
func (r modelCalls) failed(ctx context.Context, plan *llm.Plan, a attempt, fault error) (wait time.Duration, next llm.Next, err error) {
	if ctx.Err() != nil {
		return 0, llm.GiveUp, errors.Join(context.Cause(ctx), r.closeFailed(ctx, a, fault, ""))
	}
	wait, next = plan.Failed(fault, r.run.thread.Clock.Wall(), r.run.thread.Jitter(), timeLeft(ctx))
	if r.mayFallBack(a.st) { // the interpreter understands the text and answers at once
		next = llm.GiveUp
	}
	notice, name, why := "", a.info.Name(), truncate(fault.Error(), 500)
	switch next {
	case llm.Another:
		to := plan.Model().Info().Name()
		notice = fmt.Sprintf("%s does not answer (%s); asking %s.", name, truncate(why, 200), to)
		r.run.thread.Log.Warn("model call failed, asking another model", "turn", r.run.id, "model", name, "next", to, "err", why)
	case llm.Again:
		notice = fmt.Sprintf("%s does not answer (%s); trying again in %s.", name, truncate(why, 200), wait.Round(time.Second/10))
		r.run.thread.Log.Warn("model call failed, trying again", "turn", r.run.id, "model", name, "wait", wait, "err", why)
	}
	return wait, next, r.closeFailed(ctx, a, fault, notice)
}

// timeLeft is how long the turn may still run.
func timeLeft(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return 24 * time.Hour
	}
	return time.Until(end)
}

// nextStep returns the number of the next step of a turn.
func nextStep(st turn.Snapshot) int {
	n := 1
	for _, p := range st.Steps {
		n = max(n, p.N+1)
	}
	return n
}

// ask sends a prepared request to one model. Each error that it returns is a failure of the model.
func (r modelCalls) ask(ctx context.Context, model llm.Model, a *attempt) (llm.Answer, error) {
	if !a.size.fits(a.info) {
		return llm.Answer{}, &llm.Error{Fault: llm.TooLarge, Text: fmt.Sprintf("the request has about %d tokens even after a compaction, %s takes %d", a.size.estimate(), a.info.Name(), a.info.Context)}
	}
	fail.Point("model.inflight")
	last, err := r.run.thread.Turns.LastEvent(ctx)
	if err != nil {
		r.run.thread.Log.Warn("the live view of an answer may be out of order", "turn", r.run.id, "err", err)
	}
	piece, end := r.stream(ctx, a.st, a.step.N, last)
	answer, err := model.Answer(ctx, a.req, piece)
	if err != nil {
		return answer, err
	}
	end()
	fail.Point("answer.complete")
	if usable(answer) {
		return answer, nil
	}
	a.usage = a.info.Bill(answer.Usage)
	return answer, &llm.Error{Fault: llm.Empty}
}

// usable reports whether an answer can be used. An empty answer that was cut off or refused counts as usable: its finish
// reason is information for the owner.
func usable(a llm.Answer) bool {
	return len(a.Calls) > 0 || !blank(a.Text) || a.Finish == llm.Length || a.Finish == llm.Filtered
}

// prepare adds waiting messages to the turn, reserves the cost and renders the request. Messages that join change a.st,
// because the answer goes to the newest sender.
func (r modelCalls) prepare(ctx context.Context, a *attempt) error {
	items, err := r.transcript(ctx, a.st.Turn.Session)
	if err != nil {
		return err
	}
	head, err := r.prefixOf(ctx, a.st, a.info)
	if err != nil {
		return err
	}
	items, a.size, a.shrunk = r.fitted(items, head, a.info, a.refused)
	if err := checkTokenLimit(a.st.Turn.RunLimits, a.size, a.info); err != nil {
		return err
	}
	a.step.Model, a.step.Started = a.info.Name(), r.run.thread.Clock.Wall()
	begin := turn.Begin{Turn: r.run.id, Row: a.st.Turn, Step: a.step, Held: r.run.reserved, Free: a.info.Local, Apart: r.apart(ctx, a), Reserve: func(joined []event.Part) turn.Amount { return a.size.with(joined, a.info).reserve(a.info) }}
	if !a.info.Local && r.run.reserved.N == 0 { // with a reservation there may be no commit to count the time in
		begin.Ran = r.run.ran()
	}
	// This commit comes before the request, so that a crash after it leaves a trace of the possible cost.
	begun, err := r.run.thread.Turns.Begin(ctx, begin)
	if err != nil {
		return fmt.Errorf("begin request: %w", err)
	}
	r.run.opening, r.run.reserved = nil, turn.Step{}
	a.step.Reserve = begun.Reserve
	if begun.Joined > 0 {
		if items, err = r.reread(ctx, &a.st); err != nil {
			return err
		}
		items, a.size, a.shrunk = r.fitted(items, head, a.info, a.refused)
	}
	messages, err := turn.Render(items, r.run.id)
	if err != nil {
		return fmt.Errorf("render session %s: %w", a.st.Turn.Key, err)
	}
	a.req = llm.Request{System: head.system, Tools: head.tools, Messages: messages, MaxOutput: a.size.maxAnswerWithin(a.st.Turn.RunLimits, a.info)}
	return nil
}

// fitted returns the items of a request to a model, and their size. If they do not fit, or the model has refused them, the request gets a
// shorter form that is not committed. This happens with a fallback model that has a smaller window, and while a parked turn prevents
// compaction.
func (r modelCalls) fitted(items []llm.Item, head prefix, info llm.Info, refused bool) (fit []llm.Item, s size, shrunk bool) {
	if s = sizeOf(items, head, info); s.fits(info) && !refused || info.Interpreter {
		return items, s, false
	}
	limit := room(info)*compactTo/100*minBytesPerToken - head.bytes()
	if refused { // its window is smaller than hob knows
		limit = min(limit, bytesOfAll(items, info)*compactTo/100)
	}
	items = turn.Shrunk(items, r.run.id, bytesIn(info), max(limit, 0), r.run.thread.Dispatch.changes)
	return items, sizeOf(items, head, info), true
}

// shrinks reports whether the shorter form of a request that was refused is at least a quarter shorter.
func (r modelCalls) shrinks(ctx context.Context, a attempt) bool {
	items, err := r.transcript(ctx, a.st.Turn.Session)
	if err != nil || a.shrunk {
		return false
	}
	fit, _, _ := r.fitted(items, prefix{a.req.System, a.req.Tools}, a.info, true)
	return bytesOfAll(fit, a.info) <= bytesOfAll(items, a.info)*3/4
}

// reread reads the turn and the transcript again after messages have joined.
func (r modelCalls) reread(ctx context.Context, st *turn.Snapshot) ([]llm.Item, error) {
	if err := r.reload(ctx, st); err != nil {
		return nil, err
	}
	if err := r.transcribe(ctx, st); err != nil {
		return nil, err
	}
	return r.transcript(ctx, st.Turn.Session)
}

// transcript reads the items of the session. The claim of a new turn has brought them.
func (r modelCalls) transcript(ctx context.Context, session int64) ([]llm.Item, error) {
	if r.run.opening != nil {
		return r.run.opening.Transcript, nil
	}
	if r.run.thread.reads() == turn.RecentTurns {
		return r.run.thread.History.Recent(ctx, r.run.id)
	}
	items, err := r.run.thread.Turns.Transcript(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return items, nil
}

// reload reads the turn and its items again.
func (r modelCalls) reload(ctx context.Context, st *turn.Snapshot) error {
	r.run.opening = nil
	now, err := r.run.thread.Turns.Load(ctx, r.run.id)
	if err != nil {
		return fmt.Errorf("load turn %d: %w", r.run.id, err)
	}
	st.Turn, st.Items, r.run.turn = now.Turn, now.Items, now.Turn
	return nil
}

// transcribe has the turn's voice notes transcribed before a model sees them for the first time.
func (r modelCalls) transcribe(ctx context.Context, st *turn.Snapshot) error {
	if r.run.thread.Transcribe == nil || !slices.ContainsFunc(st.Items, untranscribed) {
		return nil
	}
	if err := r.run.thread.Transcribe(ctx, r.run.id); err != nil {
		return fmt.Errorf("transcribe voice notes: %w", err)
	}
	return r.reload(ctx, st)
}

// untranscribed reports whether an input has a voice note without a transcript.
func untranscribed(it llm.Item) bool {
	return it.Kind == llm.Input && slices.ContainsFunc(it.Parts, func(p event.Part) bool { return p.Voice && !p.Transcribed })
}

// prefixOf returns the session's prefix, fitted to the model. A bare model ignores the prefix, so none is stored for it.
func (r modelCalls) prefixOf(ctx context.Context, st turn.Snapshot, info llm.Info) (prefix, error) {
	guest := st.Turn.Guest
	fresh := func() turn.Prefix { return r.newPrefix(st.Turn.Key, guest) }
	if info.Interpreter {
		now := fresh()
		return prefix{now.Text(), now.Tools}, nil
	}
	if o := r.run.opening; o != nil && o.Prefixed {
		return requestPrefix(o.Prefix, info, r.run.thread.Dispatch.Set), nil
	}
	p, err := r.run.thread.Prompts.Prompt(ctx, st.Turn.Session, guest, fresh)
	if err != nil {
		return prefix{}, fmt.Errorf("read prompt: %w", err)
	}
	return requestPrefix(p, info, r.run.thread.Dispatch.Set), nil
}

// schemas converts the descriptions of tools to the form of a request.
func schemas(specs []tools.Spec) []llm.Tool {
	list := make([]llm.Tool, len(specs))
	for i, s := range specs {
		list[i] = llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Sent()}
	}
	return list
}

// closeFailed closes the step of a failed request. notice, if not empty, is shown to watching clients. If the provider may have billed the
// request and does not say how much, the whole reservation counts as spent.
func (r modelCalls) closeFailed(ctx context.Context, a attempt, cause error, notice string) error {
	var c turn.Commit
	step := a.step
	step.State, step.Ended, step.Why, step.Fault = turn.StepUnknown, r.run.thread.Clock.Wall(), truncate(cause.Error(), 500), llm.FaultOf(cause)
	switch {
	case a.usage != llm.Usage{}:
		step.Usage = a.usage
	// The provider may have billed it: a budget must not be exceeded because of an unknown cost.
	case llm.Billable(cause):
		step.Usage = llm.Usage{Input: int(step.Reserve.Tokens), Cost: step.Reserve.Micros, Priced: step.Reserve.Micros > 0}
	}
	c.Steps = []turn.Step{step}
	if notice != "" {
		c.Events = []event.Event{{Type: "notice", Turn: r.run.id, Data: map[string]any{"turn": r.run.id, "text": notice}}}
	}
	return r.run.commit(ctx, c)
}
