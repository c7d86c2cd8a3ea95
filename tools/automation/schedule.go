// Package automation contains the tools cron and watch, with which the model and the user schedule prompts.
//
// The tools never write to the store. A call works out a new row and returns it as a tools.Change; the store commits the row together with
// the result of the call, so that a crash leaves both or neither. The scheduler and the file watcher then run the prompts.
package automation

import (
	"context"
	"time"

	"hob/scheduler"
	"hob/tools"
)

// Jobs is the part of the schedule that the tool cron needs. Errors meant for the user or the model are made with tools.Refuse (a schedule
// that cannot be parsed, a name that is taken); any other error is a fault of hob.
type Jobs interface {
	// List returns all jobs that are not removed, by name.
	List(ctx context.Context) ([]scheduler.View, error)
	// Find looks a job up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (scheduler.View, bool, error)
	// Plan works out a new job (Draft.ID is 0) or a change of one, and the row to store.
	Plan(ctx context.Context, d scheduler.Draft) (scheduler.View, tools.Change, error)
	// Alter works out the job after a verb, and the row to store; nil if nothing changes. key identifies a run by hand, so that a repeated
	// call starts one run.
	Alter(ctx context.Context, j scheduler.View, v Verb, key string) (scheduler.View, tools.Change, error)
	// Runs returns the newest slots of the job with j's ID, newest first. If the ID is 0 it returns those of jobs that have or had j's
	// name, and without a name those of all jobs.
	Runs(ctx context.Context, j scheduler.View, limit int) ([]Run, error)
}

// Verb is an action on a job besides changing it.
type Verb string

// The verbs.
const (
	Remove Verb = "remove"
	Pause  Verb = "pause"
	Resume Verb = "resume"
	RunNow Verb = "run"
)

// Run is one slot of a job, as shown to the user.
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
