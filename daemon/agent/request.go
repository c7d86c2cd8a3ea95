package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
)

// Bytes of text for one token, on the safe side, until a provider has counted.
const bytesPerToken = 3

// Prompts keeps a session's stable prefix: fixed until the session, the model or the config changes.
type Prompts interface {
	// Prompt returns the system text and the tools of a session; when it has none, fresh's are stored and returned.
	Prompt(ctx context.Context, session int64, fresh func() (string, []llm.Tool)) (string, []llm.Tool, error)
}

// prefix is what stands before the transcript in each request of a session.
type prefix struct {
	system string
	tools  []llm.Tool
}

// request sends the transcript to the model, with its own retries, and commits the answer.
func (r *run) request(ctx context.Context, st turn.State) error {
	model := r.Model()
	if r.fellBack(st) {
		model = r.Fallback.Model // it goes on with what it began
	}
	for attempt := 1; ; attempt++ {
		n := nextStep(st) + attempt - 1
		req, step, err := r.prepare(ctx, &st, model.Info(), n)
		switch {
		case errors.Is(err, turn.ErrBudget):
			return r.overBudget(ctx, st)
		case errors.Is(err, turn.ErrOpenCall):
			return r.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: "the conversation has a call without a result (/new begins a new one)"})
		}
		if err != nil {
			return err
		}
		fail.Point("model.inflight")
		answer, err := model.Answer(ctx, req, r.stream(st, n))
		if err == nil {
			fail.Point("answer.complete")
			return r.answered(ctx, st, model.Info(), n, answer)
		}
		wait, again := llm.Wait(err, attempt, r.Jitter())
		if err := r.lost(ctx, model.Info(), step, err, wait); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !again {
			return r.down(ctx, st, n+1, err)
		}
		r.Log.Warn("model call failed, trying again", "turn", r.id, "attempt", attempt, "wait", wait, "err", err)
		if !pause(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

func nextStep(st turn.State) int {
	n := 1
	for _, p := range st.Steps {
		n = max(n, p.N+1)
	}
	return n
}

// prepare lets waiting messages join, reserves the cost and renders the request; step is the one that holds the reservation.
// Who joined changes st: the answer goes to him.
func (r *run) prepare(ctx context.Context, st *turn.State, info llm.Info, n int) (req llm.Request, step turn.Step, err error) {
	items, err := r.Ledger.Transcript(ctx, st.Turn.Session)
	if err != nil {
		return req, step, fmt.Errorf("read transcript: %w", err)
	}
	head, err := r.snapshot(ctx, *st, info)
	if err != nil {
		return req, step, err
	}
	step = turn.Step{N: n, Kind: turn.ModelStep, State: turn.Intent, Reserve: estimate(items, head, info), Started: r.Clock.Wall()}
	begin := turn.Begin{Turn: r.id, Step: step, Free: info.Local}
	if !info.Local {
		begin.Ran = r.ran()
	}
	joined, err := r.Ledger.Begin(ctx, begin)
	if err != nil {
		return req, step, fmt.Errorf("begin request: %w", err)
	}
	if joined > 0 {
		if items, err = r.reread(ctx, st); err != nil {
			return req, step, err
		}
	}
	messages, err := turn.Render(items, r.id)
	if err != nil {
		return req, step, fmt.Errorf("render session %s: %w", st.Turn.Key, err)
	}
	return llm.Request{System: head.system, Tools: head.tools, Messages: messages, MaxOutput: info.MaxOutput}, step, nil
}

// reread takes in what has joined.
func (r *run) reread(ctx context.Context, st *turn.State) ([]llm.Item, error) {
	now, err := r.Ledger.Load(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("load turn %d: %w", r.id, err)
	}
	st.Turn, st.Items = now.Turn, now.Items
	items, err := r.Ledger.Transcript(ctx, st.Turn.Session)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return items, nil
}

// snapshot is the session's prefix; a bare model reads none, so none is kept for it.
func (r *run) snapshot(ctx context.Context, st turn.State, info llm.Info) (p prefix, err error) {
	fresh := func() (string, []llm.Tool) { return r.set.System(), r.schemas() }
	if info.Bare {
		p.system, p.tools = fresh()
		return p, nil
	}
	p.system, p.tools, err = r.Prompts.Prompt(ctx, st.Turn.Session, fresh)
	if err != nil {
		return p, fmt.Errorf("read prompt: %w", err)
	}
	return p, nil
}

func (r *run) schemas() []llm.Tool {
	specs := r.Dispatch.Set.Specs()
	list := make([]llm.Tool, len(specs))
	for i, s := range specs {
		list[i] = llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters}
	}
	return list
}

// estimate is what a request may cost at most: everything in it as fresh input, and the longest answer.
func estimate(items []llm.Item, p prefix, info llm.Info) turn.Amount {
	size := len(p.system)
	for _, t := range p.tools {
		size += len(t.Description) + len(t.Parameters)
	}
	for _, it := range items {
		size += len(it.Args) + 32
		for _, part := range it.Parts {
			size += len(part.Text)
		}
	}
	in, out := int64(size/bytesPerToken), int64(info.MaxOutput)
	if !info.Price.Known() {
		return turn.Amount{Tokens: in + out}
	}
	return turn.Amount{Micros: (in*info.Price.Input+out*info.Price.Output)/1_000_000 + 1}
}

// stream hands pieces of the answer to whoever looks.
func (r *run) stream(st turn.State, n int) func(llm.Delta) {
	offset := 0
	return func(d llm.Delta) {
		r.progress()
		if d.Text == "" {
			return
		}
		r.Feed.Publish(event.Live{Turn: r.id, Step: n, Offset: offset, Text: d.Text, Session: st.Turn.Key})
		offset += len(d.Text)
	}
}

// lost closes the step of a failed request, and tells whoever looks that there will be another try. What may have been billed
// counts as all that was reserved: nobody says how much it was.
func (r *run) lost(ctx context.Context, info llm.Info, step turn.Step, cause error, wait time.Duration) error {
	var c turn.Commit
	if !info.Local {
		step.State, step.Ended = turn.Lost, r.Clock.Wall()
		if billable(cause) {
			step.Usage = llm.Usage{Input: int(step.Reserve.Tokens), Cost: step.Reserve.Micros, Priced: step.Reserve.Micros > 0}
		}
		c.Steps = []turn.Step{step}
	}
	if wait > 0 && ctx.Err() == nil {
		text := fmt.Sprintf("The model does not answer (%s); trying again in %s.", cut(cause.Error(), 200), wait.Round(time.Second/10))
		c.Events = []event.Event{{Type: "notice", Turn: r.id, Data: map[string]any{"turn": r.id, "text": text}}}
	}
	return r.commit(ctx, c)
}

// billable reports whether a failed request may have been charged: when the model had begun to work.
func billable(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return true
	}
	return e.Fault == llm.Broken || e.Fault == llm.Idle || e.Fault == llm.Malformed
}

// fellBack reports whether the interpreter has taken over this turn.
func (r *run) fellBack(st turn.State) bool {
	if r.Fallback.Model == nil {
		return false
	}
	own := r.Fallback.Model.Info().Provider
	return r.Model().Info().Provider != own && slices.ContainsFunc(st.Items, func(it llm.Item) bool { return it.Provider == own })
}

// down is the end when no try succeeded: the built-in interpreter answers what it fully understands, else the turn fails.
func (r *run) down(ctx context.Context, st turn.State, n int, cause error) error {
	if r.mayFallBack(st) {
		items, err := r.Ledger.Transcript(ctx, st.Turn.Session)
		if err != nil {
			return fmt.Errorf("read transcript: %w", err)
		}
		messages, err := turn.Render(items, r.id)
		if err != nil {
			return err
		}
		answer, err := r.Fallback.Model.Answer(ctx, llm.Request{Tools: r.schemas(), Messages: messages}, nil)
		if err == nil {
			return r.answered(ctx, st, r.Fallback.Model.Info(), n, answer)
		}
	}
	r.Log.Error("no model answered", "turn", r.id, "err", cause)
	return r.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: reason(cause)})
}

// reason is what the owner reads when no model answered.
func reason(err error) string {
	var e *llm.Error
	if errors.As(err, &e) && e.Fault == llm.TooLarge {
		return "the conversation is too long for the model (/new begins a new one)"
	}
	return err.Error()
}

// mayFallBack is true for the owner's own chat, at the first step, with a full match of the grammar.
func (r *run) mayFallBack(st turn.State) bool {
	if r.Fallback.Model == nil || st.Turn.Asker != event.Owner || st.Turn.Fire != 0 {
		return false
	}
	text := ""
	for _, it := range st.Items {
		switch it.Kind {
		case llm.Input:
			text = event.TextOf(it.Parts)
		case llm.CallItem, llm.Text:
			return false // a model began this: it is not for the interpreter to go on
		}
	}
	return r.Fallback.Understands(text)
}

func (r *run) overBudget(ctx context.Context, st turn.State) error {
	if err := r.OnBudget(ctx); err != nil {
		return fmt.Errorf("tell of the budget: %w", err)
	}
	return r.finish(ctx, st, turn.Commit{}, turn.Finish{State: turn.Failed, Why: "today's budget is used up (hob budget show)"})
}

// answered commits a complete answer: what was said, the judgement of all its calls and, where there is one, the first intent.
func (r *run) answered(ctx context.Context, st turn.State, info llm.Info, n int, a llm.Answer) error {
	c := turn.Commit{Items: r.spoken(st, info, n, a)}
	c.Steps = []turn.Step{{N: n, Kind: turn.ModelStep, State: turn.Over, Usage: info.Price.Of(a.Usage), Ended: r.Clock.Wall()}}
	if len(a.Calls) > 0 {
		return calls{r, st}.judge(ctx, c, n, a.Finish == llm.Length)
	}
	if strings.TrimSpace(a.Text) == "" {
		return r.finish(ctx, st, c, turn.Finish{State: turn.Failed, Why: "the model gave an empty answer (" + string(a.Finish) + ")"})
	}
	if info.Bare && r.Model().Info().Provider != info.Provider {
		a.Text += "\n(The model cannot be reached: the built-in interpreter did this.)"
	}
	return r.finish(ctx, st, c, turn.Finish{State: turn.Done, Text: a.Text})
}

// spoken is an answer as items. Calls get ids of hob's own; the provider's stay in raw.
func (r *run) spoken(st turn.State, info llm.Info, n int, a llm.Answer) []llm.Item {
	var items []llm.Item
	add := func(it llm.Item) {
		it.Provider, it.Model = info.Provider, info.Model
		items = append(items, it)
	}
	if a.Reasoning != "" {
		add(r.item(st, n, llm.Reasoning, a.Reasoning))
	}
	if a.Text != "" {
		text := a.Text
		if a.Finish == llm.Length {
			text += "\n(cut off: the model's answer reached its limit)"
		}
		add(r.item(st, n, llm.Text, text))
	}
	made := 0
	for _, it := range st.Items {
		if it.Kind == llm.CallItem {
			made++
		}
	}
	for i, call := range a.Calls {
		it := r.item(st, n, llm.CallItem, "")
		it.Parts, it.CallID, it.Tool, it.Args = nil, fmt.Sprintf("t%d_%d", r.id, made+i+1), call.Name, call.Args
		if !json.Valid(it.Args) { // providers refuse a request that repeats it; what the model wrote stays beside it
			it.Parts, it.Args = event.Say(string(it.Args)), json.RawMessage("{}")
		}
		add(it)
	}
	if len(items) > 0 && a.Raw != nil {
		items[0].Raw = a.Raw
	}
	return items
}

// silent reports whether a text is one of the tokens that mean "nothing to say".
func silent(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "HEARTBEAT_OK" || text == "NO_REPLY"
}

// pause sleeps; false: ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
