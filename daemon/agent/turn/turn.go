// Package turn holds the rows of a turn and the pure functions over them: Next says what
// a turn does now, Render makes the model's request out of items, Join says what enters it.
// It never does anything: the agent carries out what Next says and commits what came of it.
package turn

import (
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// Status is the state of a turn.
type Status string

// The states of turns. Ready and Running ones are claimed with a count, Waiting ones without.
const (
	Ready   Status = "ready"
	Running Status = "running"
	Waiting Status = "waiting"
	Done    Status = "done"
	Failed  Status = "failed"
	Stopped Status = "stopped"
	Dead    Status = "dead"
)

// Final reports whether a turn in this state never goes on.
func (s Status) Final() bool { return s == Done || s == Failed || s == Stopped || s == Dead }

// Turn is one row of turns: a durable coroutine.
type Turn struct {
	ID       int64         `json:"id"`
	Session  int64         `json:"session"`
	Key      string        `json:"session_key"`
	Parent   int64         `json:"parent,omitempty"` // the turn that spawned this child
	State    Status        `json:"state"`
	Attempts int           `json:"attempts"` // claims from ready or after a crash
	Asker    event.Trust   `json:"asker"`    // who asked: fixed
	ReplyTo  event.Address `json:"reply_to,omitempty"`
	ReplyRef string        `json:"reply_ref,omitempty"`
	Fire     int64         `json:"fire,omitempty"` // the fire it serves
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended,omitzero"`
	Running  time.Duration `json:"running"`       // time not parked
	Why      string        `json:"why,omitempty"` // why it ended as it did
	Tokens   int64         `json:"tokens"`
	Cost     int64         `json:"cost_micros"`
	Tainted  bool          `json:"tainted,omitempty"` // it has read foreign text, itself or in its session; it stays so
	Foreign  string        `json:"foreign,omitempty"` // from where, in a few words
	Plan     bool          `json:"plan,omitempty"`    // its session plans: nothing may change
	Mandate
}

// Mandate is what the trigger that a turn serves may do more, and less, than others. A sub-agent has its parent's limits.
type Mandate struct {
	Rights []string `json:"rights,omitempty"`     // what the owner gave to it
	Only   []string `json:"tools,omitempty"`      // the only tools that it may call; none: all
	Most   int64    `json:"max_tokens,omitempty"` // that a run may use; 0: no limit
	Used   int64    `json:"used,omitempty"`       // of those, by the turn and its sub-agents; counted where there is a limit
}

// Limited reports whether a run may do less than others.
func (m Mandate) Limited() bool { return len(m.Only) > 0 || m.Most > 0 }

// Left is how many tokens a run may still use; false: there is no limit.
func (m Mandate) Left() (int64, bool) { return max(m.Most-m.Used, 0), m.Most > 0 }

// Trust of what a turn says or writes: its asker's, but foreign text makes it anybody's.
func (t Turn) Trust() event.Trust {
	if t.Tainted && (t.Asker == event.Owner || t.Asker == event.Known) {
		return event.Public
	}
	return t.Asker
}

// StepKind says what a step does.
type StepKind string

// The kinds of steps.
const (
	ModelStep StepKind = "model"
	ToolStep  StepKind = "tool"
)

// StepState is how far a step has come.
type StepState string

// The states of steps.
const (
	Allowed StepState = "allowed" // judged: may run, has not started
	Asked   StepState = "asked"   // judged: waits for the approval of Question
	Intent  StepState = "intent"  // started; what came of it is not committed
	Parked  StepState = "parked"  // its tool waits (Result.Next was Wait)
	Over    StepState = "done"    // its result is committed
	Lost    StepState = "unknown" // it was interrupted and cannot be known
)

// Step is the control row of one model request or one tool call.
type Step struct {
	N        int          `json:"n"` // from 1, within the turn
	Kind     StepKind     `json:"kind"`
	State    StepState    `json:"state"`
	Epoch    int64        `json:"epoch"`
	CallID   string       `json:"call_id,omitempty"`
	Tool     string       `json:"tool,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"`
	Hash     string       `json:"hash,omitempty"`     // of the request, or of the call's canonical bytes
	Question int64        `json:"question,omitempty"` // that approves it
	Reserve  Amount       `json:"reserve,omitzero"`   // of a model step that is under way
	Usage    llm.Usage    `json:"usage,omitzero"`
	Model    string       `json:"model,omitempty"` // of a model step: the one that was asked
	Why      string       `json:"why,omitempty"`   // why it was lost
	Fault    llm.Fault    `json:"fault,omitempty"` // the kind of that
	Started  time.Time    `json:"started,omitzero"`
	Ended    time.Time    `json:"ended,omitzero"`
}

// Amount is money (millionths of the budget's currency) or, where no price is known, tokens.
type Amount struct {
	Tokens int64 `json:"tokens"`
	Micros int64 `json:"micros"`
}

// Wait is what a parked turn waits for.
type Wait struct {
	CallID   string         `json:"call_id"`
	Kind     tools.WaitKind `json:"kind"`
	Until    time.Time      `json:"until,omitzero"`
	Subject  string         `json:"subject,omitempty"`
	Question int64          `json:"question,omitempty"`
	Met      time.Time      `json:"met,omitzero"`  // when it was satisfied
	How      string         `json:"how,omitempty"` // "timer", "answered", "expired", "event 812"
}

// QuestionState is how far a question has come.
type QuestionState string

// The states of questions.
const (
	Open     QuestionState = "open"
	Answered QuestionState = "answered"
	Expired  QuestionState = "expired"
	Consumed QuestionState = "consumed"
)

// Subject says what a question is about.
type Subject string

// The subjects of questions.
const (
	AboutCalls  Subject = "turn-call" // approve calls of a turn
	AboutAsk    Subject = "ask"       // the ask tool: free text
	AboutOutbox Subject = "outbox"    // resend or drop
	AboutJob    Subject = "job"       // missed slots, failures
	AboutCall   Subject = "call"      // a call from the command line

	AboutRestore Subject = "config" // hob's own state: what a channel brought from before a restore; Tool is the channel
)

// Question is everything that asks a person.
type Question struct {
	ID         int64         `json:"id"`
	Code       string        `json:"code"`
	Subject    Subject       `json:"subject"`
	Ref        int64         `json:"ref,omitempty"` // of an outbox row or a fire
	Turn       int64         `json:"turn,omitempty"`
	CallID     string        `json:"call_id,omitempty"` // of an ask
	Text       string        `json:"text"`
	Options    []string      `json:"options,omitempty"`
	ActionHash string        `json:"action_hash,omitempty"`
	Pattern    string        `json:"pattern,omitempty"` // what "always" would grant, "" when it may not
	Tool       string        `json:"tool,omitempty"`
	Asked      time.Time     `json:"asked"`
	Until      time.Time     `json:"until"`
	State      QuestionState `json:"state"`
	Answer     string        `json:"answer,omitempty"`
	AnsweredBy string        `json:"answered_by,omitempty"`
	To         event.Address `json:"to,omitempty"`
}

// UntilAnswered is until when a question is open that waits for as long as it takes: no time that comes.
func UntilAnswered() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// Labelled reports whether the question has words of its own for yes and no: its two options.
func (q Question) Labelled() bool {
	own := q.Subject == AboutJob || q.Subject == AboutOutbox || q.Subject == AboutRestore
	return own && len(q.Options) == 2
}

// The answers to an approval.
const (
	AnswerOnce   = "once"
	AnswerTurn   = "turn"
	AnswerAlways = "always"
	AnswerNo     = "no"
)
