// Package turn holds the rows of a turn and pure functions over them. Next decides what a turn does now, Render makes the
// messages of a model request from transcript items, Joins decides whether a waiting message enters a running turn, and
// Defanger makes untrusted addresses harmless in outgoing text.
//
// The package has no side effects and keeps no state. Package agent loads a State, calls Next, carries the action out and
// writes a Commit; package store implements Load, Begin and Commit.
package turn

import (
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// Status is the state of a turn.
type Status string

// The states of turns. Claiming a Ready or Running turn counts as an attempt; claiming a Waiting turn does not.
const (
	Ready   Status = "ready"
	Running Status = "running"
	Waiting Status = "waiting"
	Done    Status = "done"
	Failed  Status = "failed"
	Stopped Status = "stopped"
	Dead    Status = "dead"
)

// Final reports whether a turn in this state has ended for good.
func (s Status) Final() bool { return s == Done || s == Failed || s == Stopped || s == Dead }

// Turn is one row of the table turns: a durable coroutine, which a later process can resume.
type Turn struct {
	ID       int64         `json:"id"`
	Session  int64         `json:"session"`
	Key      string        `json:"session_key"`
	Parent   int64         `json:"parent,omitempty"` // the turn that spawned this child
	State    Status        `json:"state"`
	Attempts int           `json:"attempts"` // claims when ready or after a crash
	Asker    event.Trust   `json:"asker"`    // trust of the asker; never changes
	ReplyTo  event.Address `json:"reply_to,omitempty"`
	ReplyRef string        `json:"reply_ref,omitempty"`
	Fire     int64         `json:"fire,omitempty"` // the fire of a trigger that it serves
	Late     string        `json:"late,omitempty"` // "2 min": so late the run of a job began, and no other message tells the owner
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended,omitzero"`
	Running  time.Duration `json:"running"`       // time not parked
	Why      string        `json:"why,omitempty"` // why it ended as it did
	Tokens   int64         `json:"tokens"`
	Cost     int64         `json:"cost_micros"`
	Tainted  bool          `json:"tainted,omitempty"` // the turn or its session has read foreign text; never reset
	Foreign  string        `json:"foreign,omitempty"` // the source of the foreign text, in a few words
	Plan     bool          `json:"plan,omitempty"`    // the session is in plan mode: nothing may change
	Plain    bool          `json:"plain,omitempty"`   // it runs a trigger or task that the built-in interpreter carries out
	RunLimits
}

// Unattended reports whether a turn runs a trigger or a task, for which nobody waits in a chat.
func (t Turn) Unattended() bool { return t.Fire != 0 || strings.HasPrefix(t.Key, "task:") }

// RunLimits holds the extra rights and the limits of the trigger that a turn serves, and of the session that it is in. A sub-agent has its parent's limits.
type RunLimits struct {
	Guest      bool     `json:"-"`                    // the asker is not the owner, or the session is not the owner's own: what only the owner may know is left out
	Rights     []string `json:"rights,omitempty"`     // rights that the owner gave to the trigger
	Only       []string `json:"tools,omitempty"`      // the only tools that the run may call; empty means all
	MaxTokens  int64    `json:"max_tokens,omitempty"` // the tokens that a run may use; 0 means no limit
	UsedTokens int64    `json:"used,omitempty"`       // tokens used by the turn and its sub-agents; counted only with a limit
}

// Limited reports whether the run has a limit of tools or tokens.
func (m RunLimits) Limited() bool { return len(m.Only) > 0 || m.MaxTokens > 0 }

// Left returns the tokens that a run may still use, and false when there is no limit.
func (m RunLimits) Left() (int64, bool) { return max(m.MaxTokens-m.UsedTokens, 0), m.MaxTokens > 0 }

// Trust is the trust in what a turn says or writes: that of its asker, or Public once the turn has read foreign text.
func (t Turn) Trust() event.Trust { return t.Asker.Of(t.Tainted) }

// StepKind is what a step does.
type StepKind string

// The kinds of steps.
const (
	ModelStep StepKind = "model"
	ToolStep  StepKind = "tool"
)

// StepState is the state of a step.
type StepState string

// The states of steps.
const (
	StepAllowed StepState = "allowed" // may run, has not started
	StepAsked   StepState = "asked"   // waits for the approval of Question
	StepIntent  StepState = "intent"  // started; the result is not committed yet
	StepParked  StepState = "parked"  // its tool waits (Result.Next was Wait)
	StepDone    StepState = "done"    // its result is committed
	StepUnknown StepState = "unknown" // interrupted; nobody knows whether it took effect
)

// Step is the control row of one model request or one tool call.
type Step struct {
	N        int          `json:"n"` // counts from 1 within the turn
	Kind     StepKind     `json:"kind"`
	State    StepState    `json:"state"`
	Epoch    int64        `json:"epoch"`
	CallID   string       `json:"call_id,omitempty"`
	Tool     string       `json:"tool,omitempty"`
	Effect   tools.Effect `json:"effect,omitempty"`
	Hash     string       `json:"hash,omitempty"`     // of the request or of the call's canonical bytes
	Question int64        `json:"question,omitempty"` // the question that approves the step
	Reserve  Amount       `json:"reserve,omitzero"`   // of a model step that runs
	Usage    llm.Usage    `json:"usage,omitzero"`
	Model    string       `json:"model,omitempty"` // the model that was asked, in a model step
	Why      string       `json:"why,omitempty"`   // the error of a lost step; of a done model step, what was repaired in the answer
	Fault    llm.Fault    `json:"fault,omitempty"` // the kind of that error
	Started  time.Time    `json:"started,omitzero"`
	Ended    time.Time    `json:"ended,omitzero"`
}

// Amount is a cost in millionths of the budget's currency or, for a model without a known price, in tokens.
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

// QuestionState is the state of a question.
type QuestionState string

// The states of questions.
const (
	Open     QuestionState = "open"
	Answered QuestionState = "answered"
	Expired  QuestionState = "expired"
	Used     QuestionState = "consumed"
)

// Subject is what a question is about.
type Subject string

// The subjects of questions.
const (
	AboutCalls  Subject = "turn-call" // approve calls of a turn
	AboutAsk    Subject = "ask"       // the ask tool: free text
	AboutOutbox Subject = "outbox"    // resend or drop
	AboutJob    Subject = "job"       // missed slots, failures
	AboutCall   Subject = "call"      // a call from the command line

	// AboutConfig is a decision about hob itself. Tool says which: the channel whose messages from before a restore are held, or that it is about
	// new skills.
	AboutConfig Subject = "config"
)

// Question is one row of the table questions: an approval, a question of the model, or a decision that hob needs from a person.
type Question struct {
	ID         int64         `json:"id"`
	Code       string        `json:"code"`
	Subject    Subject       `json:"subject"`
	Ref        int64         `json:"ref,omitempty"` // the outbox row or the fire that it is about
	Turn       int64         `json:"turn,omitempty"`
	CallID     string        `json:"call_id,omitempty"` // the call that asks
	Text       string        `json:"text"`
	Link       string        `json:"-"` // becomes the last line of Text; it is never defanged, so nothing but hob may have made it
	Options    []string      `json:"options,omitempty"`
	ActionHash string        `json:"action_hash,omitempty"`
	Pattern    string        `json:"pattern,omitempty"` // what "always" would grant, "" when it is not offered
	Tool       string        `json:"tool,omitempty"`
	Asked      time.Time     `json:"asked"`
	Until      time.Time     `json:"until"`
	State      QuestionState `json:"state"`
	Answer     string        `json:"answer,omitempty"`
	AnsweredBy string        `json:"answered_by,omitempty"`
	To         event.Address `json:"to,omitempty"`
}

// UntilAnswered is the expiry of a question that never expires: the last day of the year 9999.
func UntilAnswered() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// Labelled reports whether the question's two options are its own words for yes and no.
func (q Question) Labelled() bool {
	own := q.Subject == AboutJob || q.Subject == AboutOutbox || q.Subject == AboutConfig
	return own && len(q.Options) == 2
}

// The answers to an approval.
const (
	AnswerOnce   = "once"
	AnswerTurn   = "turn"
	AnswerAlways = "always"
	AnswerNo     = "no"
)

// VoiceNote is a voice note in a turn's input that is not transcribed yet.
type VoiceNote struct {
	Item int64 // the item of the transcript
	event.Part
}
