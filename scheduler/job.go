// Package scheduler decides what fires by itself and when. A trigger starts a turn without a message of its owner: a job at its times (this
// package), a watch when files change (package filewatch), a webhook when a request arrives (package webhook). The three share the struct
// Trigger and the table of fires; only jobs have slots, and only jobs go through the runner, which turns a due slot into rows.
//
// A slot takes this way: the runner's heap reminds it of a due job; it reads the job's row; Slots, a pure function, computes the due slots
// and the next due time; the store commits the slots' fires, their inbox rows and the job's new due time in one transaction. If the job has
// a gate, package gate evaluates it first and then adds the inbox row.
//
// The package never runs a prompt: the thread takes the inbox row like any other input.
package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/scheduler/spec"
)

// Missed is the policy for slots that came due while hob was not running.
type Missed string

// The policies for missed slots.
const (
	MissedOnce Missed = "once" // one run for the newest missed slot
	MissedSkip Missed = "skip"
	MissedAll  Missed = "all" // at most 10 runs
	MissedAsk  Missed = "ask"
)

// Overlap is the policy for a slot that comes due while the last run continues.
type Overlap string

// The policies for overlapping slots.
const (
	OverlapFold  Overlap = "fold"  // the slot does not run, because the running one covers it
	OverlapQueue Overlap = "queue" // it runs after that one
)

// Trigger holds the common part of jobs, watches and webhooks, which make hob act by itself. Its row stays after its last run. A field that does
// not describe identity, state or history is a setting: see Settings.
type Trigger struct {
	ID      int64         `json:"id"`
	Name    string        `json:"name"`            // unique among its kind
	Prompt  string        `json:"prompt"`          // the instruction for hob
	Deliver event.Address `json:"deliver"`         // recipient of the answer: an address, owner or none
	Trust   event.Trust   `json:"trust"`           // trust of its creator
	Typed   bool          `json:"typed"`           // the owner typed the prompt
	Plain   bool          `json:"plain,omitempty"` // the built-in interpreter carries out the prompt, also when a model is connected
	Origin  string        `json:"origin"`          // "run-time" or "config"
	Paused  bool          `json:"paused"`
	Created time.Time     `json:"created"`
	Permissions
	Trouble
}

// Job is a recurring or single prompt.
type Job struct {
	Trigger
	Spec    string        `json:"spec"`            // the resolved schedule: "cron 0 9 * * 1-5", "every 30m", "at 2026-12-24T17:00:00+01:00"
	Words   string        `json:"words,omitempty"` // the schedule as requested
	Zone    string        `json:"zone"`            // IANA name
	Session string        `json:"session"`         // SessionAuto, "main" or "isolated"
	Missed  Missed        `json:"missed"`
	MaxLate time.Duration `json:"max_late"` // 0: min(period/2, 2 h); for "at" unlimited
	Overlap Overlap       `json:"overlap"`
	Gate    Gate          `json:"gate,omitzero"`
	Last    time.Time     `json:"last,omitzero"`   // newest slot with a row
	Due     time.Time     `json:"due,omitzero"`    // next slot; zero: never again
	Anchor  time.Time     `json:"anchor,omitzero"` // when the schedule was set, if after the creation; see Start
	Version int64         `json:"-"`               // of the row when it was read; see Store
}

// SessionAuto lets the runs of a job use main, and a conversation of their own while main holds foreign text.
const SessionAuto = "auto"

// InTrouble is the state in a filter that selects the jobs that are broken or have failed.
const InTrouble = "trouble"

// View is a job as lists and details show it.
type View struct {
	ID           int64         `json:"id,omitempty" jsonschema:"number; a new job gets it when the call is stored"`
	Name         string        `json:"name" jsonschema:"unique name"`
	Spec         string        `json:"spec" jsonschema:"schedule as resolved"`
	Words        string        `json:"words,omitempty" jsonschema:"schedule as it was asked for"`
	Zone         string        `json:"zone" jsonschema:"time zone"`
	Prompt       string        `json:"prompt" jsonschema:"what hob is told"`
	Session      string        `json:"session" jsonschema:"auto, main or isolated"`
	Deliver      event.Address `json:"deliver" jsonschema:"where the answer goes"`
	Missed       string        `json:"missed" jsonschema:"what happens to missed slots"`
	MaxLate      string        `json:"max_late,omitempty" jsonschema:"when late becomes missed"`
	Overlap      string        `json:"overlap" jsonschema:"what happens when the last run is not done"`
	Origin       string        `json:"origin,omitempty" jsonschema:"config: only its file changes it"`
	Allow        []string      `json:"allow,omitempty" jsonschema:"rights that it has without asking"`
	Gate         string        `json:"gate,omitempty" jsonschema:"test before each run, in a line for each part"`
	Tools        []string      `json:"tools,omitempty" jsonschema:"the only tools that its runs may call"`
	Tokens       int64         `json:"max_tokens,omitempty" jsonschema:"what one run may use"`
	Plain        bool          `json:"plain,omitempty" jsonschema:"it asks no model: the built-in interpreter runs it"`
	NeedsModel   bool          `json:"needs_model,omitempty" jsonschema:"no model is connected, and without one each run fails"`
	Tainted      bool          `json:"tainted,omitempty" jsonschema:"made in a turn that had read foreign text"`
	Paused       bool          `json:"paused,omitempty" jsonschema:"stopped for now"`
	Done         bool          `json:"done,omitempty" jsonschema:"it never runs again"`
	Broken       string        `json:"broken,omitempty" jsonschema:"why it cannot run"`
	Failures     int           `json:"failures,omitempty" jsonschema:"runs failed in a row"`
	BackoffUntil time.Time     `json:"held_until,omitzero" jsonschema:"before then no slot that is due runs, because of the failures"`
	Created      time.Time     `json:"created" jsonschema:"when it was made"`
	Anchor       time.Time     `json:"anchor,omitzero" jsonschema:"when its schedule was changed; every counts from here, else from created"`
	Next         []time.Time   `json:"next,omitempty" jsonschema:"next slots, at most three"`
	Estimate     *Estimate     `json:"estimate,omitempty" jsonschema:"what it may cost in a month"`
	Notes        []string      `json:"notes,omitempty" jsonschema:"what was taken because nobody said it"`
}

// Estimate is the expected use of a job within the next 30 days.
type Estimate struct {
	Text   string `json:"text" jsonschema:"in one line"`
	Runs   int64  `json:"runs" jsonschema:"how often it comes due"`
	Micros int64  `json:"cost_micros,omitempty" jsonschema:"money, in millionths; none: the price is not known"`
	Tokens int64  `json:"tokens,omitempty" jsonschema:"of all runs"`
	Free   bool   `json:"free,omitempty" jsonschema:"it costs nothing"`
	Most   bool   `json:"at_most,omitempty" jsonschema:"a gate may let fewer through"`
	Once   bool   `json:"-"` // it runs only once
}

// shownSlots is the number of slots in a view.
const shownSlots = 3

// View returns the job's view at an instant. The caller adds the estimate and the notes.
func (j Job) View(now time.Time) View {
	v := View{
		ID: j.ID, Name: j.Name, Spec: plainSpec(j.Spec), Words: j.Words, Zone: j.Zone, Prompt: j.Prompt, Session: j.Session, Deliver: j.Deliver,
		Missed: string(j.Missed), Overlap: string(j.Overlap), Origin: j.Origin, Allow: j.Allow, Gate: j.Gate.Words(), Tools: j.Tools, Tokens: j.Tokens, Plain: j.Plain, Tainted: j.Tainted,
		Paused: j.Paused, Done: j.Due.IsZero() && !j.Paused, Broken: j.Broken, Failures: j.Failures, Created: j.Created, Anchor: j.Anchor,
	}
	if j.MaxLate > 0 {
		v.MaxLate = spec.Plain(j.MaxLate)
	}
	if j.Broken == "" && !j.Due.IsZero() && !j.Paused {
		from := j.Due
		if v.BackoffUntil = j.backoffUntil(now); v.BackoffUntil.After(from) {
			from = v.BackoffUntil // earlier slots run at this time
		}
		next, err := Upcoming(j, from.Add(-time.Nanosecond), shownSlots)
		if err != nil {
			v.Broken = err.Error()
		}
		v.Next = next
	}
	return v
}

// Start returns the time that periods count from: when the schedule was set.
func (v View) Start() time.Time {
	if v.Anchor.IsZero() {
		return v.Created
	}
	return v.Anchor
}

// backoffUntil returns the time before which due slots wait because of failures; zero if no slot waits.
func (j Job) backoffUntil(now time.Time) time.Time {
	// The last failure was one backoff before the end of the pause.
	failed := j.BackoffUntil.Add(-Backoff(j.Failures))
	if j.BackoffUntil.After(now) && (j.Last.After(failed) || j.Due.Before(j.BackoffUntil)) {
		return j.BackoffUntil
	}
	return time.Time{}
}

// Permissions holds the rights and limits of a trigger's runs, beyond the trust of its creator.
type Permissions struct {
	Tainted bool     `json:"tainted,omitempty"` // the prompt was written in a turn that had read foreign text
	Allow   []string `json:"allow,omitempty"`   // rights from the owner, in the notation of policy.ParseRight
	Tools   []string `json:"tools,omitempty"`   // the only tools for its runs; none: all
	Tokens  int64    `json:"tokens,omitempty"`  // token limit of one run; 0: that of any turn
}

// leastTokens is less than any request to a model needs.
const leastTokens = 1000

// Check returns all faults of the limits, or nil. It does not know which tools exist.
func (m Permissions) Check() error {
	var list []error
	for _, name := range m.Tools {
		if name == "" || len(name) > longestName || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) && r != '.' }) {
			list = append(list, fmt.Errorf("tools: %q is not the name of a tool", name))
		}
	}
	if m.Tokens < 0 || m.Tokens > 0 && m.Tokens < leastTokens {
		list = append(list, fmt.Errorf("max_tokens: %d is too few for any run: want at least %d", m.Tokens, leastTokens))
	}
	return errors.Join(list...)
}

// Trouble describes what went wrong with a trigger.
type Trouble struct {
	Failures     int       `json:"failures"`         // consecutive
	BackoffUntil time.Time `json:"hold,omitzero"`    // after failures: slots that come due earlier run then
	Broken       string    `json:"broken,omitempty"` // why the row cannot be used; the trigger is then disabled
}

// State is the progress of a fire.
type State string

// The states of fires.
const (
	StateDue     State = "due"
	StateQueued  State = "queued"
	StateRunning State = "running"
	StateWaiting State = "waiting"
	StateDone    State = "done"
)

// Outcome is the result of a finished fire.
type Outcome string

// The outcomes of fires. A run that started after its limit has the outcome ran and is shown as late.
const (
	OutcomeRan       Outcome = "ran"
	OutcomeFailed    Outcome = "failed"
	OutcomeMissed    Outcome = "missed"    // its time passed, and no later run replaces it
	OutcomeCoalesced Outcome = "coalesced" // another run covers it
	OutcomeSkipped   Outcome = "skipped"   // its gate was closed
)

// Slot is one intended time of a job. Each becomes a row of fires.
type Slot struct {
	Key        string        `json:"key"` // the instant, RFC 3339 in UTC; "run:ID" for a run by hand
	Due        time.Time     `json:"due"`
	State      State         `json:"state"`
	Outcome    Outcome       `json:"outcome,omitempty"`
	Late       time.Duration `json:"late,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Note       string        `json:"note,omitempty"`   // text for its run after the prompt
	Limit      time.Duration `json:"limit,omitempty"`  // a run that starts later than this counts as late; 0: no limit
	Tell       bool          `json:"tell,omitempty"`   // it was not served in time, so the owner must be told
	Represents int64         `json:"stands,omitempty"` // number of slots that it represents; 0: only itself

	StoreFailed bool `json:"unstored,omitempty"` // it was late because it could not be committed
}

// Firing is one job's part of a commit: the rows of its slots, the inbox rows of slots that run, and its next due time. The slot of a job
// with a gate gets the state due and no inbox row; the inbox row follows when the gate opens. If Overlap is OverlapFold and a fire of the job is
// unfinished at the commit, the store stores the running slot as coalesced, with the reason "waiting for #FIRE", and drops the inbox row.
type Firing struct {
	Job   Job       // with the new Last and Due
	Slots []Slot    // oldest first
	Run   []Queued  // those that run; more than one only with MissedAll
	Ask   string    // text of a question to the owner instead of a run (MissedAsk)
	From  time.Time // Job.Due when it was read. If the row's due or version has changed since, or it was paused or removed, it is left alone (ErrMoved)
}

// Queued is a slot that runs: its index in Slots, and its inbox row.
type Queued struct {
	Slot int
	In   event.In
}

// The changes of jobs that tools and commands return. The store applies them in the commit of the result.
type (
	// Put creates a job, or replaces the one with the same ID.
	Put struct{ Job Job }
	// Remove deletes a job; its fires stay.
	Remove struct{ ID int64 }
	// Pause pauses a job, or resumes it with Due as its next slot.
	Pause struct {
		ID     int64
		Paused bool
		Due    time.Time
	}
	// RunNow queues one manual run, in addition to the schedule.
	RunNow struct {
		Job Job
		In  event.In
	}
)

// Entry is a job's next slot for the runner. A zero Due means that it no longer fires.
type Entry struct {
	ID  int64
	Due time.Time
}

// ByHand returns the inbox row of a manual run. id makes it unique.
func ByHand(j Job, id string, now time.Time) event.In {
	return event.In{
		Source: "cron", ExtID: fmt.Sprintf("job:%d:run:%s", j.ID, id), Session: j.SessionKey(), Kind: event.Fire, Rank: event.RankSchedule,
		Trust: j.Trust, Typed: j.Typed, Tainted: j.Tainted, Sender: j.Name, ReplyTo: j.Deliver, Parts: event.Say(j.Prompt), Received: now,
	}
}

// Start returns the time that periods count from: when the schedule was set.
func (j Job) Start() time.Time {
	if j.Anchor.IsZero() {
		return j.Created
	}
	return j.Anchor
}

// SessionKey returns the session of the job's turns.
func (j Job) SessionKey() string {
	switch {
	case j.Name == Heartbeat:
		return Heartbeat
	case j.Session == "isolated":
		return "job:" + j.Name
	}
	return "main"
}
