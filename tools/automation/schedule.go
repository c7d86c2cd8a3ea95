// Package automation holds the tools that make hob act by itself. They plan changes of the schedule as rows
// for the store to apply with the call's result; they never write them, and never run anything.
package automation

import (
	"context"
	"time"

	"hob/scheduler"
	"hob/tools"
)

// Jobs is the schedule as the tool cron needs it. What a person or model should read of an error is made with
// tools.Refuse (a schedule that cannot be understood, a name that is taken); any other error is a fault of hob's own.
type Jobs interface {
	// List returns all jobs that are not removed, by name.
	List(ctx context.Context) ([]scheduler.View, error)
	// Find looks a job up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (scheduler.View, bool, error)
	// Plan works out a new job (Draft.ID is 0) or a change of one, and the row that makes it so.
	Plan(ctx context.Context, d scheduler.Draft) (scheduler.View, tools.Change, error)
	// Alter works out what a verb does to a job, and the row that makes it so; nil: it is as wished already. The key names a run by hand.
	Alter(ctx context.Context, j scheduler.View, v Verb, key string) (scheduler.View, tools.Change, error)
	// Runs returns the newest slots of the job with j's ID, or, where that is 0, of those that have or had its name; those of all where it
	// has none either. Newest first.
	Runs(ctx context.Context, j scheduler.View, limit int) ([]Run, error)
}

// Verb is what can be done to a job beside changing it.
type Verb string

// The verbs.
const (
	Remove Verb = "remove"
	Pause  Verb = "pause"
	Resume Verb = "resume"
	RunNow Verb = "run"
)

// Run is one slot of a job as it is shown.
type Run struct {
	Job     string    `json:"job,omitempty" jsonschema:"whose slot it is"`
	Zone    string    `json:"zone,omitempty" jsonschema:"time zone of the job"`
	Due     time.Time `json:"due" jsonschema:"when it was meant to run"`
	State   string    `json:"state" jsonschema:"due, queued, running, waiting, done"`
	Outcome string    `json:"outcome,omitempty" jsonschema:"ran, late, missed, coalesced, skipped, failed"`
	Reason  string    `json:"reason,omitempty" jsonschema:"why"`
	LateMS  int64     `json:"late_ms,omitempty" jsonschema:"how late, in milliseconds"`
	LimitMS int64     `json:"limit_ms,omitempty" jsonschema:"what is later than this is late"`
	Started time.Time `json:"started,omitzero" jsonschema:"when it began"`
	Ended   time.Time `json:"ended,omitzero" jsonschema:"when it was over"`
	Sent    string    `json:"delivery,omitempty" jsonschema:"what became of its answer: nothing to say, to nobody, sent, sending, held, failed, expired, dropped"`
	Micros  int64     `json:"cost_micros,omitempty" jsonschema:"what it cost, in millionths"`
	Tokens  int64     `json:"tokens,omitempty" jsonschema:"what it used"`
	Turn    int64     `json:"turn,omitempty" jsonschema:"the turn that it became"`
	Tainted bool      `json:"tainted,omitempty" jsonschema:"that turn had read foreign text"`
}
