package tools

import (
	"fmt"
	"time"

	"hob/daemon/event"
)

// Code is the kind of an error result.
type Code string

// The codes of error results.
const (
	Validation     Code = "VALIDATION_ERROR"
	NotFound       Code = "NOT_FOUND"
	Conflict       Code = "CONFLICT"
	Denied         Code = "PERMISSION_DENIED"
	IO             Code = "IO_ERROR"
	Timeout        Code = "TIMEOUT"
	RateLimited    Code = "RATE_LIMITED"
	NeedsApproval  Code = "APPROVAL_REQUIRED" // only outside a turn, which waits for the answer instead
	ConfigError    Code = "CONFIG_ERROR"
	AssistRequired Code = "LLM_ASSIST_REQUIRED"
	Cancelled      Code = "CANCELLED"
	OutcomeUnknown Code = "OUTCOME_UNKNOWN"
	Unknown        Code = "UNKNOWN"
)

// Result is what a call came to.
type Result struct {
	Content string       `json:"content"` // what the model reads
	IsError bool         `json:"is_error,omitempty"`
	Code    Code         `json:"code,omitempty"` // set when IsError
	Hint    string       `json:"hint,omitempty"` // what to try next
	Data    any          `json:"data,omitempty"` // the typed Out value
	Parts   []event.Part `json:"parts,omitempty"`
	Changes []Change     `json:"-"` // rows of hob's own, applied in the commit of the result
	Next    Next         `json:"-"` // nil: go on
	Foreign string       `json:"-"` // Content holds somebody else's text, found only while it ran: from where; beside Intent.Foreign
	Assist  *Assist      `json:"-"` // of LLM_ASSIST_REQUIRED: what a model is to be asked
}

// Assist is one question to a model, without tools: the agent asks it and puts the answer in the place of the result.
type Assist struct {
	Prompt string // what is to be done with Text
	Text   string // what it is to be done with
	Suffix string // stands behind the answer as it is: sources, notes
}

// Ran is a Result.Data that tells the audit where a command ran and how it ended.
type Ran interface {
	// Ran is the folder, absolute, and the exit code; nil when it has not ended or did not begin.
	Ran() (cwd string, exit *int)
}

// Available is a tool that may be missing here: a program or a credential that it needs. What is missing is listed by
// hob tool list --all and never registered.
type Available interface {
	// Missing says in a few words what the tool needs and does not find; "" when it can work.
	Missing() string
}

// Change is a row of hob's own that the store applies in the commit of a result.
// The types are event.Out, scheduler's changes and Artifact; an unknown type is a programmer's mistake.
type Change any

// Next steers the turn after a result: Wait parks it, End ends it.
type Next interface{ next() }

// WaitKind says what a parked turn waits for.
type WaitKind string

// The kinds of waits.
const (
	ForTimer    WaitKind = "timer"
	ForChild    WaitKind = "child"
	ForProcess  WaitKind = "process"
	ForEvent    WaitKind = "event"
	ForQuestion WaitKind = "question"
)

// Wait parks the turn until something happens; the call's result is made then.
type Wait struct {
	Kind    WaitKind
	Until   time.Time // the latest instant; zero: none
	Subject string    // of an event: its type, or "type:key"
	Ask     *Ask      // of a question
}

// Ask is a question to the owner, asked by a tool.
type Ask struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // labels, in order; free text is always possible
	Multi   bool     `json:"multi,omitempty"`
}

// End ends the turn and says how it went.
type End struct {
	Failed bool
	Text   string // summary or reason
}

func (Wait) next() {}
func (End) next()  {}

// Fail makes an error result. Content repeats the hint, so that the model reads it.
func Fail(code Code, hint, format string, args ...any) Result {
	text := fmt.Sprintf(format, args...)
	content := string(code) + ": " + text
	if hint != "" {
		content += "\nhint: " + hint
	}
	return Result{Content: content, IsError: true, Code: code, Hint: hint}
}
