// Package automation holds the tools that make hob act by itself. They plan changes of the schedule as rows
// for the store to apply with the call's result; they never write them, and never run anything.
package automation

import (
	"context"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// Jobs is the schedule as the tool cron needs it. What a person or model should read of an error is made with
// tools.Refuse (a schedule that cannot be understood, a name that is taken); any other error is a fault of hob's own.
type Jobs interface {
	// List returns all jobs that are not removed, by name.
	List(ctx context.Context) ([]Job, error)
	// Find looks a job up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (Job, bool, error)
	// Plan works out a new job (Draft.ID is 0) or a change of one, and the row that makes it so.
	Plan(ctx context.Context, d Draft) (Job, tools.Change, error)
	// Alter works out what a verb does to a job, and the row that makes it so; nil: it is as wished already. The key names a run by hand.
	Alter(ctx context.Context, j Job, v Verb, key string) (Job, tools.Change, error)
	// Runs returns the newest slots of the job with j's ID, or, where that is 0, of those that have or had its name; those of all where it
	// has none either. Newest first.
	Runs(ctx context.Context, j Job, limit int) ([]Run, error)
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

// Job is a job as it is shown.
type Job struct {
	ID      int64         `json:"id,omitempty" jsonschema:"number; a new job gets it when the call is stored"`
	Name    string        `json:"name" jsonschema:"unique name"`
	Spec    string        `json:"spec" jsonschema:"schedule as resolved"`
	Words   string        `json:"words,omitempty" jsonschema:"schedule as it was asked for"`
	Zone    string        `json:"zone" jsonschema:"time zone"`
	Prompt  string        `json:"prompt" jsonschema:"what hob is told"`
	Session string        `json:"session" jsonschema:"main or isolated"`
	Deliver event.Address `json:"deliver" jsonschema:"where the answer goes"`
	Missed  string        `json:"missed" jsonschema:"what happens to missed slots"`
	MaxLate string        `json:"max_late,omitempty" jsonschema:"when late becomes missed"`
	Overlap string        `json:"overlap" jsonschema:"what happens when the last run is not done"`
	Origin  string        `json:"origin,omitempty" jsonschema:"config: only its file changes it"`
	Bounds
	Paused bool `json:"paused,omitempty" jsonschema:"stopped for now"`
	Done   bool `json:"done,omitempty" jsonschema:"it never runs again"`
	Health
	Times
	Next     []time.Time `json:"next,omitempty" jsonschema:"next slots, at most three"`
	Estimate *Estimate   `json:"estimate,omitempty" jsonschema:"what it may cost in a month"`
	Notes    []string    `json:"notes,omitempty" jsonschema:"what was taken because nobody said it"`
}

// Times are when a job was made, and when its schedule was set.
type Times struct {
	Created time.Time `json:"created" jsonschema:"when it was made"`
	Anchor  time.Time `json:"anchor,omitzero" jsonschema:"when its schedule was changed; every counts from here, else from created"`
}

// Health is what is wrong with a job.
type Health struct {
	Broken   string    `json:"broken,omitempty" jsonschema:"why it cannot run"`
	Failures int       `json:"failures,omitempty" jsonschema:"runs failed in a row"`
	Held     time.Time `json:"held_until,omitzero" jsonschema:"before then no slot that is due runs, because of the failures"`
}

// Bounds are what a job's runs may do more, and less, than others.
type Bounds struct {
	Allow   []string `json:"allow,omitempty" jsonschema:"rights that it has without asking"`
	Gate    string   `json:"gate,omitempty" jsonschema:"test before each run, in a line for each part"`
	Tools   []string `json:"tools,omitempty" jsonschema:"the only tools that its runs may call"`
	Tokens  int64    `json:"max_tokens,omitempty" jsonschema:"what one run may use"`
	Tainted bool     `json:"tainted,omitempty" jsonschema:"made in a turn that had read foreign text"`
}

// Estimate is what a job may cost within the next 30 days.
type Estimate struct {
	Text       string `json:"text" jsonschema:"in one line"`
	Runs       int64  `json:"runs" jsonschema:"how often it comes due"`
	CostMicros int64  `json:"cost_micros,omitempty" jsonschema:"money, in millionths; none: the price is not known"`
	Tokens     int64  `json:"tokens,omitempty" jsonschema:"of all runs"`
	Free       bool   `json:"free,omitempty" jsonschema:"it costs nothing"`
	AtMost     bool   `json:"at_most,omitempty" jsonschema:"a gate may let fewer through"`
}

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

// Draft is a job as it is wished for. Empty fields mean the default of a new job and no change of an old one.
type Draft struct {
	ID       int64 // 0: a new job
	Name     string
	Schedule string // cron, "@daily", "every 30m", "at …" or a phrase
	Prompt   string
	Zone     string // IANA name; for a new job the owner's unless given
	Session  string
	Deliver  event.Address
	Missed   string
	MaxLate  time.Duration // below 0: the default again
	Overlap  string
	Allow    string        // rights, with commas between them; NoRights takes them away
	Gate     string        // as scheduler.ParseGate reads it; "none" takes it away
	Limits   string        // of one run: "tools=read,grep tokens=20000"
	Trust    event.Trust   // who asks for it
	Tainted  bool          // in a turn that has read foreign text
	Typed    bool          // the owner typed this very call
	Words    string        // his own words that it comes from: they are the prompt's when they are a schedule and exactly the prompt
	ReplyTo  event.Address // where it is asked for: the default of Deliver
	Now      time.Time
}
