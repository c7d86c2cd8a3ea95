package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// calling is a turn whose first answer made one call that is in the given state.
func calling(state turn.StepState, effect tools.Effect) turn.Snapshot {
	return turn.Snapshot{
		Turn:  turn.Turn{ID: 1},
		Items: []llm.Item{input(1, 1, "do it"), call(2, 1, 1, "t1_1")},
		Steps: []turn.Step{
			{N: 1, Kind: turn.ModelStep, State: turn.StepDone},
			{N: 2, Kind: turn.ToolStep, State: state, CallID: "t1_1", Tool: "exec", Effect: effect, Question: 7},
		},
		Epoch: 3, Now: now, Limits: turn.Limits{Requests: 50, Running: time.Minute},
	}
}

func asked(q turn.Question) turn.Snapshot {
	s := calling(turn.StepAsked, tools.Once)
	q.ID, q.Code = 7, "ABCD"
	s.Questions = map[int64]turn.Question{7: q}
	return s
}

func waiting(w turn.Wait) turn.Snapshot {
	s := calling(turn.StepParked, tools.Keyed)
	w.CallID = "t1_1"
	s.Waits = []turn.Wait{w}
	return s
}

// kind is an action in one word, with the state that it ends in or the code of its result.
func kind(a turn.Action) string {
	switch a := a.(type) {
	case turn.Execute:
		if a.Again {
			return "execute again"
		}
		return "execute"
	case turn.Resolve:
		return strings.TrimSpace("resolve " + string(a.Result.Code))
	case turn.Finish:
		return "finish " + string(a.State)
	default:
		return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "turn."))
	}
}

func TestNext(t *testing.T) {
	fresh := calling(turn.StepDone, tools.Read)
	fresh.Items, fresh.Steps = fresh.Items[:1], nil
	answered := fresh.With([]llm.Item{said(2, 1, 1, "done")})
	reminder := fresh
	reminder.Items = []llm.Item{{Kind: llm.Input, Parts: event.Say("say: stretch"), Envelope: &llm.Envelope{Kind: event.Fire}}}
	typed := reminder
	typed.Items = []llm.Item{{Kind: llm.Input, Parts: event.Say("say: stretch"), Envelope: &llm.Envelope{Kind: event.Message}}}
	overtaken := calling(turn.StepAllowed, tools.Once)
	overtaken.Overtaken = 9
	long := fresh
	long.Turn.Running = time.Minute
	many := calling(turn.StepDone, tools.Read).With([]llm.Item{result(3, 1, "t1_1", "ok")})
	many.Limits.Requests = 1
	same := calling(turn.StepAllowed, tools.Read).With([]llm.Item{call(3, 1, 2, "t1_2"), call(4, 1, 3, "t1_3")})

	for name, c := range map[string]struct {
		state turn.Snapshot
		want  string
	}{
		"a new turn asks the model":                      {fresh, "request"},
		"an answer without calls ends it":                {answered, "finish done"},
		"a reminder needs no model":                      {reminder, "say"},
		"only a fire can be a reminder":                  {typed, "request"},
		"a judged call runs":                             {calling(turn.StepAllowed, tools.Once), "execute"},
		"a call that was overtaken does not":             {overtaken, "resolve CANCELLED"},
		"an interrupted read runs again":                 {calling(turn.StepIntent, tools.Read), "execute again"},
		"an interrupted keyed call runs again":           {calling(turn.StepIntent, tools.Keyed), "execute again"},
		"an interrupted write is looked at":              {calling(turn.StepIntent, tools.Checkable), "probe"},
		"an interrupted command is unknown":              {calling(turn.StepIntent, tools.Once), "resolve OUTCOME_UNKNOWN"},
		"an open question parks":                         {asked(turn.Question{State: turn.Open}), "park"},
		"an expired one is a no":                         {asked(turn.Question{State: turn.Expired}), "resolve PERMISSION_DENIED"},
		"no is no":                                       {asked(turn.Question{State: turn.Answered, Answer: turn.AnswerNo}), "resolve PERMISSION_DENIED"},
		"silence is no":                                  {asked(turn.Question{State: turn.Answered}), "resolve PERMISSION_DENIED"},
		"yes runs":                                       {asked(turn.Question{State: turn.Answered, Answer: turn.AnswerOnce}), "execute"},
		"an approval that was used up by this turn runs": {asked(turn.Question{State: turn.Used, Answer: turn.AnswerTurn}), "execute"},
		"a wait that is not met parks":                   {waiting(turn.Wait{Kind: tools.ForTimer}), "park"},
		"a wait that is met goes on":                     {waiting(turn.Wait{Kind: tools.ForTimer, Met: now}), "resolve"},
		"a parked call whose wait is gone is unknown":    {calling(turn.StepParked, tools.Once), "resolve OUTCOME_UNKNOWN"},
		"the model goes on after all results":            {calling(turn.StepDone, tools.Read).With([]llm.Item{result(3, 1, "t1_1", "ok")}), "request"},
		"running too long fails":                         {long, "finish failed"},
		"too many requests fail":                         {many, "finish failed"},
		"three identical calls in a row fail":            {same, "finish failed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kind(turn.Next(c.state)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(turn.Next(c.state), turn.Next(c.state), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("it is not pure: %s", diff)
			}
		})
	}
}

func TestAnAnswerOfTheOwnerIsTheResult(t *testing.T) {
	s := waiting(turn.Wait{Kind: tools.ForQuestion, Question: 7, Met: now, How: "answered"})
	s.Questions = map[int64]turn.Question{7: {State: turn.Answered, Answer: "the blue one"}}
	r, ok := turn.Next(s).(turn.Resolve)
	if !ok || !strings.Contains(r.Result.Content, "the blue one") || r.Result.IsError {
		t.Fatalf("got %+v", r)
	}
}

func TestJoins(t *testing.T) {
	running := turn.Turn{Key: "main", Asker: event.Owner}
	message := event.In{Kind: event.Message, Session: "main", Trust: event.Owner}
	for name, c := range map[string]struct {
		change func(*event.In)
		want   bool
	}{
		"a message of the same session and trust": {func(*event.In) {}, true},
		"another session":                         {func(in *event.In) { in.Session = "other" }, false},
		"somebody else":                           {func(in *event.In) { in.Trust = event.Public }, false},
		"a job's fire":                            {func(in *event.In) { in.Kind = event.Fire }, false},
		"a command":                               {func(in *event.In) { in.Kind = event.Command }, false},
		"one for tomorrow":                        {func(in *event.In) { in.NotBefore = now.Add(time.Hour) }, false},
	} {
		in := message
		c.change(&in)
		if got := turn.Joins(running, turn.Queued{Seq: 1, In: in}, now); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for _, m := range []turn.RunLimits{{Only: []string{"read"}}, {MaxTokens: 5000}} { // a report to a job's run has opened it
		limited := running
		if limited.RunLimits = m; turn.Joins(limited, turn.Queued{Seq: 1, In: message}, now) {
			t.Errorf("joins a turn with the limits %+v", m)
		}
	}
}

// TestAnyCrashIsSurvived plays a turn against turn.Next alone: a model that makes random calls, an owner who answers or does not,
// and a process that may end between any two commits. Whatever happens, every request can be rendered and only appends,
// no `once` call starts twice, and the turn ends.
func TestAnyCrashIsSurvived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &playedTurn{t: t, started: map[string]int{}, state: turn.Snapshot{
			Turn: turn.Turn{ID: 1}, Items: []llm.Item{input(1, 1, "go")}, Questions: map[int64]turn.Question{}, Epoch: 1, Now: now,
			Limits: turn.Limits{Requests: 8},
		}}
		for range 500 {
			if w.act(turn.Next(w.state)) {
				return
			}
		}
		t.Fatal("the turn does not end")
	})
}

// playedTurn carries actions out in memory, as the agent does in the database.
type playedTurn struct {
	t       *rapid.T
	state   turn.Snapshot
	seq     int64
	started map[string]int
	before  []llm.Message
}

func (w *playedTurn) crash() bool { return rapid.IntRange(0, 3).Draw(w.t, "crash") == 0 }

func (w *playedTurn) act(a turn.Action) (ended bool) {
	switch a := a.(type) {
	case turn.Request:
		w.request()
	case turn.Execute:
		w.run(a.Step, a.Call, a.Again)
	case turn.Probe:
		w.settle(a.Step, a.Call, turn.StepDone)
	case turn.Resolve:
		w.settle(a.Step, a.Call, turn.StepDone)
	case turn.Park:
		w.unpark()
	case turn.Finish:
		return true
	}
	return false
}

func (w *playedTurn) request() {
	got, err := turn.Render(w.state.Items, 1)
	if err != nil {
		w.t.Fatalf("a request cannot be rendered: %v", err)
	}
	valid(w.t, got)
	if diff := cmp.Diff(w.before, got[:min(len(w.before), len(got))], cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("what was sent has changed: %s", diff)
	}
	w.before = got
	n := len(w.state.Steps) + 1
	if w.crash() {
		w.state.Steps = append(w.state.Steps, turn.Step{N: n, Kind: turn.ModelStep, State: turn.StepUnknown})
		w.state.Epoch++
		return
	}
	w.state.Steps = append(w.state.Steps, turn.Step{N: n, Kind: turn.ModelStep, State: turn.StepDone})
	calls := rapid.IntRange(0, 3).Draw(w.t, "calls")
	w.state.Items = append(w.state.Items, said(w.next(), 1, n, "hm"))
	if calls > 0 {
		w.state.Items[len(w.state.Items)-1].Kind = llm.Reasoning
	}
	for range calls {
		w.call(n)
	}
}

func (w *playedTurn) next() int64 { w.seq++; return w.seq + 1 }

func (w *playedTurn) call(n int) {
	seq := w.next()
	c := call(seq, 1, n, fmt.Sprintf("t1_%d", seq))
	c.Args = json.RawMessage(fmt.Sprintf(`{"n":%d}`, seq))
	step := turn.Step{N: len(w.state.Steps) + 1, Kind: turn.ToolStep, State: turn.StepAllowed, CallID: c.CallID, Tool: "x"}
	step.Effect = rapid.SampledFrom([]tools.Effect{tools.Read, tools.Keyed, tools.Checkable, tools.Once}).Draw(w.t, "effect")
	if rapid.Bool().Draw(w.t, "asks") {
		step.State, step.Question = turn.StepAsked, int64(step.N)
		w.state.Questions[step.Question] = turn.Question{ID: step.Question, State: turn.Open}
	}
	w.state.Items, w.state.Steps = append(w.state.Items, c), append(w.state.Steps, step)
}

func (w *playedTurn) run(step turn.Step, c llm.Item, again bool) {
	w.started[c.CallID]++
	if step.Effect == tools.Once && (w.started[c.CallID] > 1 || again) {
		w.t.Fatalf("call %s with effect once ran twice", c.CallID)
	}
	w.put(step, turn.StepIntent)
	if w.crash() {
		w.state.Epoch++
		return
	}
	if rapid.IntRange(0, 4).Draw(w.t, "parks") == 0 {
		w.put(step, turn.StepParked)
		w.state.Waits = append(w.state.Waits, turn.Wait{CallID: c.CallID, Kind: tools.ForTimer})
		return
	}
	w.settle(step, c, turn.StepDone)
}

func (w *playedTurn) put(step turn.Step, state turn.StepState) {
	for i := range w.state.Steps {
		if w.state.Steps[i].N == step.N {
			w.state.Steps[i].State = state
		}
	}
}

func (w *playedTurn) settle(step turn.Step, c llm.Item, state turn.StepState) {
	w.put(step, state)
	w.state.Items = append(w.state.Items, result(w.next(), 1, c.CallID, "r"))
}

// unpark lets time pass: somebody else may speak, then what the turn waits for happens.
func (w *playedTurn) unpark() {
	if rapid.Bool().Draw(w.t, "overtaken") {
		w.state.Items = append(w.state.Items, input(w.next(), 2, "meanwhile"))
		w.state.Overtaken = w.seq + 1
		w.before = nil
	}
	for i := range w.state.Waits {
		w.state.Waits[i].Met = now
	}
	for id, q := range w.state.Questions {
		if q.State == turn.Open {
			q.State, q.Answer = turn.Answered, rapid.SampledFrom([]string{turn.AnswerOnce, turn.AnswerNo}).Draw(w.t, "answer")
			w.state.Questions[id] = q
		}
	}
}
