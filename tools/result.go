package tools

import (
	"context"
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
	NeedsApproval  Code = "APPROVAL_REQUIRED" // only outside a turn; a turn waits for the approval instead
	ConfigError    Code = "CONFIG_ERROR"
	AssistRequired Code = "LLM_ASSIST_REQUIRED"
	Cancelled      Code = "CANCELLED"
	OutcomeUnknown Code = "OUTCOME_UNKNOWN"
	Unknown        Code = "UNKNOWN"
)

// Result is the outcome of a call.
type Result struct {
	Content string       `json:"content"` // the text for the model
	IsError bool         `json:"is_error,omitempty"`
	Code    Code         `json:"code,omitempty"` // set when IsError
	Hint    string       `json:"hint,omitempty"` // what to try next
	Data    any          `json:"data,omitempty"` // the typed Out value
	Parts   []event.Part `json:"parts,omitempty"`
	Changes []Change     `json:"-"` // rows that the store writes in the commit of the result
	Next    Next         `json:"-"` // nil: continue
	Foreign string       `json:"-"` // the source of foreign text in Content, if the intent did not know it; in addition to Intent.Foreign
	Own     bool         `json:"-"` // Content is hob's own words, with nothing of what the intent calls foreign: a file that is not there has no text
	Assist  *Assist      `json:"-"` // with LLM_ASSIST_REQUIRED, or a result that a model may improve: the question to a model
	Stored  *Stored      `json:"-"` // set by the dispatch when Content is only the beginning of the text
	Skill   *event.Skill `json:"-"` // the skill that begins to run with this result
}

// Stored is the artifact that has the whole text of a result.
type Stored struct {
	Artifact string
	Size     int // of the whole text, in bytes
}

// Assist is one question to a model, without tools. The agent asks it, and the answer replaces the
// result.
type Assist struct {
	Prompt string // the task
	Text   string // the text to work on
	Suffix string // appended to the answer unchanged: sources, notes

	Without string                            // the result if no model answers; "": the text, with the reason
	Use     func(said string) (string, error) // what is done with the answer; it returns the result. nil: the answer is the result
}

// Ran is a Result.Data that tells the audit log where a command ran and how it ended.
type Ran interface {
	// Ran returns the folder, absolute, and the exit code; nil if the command has not started or
	// not ended.
	Ran() (cwd string, exit *int)
}

// Available is a tool that may be unusable on this machine, because a program or a credential is
// missing. "hob tool list --all" lists such a tool; it is never registered.
type Available interface {
	// Missing briefly says what the tool needs and cannot find; "" if it can work.
	Missing() string
}

// Account is an account of the owner's that tools need. T is what they take of it.
type Account[T any] interface {
	// Set reports whether the account is there. It reads no credential and asks no server.
	Set() bool
	// Open opens the account. It asks no server.
	Open(ctx context.Context) (T, error)
}

// Change is a row that the store writes in the commit of a result. The types are event.Out, the
// changes of scheduler, artifacts and tasks, and those in this package. An unknown type is a
// programmer's mistake.
type Change any

// Next controls the turn after a result: Wait parks it, End ends it.
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

// Wait parks the turn until something happens. The result of the call is made then.
type Wait struct {
	Kind    WaitKind
	Until   time.Time // the latest instant; zero: none
	Subject string    // for an event: its type, or "type:key"
	Ask     *Ask      // for a question
}

// Ask is a question of a tool to the owner.
type Ask struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // labels, in order; free text is always possible
	Multi   bool     `json:"multi,omitempty"`
	Link    string   `json:"link,omitempty"` // shown below the text, as a link also in turns that have read foreign text: an address that hob itself has made
}

// End ends the turn with an outcome.
type End struct {
	Failed bool
	Text   string // summary or reason
}

func (Wait) next() {}
func (End) next()  {}

// Fail returns an error result. Content repeats the hint so that the model reads it.
func Fail(code Code, hint, format string, args ...any) Result {
	text := fmt.Sprintf(format, args...)
	content := string(code) + ": " + text
	if hint != "" {
		content += "\nhint: " + hint
	}
	return Result{Content: content, IsError: true, Code: code, Hint: hint}
}

// ArtifactWriter stores bytes that arrive in pieces as an artifact. Keep or Discard ends it, once. It is not safe for concurrent use.
type ArtifactWriter interface {
	Write(data []byte) (int, error)
	// Sync makes the bytes durable that were written so far.
	Sync() error
	// Keep stores the artifact under a name for people and returns its id. source briefly says where foreign text comes from, "" for other text.
	Keep(ctx context.Context, name, source string) (id string, err error)
	// Discard removes what was written.
	Discard() error
}
