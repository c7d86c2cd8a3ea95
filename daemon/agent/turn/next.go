package turn

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// State is all the rows that decide what a turn does next.
type State struct {
	Turn      Turn
	Items     []llm.Item // the turn's own, by seq
	Steps     []Step     // by N
	Waits     []Wait
	Questions map[int64]Question // that its steps and waits name
	Relations Relations
	Overtaken int64 // seq of the newest item that another turn added to the session since this one's last answer; 0: none
	Epoch     int64 // of this process
	Now       time.Time
	Limits    Limits
}

// Limits of one turn.
type Limits struct {
	Requests int           // model requests
	Running  time.Duration // time not parked
}

// The ends of rows of calls that lead nowhere: the same call this often, whatever came of it, and the same few calls over and
// over, this often, with the same results.
const (
	maxSame   = 3
	maxRounds = 3
	maxCycle  = 4 // calls of one round
)

// Action is what a turn does now. The agent carries it out, commits what came of it, and asks again.
type Action interface{ action() }

// The actions.
type (
	// Request sends the transcript to the model.
	Request struct{}
	// Say delivers a text without any model: a reminder.
	Say struct{ Text string }
	// Execute runs a call; Approved is the question that allowed it, Again a run that was interrupted and may be repeated.
	Execute struct {
		Step     Step
		Call     llm.Item
		Approved *Question
		Again    bool
	}
	// Probe asks the tool whether an interrupted run took effect.
	Probe struct {
		Step Step
		Call llm.Item
	}
	// Resolve gives a call its result without running it.
	Resolve struct {
		Step   Step
		Call   llm.Item
		Result tools.Result
		Lost   bool // the outcome is unknown
	}
	// Park leaves the turn until the wait of one call is met.
	Park struct {
		Why string
		On  string // the call whose wait it is
	}
	// Finish ends the turn.
	Finish struct {
		State Status
		Text  string // what it says, "" for nothing
		Why   string // for the owner, when it did not end well
		Fault string // why the run that the turn serves has failed all the same; see Fault
	}
)

func (Request) action() {}
func (Say) action()     {}
func (Execute) action() {}
func (Probe) action()   {}
func (Resolve) action() {}
func (Park) action()    {}
func (Finish) action()  {}

// Next is pure: the same rows give the same action, in this process or in the next one.
func Next(s State) Action {
	if text, ok := reminder(s); ok {
		return Say{Text: text}
	}
	if why := exceeded(s); why != "" {
		return Finish{State: Failed, Why: why}
	}
	for _, step := range s.Steps {
		if step.Kind != ToolStep || step.State == Over || step.State == Lost {
			continue
		}
		return nextOf(s, step)
	}
	if text, done := answered(s); done {
		return Finish{State: Done, Text: text}
	}
	return Request{}
}

// reminder is a fire whose prompt is "say: TEXT". What stands behind the prompt is for models: what was missed before, what a gate saw, what
// a watch or a webhook brought.
func reminder(s State) (string, bool) {
	if len(s.Items) != 1 || len(s.Steps) != 0 || s.Items[0].Envelope == nil || s.Items[0].Envelope.Kind != event.Fire {
		return "", false
	}
	parts := s.Items[0].Parts
	text, ok := strings.CutPrefix(event.TextOf(parts[:min(1, len(parts))]), "say:")
	return strings.TrimSpace(text), ok
}

func exceeded(s State) string {
	requests := 0
	for _, step := range s.Steps {
		if step.Kind == ModelStep && step.State != Lost {
			requests++
		}
	}
	switch {
	case s.Limits.Running > 0 && s.Turn.Running >= s.Limits.Running:
		return fmt.Sprintf("it ran for %s, the limit of one turn", s.Limits.Running)
	case repeats(s.Items) >= maxSame:
		return fmt.Sprintf("it made the same call %d times in a row%s", maxSame, lastFault(s.Items))
	case cycle(s.Items) > 0:
		return fmt.Sprintf("it made the same %d calls over and over, with the same results", cycle(s.Items))
	case s.Limits.Requests > 0 && requests >= s.Limits.Requests && readyToAsk(s):
		return fmt.Sprintf("it needed more than %d model requests, the limit of one turn", s.Limits.Requests)
	default:
		return ""
	}
}

// lastFault is what the newest result says, if it is an error.
func lastFault(items []llm.Item) string {
	for i := len(items) - 1; i >= 0; i-- {
		if it := items[i]; it.Kind == llm.ResultOf {
			text, _, _ := strings.Cut(event.TextOf(it.Parts), "\n")
			if !it.IsError || text == "" {
				return ""
			}
			return ", and the last time: " + text
		}
	}
	return ""
}

// settled reports whether the turn would now ask the model again.
func readyToAsk(s State) bool {
	for _, step := range s.Steps {
		if step.Kind == ToolStep && step.State != Over && step.State != Lost {
			return false
		}
	}
	_, done := answered(s)
	return !done
}

// repeats counts how often the newest call stands at the end of the calls, arguments and all.
func repeats(items []llm.Item) int {
	var last *llm.Item
	n := 0
	for i := len(items) - 1; i >= 0; i-- {
		it := &items[i]
		if it.Kind != llm.CallItem {
			continue
		}
		if last == nil {
			last = it
		}
		if it.Tool != last.Tool || !bytes.Equal(it.Args, last.Args) {
			break
		}
		n++
	}
	return n
}

// circle finds the shortest round of two calls or more that ends the turn's calls maxRounds times, each time with the same
// results, and returns its length; 0: there is none.
func cycle(items []llm.Item) int {
	var done []string // calls with their results, newest first
	results := map[string]string{}
	for i := len(items) - 1; i >= 0 && len(done) < maxRounds*maxCycle; i-- {
		switch it := items[i]; it.Kind {
		case llm.Input:
			i = 0 // what was said before has been answered since
		case llm.ResultOf:
			results[it.CallID] = event.TextOf(it.Parts)
		case llm.CallItem:
			result, there := results[it.CallID]
			if !there {
				return 0
			}
			done = append(done, it.Tool+"\x00"+string(it.Args)+"\x00"+result)
		}
	}
	for n := 2; n <= maxCycle && n*maxRounds <= len(done); n++ {
		if repeated(done, n) {
			return n
		}
	}
	return 0
}

// repeated reports whether the first n entries come maxRounds times.
func repeated(list []string, n int) bool {
	for i := n; i < n*maxRounds; i++ {
		if list[i] != list[i-n] {
			return false
		}
	}
	return true
}

// answered returns the newest words of the model when nothing came after them: no call, no further input.
func answered(s State) (string, bool) {
	for i := len(s.Items) - 1; i >= 0; i-- {
		switch s.Items[i].Kind {
		case llm.Reasoning:
			continue
		case llm.Text:
			return event.TextOf(s.Items[i].Parts), true
		default:
			return "", false
		}
	}
	return "", false
}

// nextOf is what happens to the first call that has no result.
func nextOf(s State, step Step) Action {
	call := callOf(s.Items, step.CallID)
	switch step.State {
	case Intent:
		return interrupted(step, call)
	case Asked:
		return asked(s, step, call)
	case Parked:
		return parked(s, step, call)
	default:
		if overtaken(s, call) {
			return notRun(step, call)
		}
		return Execute{Step: step, Call: call}
	}
}

func callOf(items []llm.Item, id string) llm.Item {
	for _, it := range items {
		if it.Kind == llm.CallItem && it.CallID == id {
			return it
		}
	}
	return llm.Item{CallID: id}
}

func overtaken(s State, call llm.Item) bool { return s.Overtaken > call.Seq }

func notRun(step Step, call llm.Item) Action {
	return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Cancelled, "call again if still wanted",
		"not run: call again if still wanted (something else was said in between)")}
}

// interrupted is a call whose run an earlier process did not finish.
func interrupted(step Step, call llm.Item) Action {
	switch step.Effect {
	case tools.Read, tools.Keyed:
		return Execute{Step: step, Call: call, Again: true}
	case tools.Checkable:
		return Probe{Step: step, Call: call}
	default:
		return Unknown(step, call)
	}
}

// Unknown resolves a call that was interrupted and cannot be known.
func Unknown(step Step, call llm.Item) Resolve {
	return Resolve{Step: step, Call: call, Lost: true, Result: tools.Fail(tools.OutcomeUnknown,
		"check what happened before you repeat it",
		"hob was interrupted while %s ran: whether it took effect is unknown; check first", step.Tool)}
}

func asked(s State, step Step, call llm.Item) Action {
	q := s.Questions[step.Question]
	switch {
	case q.State == Open:
		return Park{Why: "waiting for approval " + q.Code, On: q.CallID}
	case q.State == Expired:
		return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Denied, "ask the owner again if it still matters",
			"nobody answered in time: silence is no")}
	case q.Answer == AnswerNo || q.Answer == "":
		return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Denied, "", "the owner said no")}
	default:
		return Execute{Step: step, Call: call, Approved: &q}
	}
}

func parked(s State, step Step, call llm.Item) Action {
	for _, w := range s.Waits {
		if w.CallID != step.CallID {
			continue
		}
		if w.Met.IsZero() {
			return Park{Why: "waiting for " + string(w.Kind), On: step.CallID}
		}
		return Resolve{Step: step, Call: call, Result: waited(s, w)}
	}
	return Unknown(step, call)
}

// waited is the result of a call that parked the turn.
func waited(s State, w Wait) tools.Result {
	q, isQuestion := s.Questions[w.Question]
	switch {
	case isQuestion && q.State == Expired:
		return tools.Result{Content: "no answer: the owner did not answer in time"}
	case isQuestion:
		return tools.Result{Content: "the owner answered: " + q.Answer}
	case w.Kind == tools.ForChild:
		return s.Relations.outcome(w)
	case w.Kind == tools.ForTimer:
		return tools.Result{Content: "the time has come: " + w.Met.UTC().Format(time.RFC3339)}
	case w.How == "timer":
		return tools.Result{Content: "the time is up; " + w.Subject + " did not happen"}
	default:
		return tools.Result{Content: "it happened: " + w.Subject + " (" + w.How + ")"}
	}
}

// With is the state as it will be when items of this turn have been committed.
func (s State) With(items []llm.Item) State {
	all := make([]llm.Item, 0, len(s.Items)+len(items))
	s.Items = append(append(all, s.Items...), items...)
	return s
}
