package turn

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/text"
	"hob/tools"
)

// Snapshot holds all rows that decide what a turn does next.
type Snapshot struct {
	Turn      Turn
	Items     []llm.Item // the turn's own items, ordered by seq
	Steps     []Step     // ordered by N
	Waits     []Wait
	Questions map[int64]Question // those that the steps and waits name, by id
	Relations Relations
	Overtaken int64 // seq of the newest item that another turn added to the session since this turn's last answer, 0 for none
	Epoch     int64 // of this process
	Now       time.Time
	Limits    Limits
}

// Limits of one turn.
type Limits struct {
	Requests int           // model requests
	Running  time.Duration // time not parked
}

// Limits that end a turn which makes no progress: maxSame equal calls in a row with any results, or a cycle of at most maxCycle
// calls that repeats maxRounds times with equal results, or maxWrong answers in a row whose calls all have wrong arguments.
const (
	maxWrong  = 6
	maxSame   = 3
	maxRounds = 3
	maxCycle  = 4 // calls in one round
)

// Action is what a turn does now. The agent carries it out, commits the result, and calls Next again.
type Action interface{ action() }

// The actions.
type (
	// Request sends the transcript to the model.
	Request struct{}
	// Say delivers the text of a reminder without a model.
	Say struct{ Text string }
	// Execute runs a call. Approved is the question that allowed it, if one did. Again is true when the call was interrupted
	// and may be repeated.
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
	// Collect takes the result of a call that went on while the turn was parked.
	Collect struct {
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
	// Park suspends the turn until the wait of one call is met.
	Park struct {
		Why string
		On  string // the id of the call that waits
	}
	// Finish ends the turn.
	Finish struct {
		State Status
		Text  string // the final message, "" for none
		Why   string // the reason for the owner when State is not Done
		Fault string // why the run of a trigger or a task failed although State is Done; see Fault
	}
)

func (Request) action() {}
func (Say) action()     {}
func (Execute) action() {}
func (Probe) action()   {}
func (Resolve) action() {}
func (Collect) action() {}
func (Park) action()    {}
func (Finish) action()  {}

// Next returns the action for the rows of a turn. It is pure: equal rows give equal actions, also in another process. A restart
// after a crash is therefore not a special case. The order is: reminder, limits, the first open tool step, the end of the turn
// if the model has answered, else a request to the model.
func Next(s Snapshot) Action {
	if text, ok := reminder(s); ok {
		return Say{Text: text}
	}
	if why := exceeded(s); why != "" {
		return Finish{State: Failed, Why: why}
	}
	for i, step := range s.Steps {
		if closed(step) {
			continue
		}
		a := nextOf(s, step)
		if _, parks := a.(Park); parks && step.State == StepParked && step.Tool == tools.SpawnTool {
			if beside, ok := besideChild(s, s.Steps[i+1:]); ok {
				return beside
			}
		}
		return a
	}
	if text, done := answered(s); done {
		return Finish{State: Done, Text: text}
	}
	return Request{}
}

// closed reports whether nothing is left to do for a step, or whether it is no call.
func closed(step Step) bool {
	return step.Kind != ToolStep || step.State == StepDone || step.State == StepUnknown
}

// maxBeside is how many sub-agents of one answer a turn waits for at the same time. It is more than MaxSubagents, so that all of these stay
// busy while the first sub-agent still runs, and less than a conversation may have open.
const maxBeside = 8

// besideChild returns the call that starts the next sub-agent while the turn waits for an earlier one. Only the calls that follow directly
// count: a call of another kind may depend on what the first sub-agent answers. The results still come in the order of the calls.
func besideChild(s Snapshot, later []Step) (Action, bool) {
	open := 0
	for _, w := range s.Waits {
		if w.Kind == tools.ForChild && w.Met.IsZero() {
			open++
		}
	}
	for _, step := range later {
		call := callOf(s.Items, step.CallID)
		switch {
		case closed(step), step.State == StepParked && step.Tool == tools.SpawnTool:
			continue
		case step.State != StepAllowed, step.Tool != tools.SpawnTool, open >= maxBeside, overtaken(s, call):
			return nil, false
		}
		return Execute{Step: step, Call: call}, true
	}
	return nil, false
}

// reminder returns the text of a fire whose prompt is "say: TEXT". It ignores the input's further parts, which are for models:
// missed slots, the output of a gate, the data of a watch or webhook.
func reminder(s Snapshot) (string, bool) {
	if len(s.Items) != 1 || len(s.Steps) != 0 || s.Items[0].Envelope == nil || s.Items[0].Envelope.Kind != event.Fire {
		return "", false
	}
	parts := s.Items[0].Parts
	text, ok := strings.CutPrefix(event.TextOf(parts[:min(1, len(parts))]), "say:")
	return strings.TrimSpace(text), ok
}

// exceeded returns the limit that the turn has reached as a text for the owner, "" for none.
func exceeded(s Snapshot) string {
	requests := 0
	for _, step := range s.Steps {
		if step.Kind == ModelStep && step.State != StepUnknown {
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
	case wrongAnswers(s.Items) >= maxWrong:
		return fmt.Sprintf("its calls had wrong arguments %d times in a row%s", maxWrong, lastFault(s.Items))
	case s.Limits.Requests > 0 && requests >= s.Limits.Requests && readyToAsk(s):
		return fmt.Sprintf("it needed more than %d model requests, the limit of one turn", s.Limits.Requests)
	}
	return ""
}

// lastFault returns the first line of the newest result if that is an error.
func lastFault(items []llm.Item) string {
	for i := len(items) - 1; i >= 0; i-- {
		if it := items[i]; it.Kind == llm.ResultItem {
			text, _, _ := strings.Cut(event.TextOf(it.Parts), "\n")
			if !it.IsError || text == "" {
				return ""
			}
			return ", and the last time: " + text
		}
	}
	return ""
}

// readyToAsk reports whether the next action would be a request to the model.
func readyToAsk(s Snapshot) bool {
	for _, step := range s.Steps {
		if step.Kind == ToolStep && step.State != StepDone && step.State != StepUnknown {
			return false
		}
	}
	_, done := answered(s)
	return !done
}

// repeats returns how many calls in a row, up to the newest one, have the same tool and arguments.
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

// cycle returns the length of the shortest round of at least two calls that the turn has just made maxRounds times with equal
// results, 0 when there is none. Only calls since the newest input count.
func cycle(items []llm.Item) int {
	var done []string // calls with their results, newest first
	results := map[string]string{}
	for i := len(items) - 1; i >= 0 && len(done) < maxRounds*maxCycle; i-- {
		switch it := items[i]; it.Kind {
		case llm.Input:
			i = 0 // ends the loop: a new input starts the count again
		case llm.ResultItem:
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

// RightCall begins the line of a result that shows the right arguments of a call whose arguments were wrong.
const RightCall = "right: call "

// wrongAnswers returns how many answers in a row, up to the newest one, have only calls with wrong arguments. Each result has told what is right.
func wrongAnswers(items []llm.Item) (n int) {
	wrong, step := map[string]bool{}, 0
	for i := len(items) - 1; i >= 0; i-- {
		switch it := items[i]; {
		case it.Kind == llm.CallItem && !wrong[it.CallID] && it.Step == step: // another call of this answer is right
			return n - 1
		case it.Kind == llm.Input, it.Kind == llm.CallItem && !wrong[it.CallID]:
			return n
		case it.Kind == llm.ResultItem:
			wrong[it.CallID] = it.IsError && strings.Contains(event.TextOf(it.Parts), "\n"+RightCall)
		case it.Kind == llm.CallItem && it.Step != step:
			n, step = n+1, it.Step
		}
	}
	return n
}

// repeated reports whether the first n entries occur maxRounds times in a row.
func repeated(list []string, n int) bool {
	for i := n; i < n*maxRounds; i++ {
		if list[i] != list[i-n] {
			return false
		}
	}
	return true
}

// answered returns the model's text if it is the newest item, so that no call and no further input follow it.
func answered(s Snapshot) (string, bool) {
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

// nextOf returns the action for the first call without a result.
func nextOf(s Snapshot, step Step) Action {
	call := callOf(s.Items, step.CallID)
	switch step.State {
	case StepIntent:
		return Interrupted(step, call)
	case StepAsked:
		return asked(s, step, call)
	case StepParked:
		return parked(s, step, call)
	}
	if overtaken(s, call) {
		return notRun(step, call)
	}
	return Execute{Step: step, Call: call}
}

// callOf finds a call in the transcript by its id.
func callOf(items []llm.Item, id string) llm.Item {
	for _, it := range items {
		if it.Kind == llm.CallItem && it.CallID == id {
			return it
		}
	}
	return llm.Item{CallID: id}
}

// overtaken reports whether another turn has added to the session since the model made the call.
func overtaken(s Snapshot, call llm.Item) bool { return s.Overtaken > call.Seq }

// notRun resolves an overtaken call without running it. The model sees the added items and decides again.
func notRun(step Step, call llm.Item) Action {
	return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Cancelled, "call again if still wanted",
		"not run: call again if still wanted (something else was said in between)")}
}

// Interrupted decides about a call that an earlier process started and did not finish. The tool's effect class says whether it
// may run again, whether its effect can be checked, or whether the outcome stays unknown.
func Interrupted(step Step, call llm.Item) Action {
	switch step.Effect {
	case tools.Read, tools.Keyed:
		return Execute{Step: step, Call: call, Again: true}
	case tools.Checkable:
		return Probe{Step: step, Call: call}
	}
	return Unknown(step, call)
}

// Unknown resolves an interrupted call whose outcome cannot be found out.
func Unknown(step Step, call llm.Item) Resolve {
	return Resolve{Step: step, Call: call, Lost: true, Result: tools.Fail(tools.OutcomeUnknown,
		"check what happened before you repeat it",
		"hob was interrupted while %s ran: whether it took effect is unknown; check first", step.Tool)}
}

// asked decides about a call that needs approval, by the state of its question. No answer in time counts as no.
func asked(s Snapshot, step Step, call llm.Item) Action {
	q := s.Questions[step.Question]
	switch {
	case q.State == Open:
		return Park{Why: "waiting for approval " + q.Code, On: q.CallID}
	case q.State == Expired:
		return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Denied, "ask the owner again if it still matters",
			"nobody answered in time: silence is no")}
	case q.Answer == AnswerNo || q.Answer == "":
		return Resolve{Step: step, Call: call, Result: tools.Fail(tools.Denied, "", "the owner said no")}
	}
	return Execute{Step: step, Call: call, Approved: &q}
}

// parked decides about a call whose tool waits: park until the wait is met, then resolve the call.
func parked(s Snapshot, step Step, call llm.Item) Action {
	for _, w := range s.Waits {
		if w.CallID != step.CallID {
			continue
		}
		switch {
		case w.Met.IsZero() && w.Kind == tools.ForProcess:
			return Park{Why: "waiting for the answer of " + w.Subject, On: step.CallID}
		case w.Met.IsZero():
			return Park{Why: "waiting for " + string(w.Kind), On: step.CallID}
		case w.Kind == tools.ForProcess:
			return Collect{Step: step, Call: call}
		}
		return Resolve{Step: step, Call: call, Result: waited(s, w)}
	}
	return Unknown(step, call)
}

// waited makes the result of a call that parked the turn.
func waited(s Snapshot, w Wait) tools.Result {
	q, isQuestion := s.Questions[w.Question]
	switch {
	case isQuestion && q.State == Expired:
		return tools.Result{Content: noAnswer + "the owner did not answer in time"}
	case isQuestion:
		return tools.Result{Content: answers(callOf(s.Items, w.CallID).Args, q.Answer)}
	case w.Kind == tools.ForChild:
		return s.Relations.outcome(w)
	case w.Kind == tools.ForTimer:
		return tools.Result{Content: "the time has come: " + text.InZone(w.Met, s.Now.Location(), false)}
	case w.How == "timer":
		return tools.Result{Content: "the time is up; " + w.Subject + " did not happen"}
	}
	return tools.Result{Content: "it happened: " + w.Subject + " (" + w.How + ")"}
}

// With returns the state as it will be after a commit of these items.
func (s Snapshot) With(items []llm.Item) Snapshot {
	all := make([]llm.Item, 0, len(s.Items)+len(items))
	s.Items = append(append(all, s.Items...), items...)
	return s
}

// ParkedBy returns how the turn parks after a commit in which a call begins to wait; nil if another sub-agent of the answer can start first.
func (s Snapshot) ParkedBy(step Step, w Wait) *Park {
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].N == step.N {
			s.Steps[i] = step
		}
	}
	s.Waits = append(slices.Clone(s.Waits), w)
	if a, parks := Next(s).(Park); parks {
		return &a
	}
	return nil
}
