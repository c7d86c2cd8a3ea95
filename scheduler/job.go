// Package scheduler says what fires by itself and when: jobs, their slots, and the
// runner that turns a due slot into rows. Next and Slots are pure. It never runs a
// prompt: it commits a fire and an inbox row together, and the thread does the rest.
package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/scheduler/spec"
)

// Missed is what to do about slots that came due while nobody looked.
type Missed string

// The policies for missed slots.
const (
	MissedOnce Missed = "once" // one run for the newest missed slot
	MissedSkip Missed = "skip"
	MissedAll  Missed = "all" // at most 10
	MissedAsk  Missed = "ask"
)

// Overlap is what to do about a slot that comes due while the last one still runs.
type Overlap string

// The policies for overlapping slots.
const (
	Fold  Overlap = "fold"
	Queue Overlap = "queue"
)

// Trigger is what all have in common that makes hob act by itself: jobs, watches and webhooks. Its row is kept when it is done.
type Trigger struct {
	ID      int64         `json:"id"`
	Name    string        `json:"name"`    // unique among its kind
	Prompt  string        `json:"prompt"`  // what hob is told
	Deliver event.Address `json:"deliver"` // where the answer goes: an address, owner or none
	Trust   event.Trust   `json:"trust"`   // who made it
	Typed   bool          `json:"typed"`   // the prompt is the owner's own words
	Origin  string        `json:"origin"`  // "run-time" or "config"
	Paused  bool          `json:"paused"`
	Created time.Time     `json:"created"`
	Mandate
	Trouble
}

// Job is a recurring or single prompt.
type Job struct {
	Trigger
	Spec    string        `json:"spec"`            // "cron 0 9 * * 1-5", "every 30m", "at 2026-12-24T17:00:00+01:00": as resolved
	Words   string        `json:"words,omitempty"` // the schedule as it was asked for
	Zone    string        `json:"zone"`            // IANA name
	Session string        `json:"session"`         // "main" or "isolated"
	Missed  Missed        `json:"missed"`
	MaxLate time.Duration `json:"max_late"` // 0: min(period/2, 2 h); for "at" unlimited
	Overlap Overlap       `json:"overlap"`
	Gate    Gate          `json:"gate,omitzero"`
	Last    time.Time     `json:"last,omitzero"`   // newest slot that has a row
	Due     time.Time     `json:"due,omitzero"`    // next slot; zero: never again
	Anchor  time.Time     `json:"anchor,omitzero"` // when its schedule was set, where that was after it was made; see Start
	Version int64         `json:"-"`               // of the row, as it was read; see Store
}

// View is a job as it is shown.
type View struct {
	ID       int64         `json:"id,omitempty" jsonschema:"number; a new job gets it when the call is stored"`
	Name     string        `json:"name" jsonschema:"unique name"`
	Spec     string        `json:"spec" jsonschema:"schedule as resolved"`
	Words    string        `json:"words,omitempty" jsonschema:"schedule as it was asked for"`
	Zone     string        `json:"zone" jsonschema:"time zone"`
	Prompt   string        `json:"prompt" jsonschema:"what hob is told"`
	Session  string        `json:"session" jsonschema:"main or isolated"`
	Deliver  event.Address `json:"deliver" jsonschema:"where the answer goes"`
	Missed   string        `json:"missed" jsonschema:"what happens to missed slots"`
	MaxLate  string        `json:"max_late,omitempty" jsonschema:"when late becomes missed"`
	Overlap  string        `json:"overlap" jsonschema:"what happens when the last run is not done"`
	Origin   string        `json:"origin,omitempty" jsonschema:"config: only its file changes it"`
	Allow    []string      `json:"allow,omitempty" jsonschema:"rights that it has without asking"`
	Gate     string        `json:"gate,omitempty" jsonschema:"test before each run, in a line for each part"`
	Tools    []string      `json:"tools,omitempty" jsonschema:"the only tools that its runs may call"`
	Tokens   int64         `json:"max_tokens,omitempty" jsonschema:"what one run may use"`
	Tainted  bool          `json:"tainted,omitempty" jsonschema:"made in a turn that had read foreign text"`
	Paused   bool          `json:"paused,omitempty" jsonschema:"stopped for now"`
	Done     bool          `json:"done,omitempty" jsonschema:"it never runs again"`
	Broken   string        `json:"broken,omitempty" jsonschema:"why it cannot run"`
	Failures int           `json:"failures,omitempty" jsonschema:"runs failed in a row"`
	Held     time.Time     `json:"held_until,omitzero" jsonschema:"before then no slot that is due runs, because of the failures"`
	Created  time.Time     `json:"created" jsonschema:"when it was made"`
	Anchor   time.Time     `json:"anchor,omitzero" jsonschema:"when its schedule was changed; every counts from here, else from created"`
	Next     []time.Time   `json:"next,omitempty" jsonschema:"next slots, at most three"`
	Estimate *Estimate     `json:"estimate,omitempty" jsonschema:"what it may cost in a month"`
	Notes    []string      `json:"notes,omitempty" jsonschema:"what was taken because nobody said it"`
}

// Estimate is what a job may cost within the next 30 days.
type Estimate struct {
	Text   string `json:"text" jsonschema:"in one line"`
	Runs   int64  `json:"runs" jsonschema:"how often it comes due"`
	Micros int64  `json:"cost_micros,omitempty" jsonschema:"money, in millionths; none: the price is not known"`
	Tokens int64  `json:"tokens,omitempty" jsonschema:"of all runs"`
	Free   bool   `json:"free,omitempty" jsonschema:"it costs nothing"`
	Most   bool   `json:"at_most,omitempty" jsonschema:"a gate may let fewer through"`
	Once   bool   `json:"-"` // it runs a single time
}

// shownSlots is how many slots a view has.
const shownSlots = 3

// View shows a job as it is at an instant. The caller adds the estimate and the notes.
func (j Job) View(now time.Time) View {
	v := View{
		ID: j.ID, Name: j.Name, Spec: plainSpec(j.Spec), Words: j.Words, Zone: j.Zone, Prompt: j.Prompt, Session: j.Session, Deliver: j.Deliver,
		Missed: string(j.Missed), Overlap: string(j.Overlap), Origin: j.Origin, Allow: j.Allow, Gate: j.Gate.Words(), Tools: j.Tools, Tokens: j.Tokens, Tainted: j.Tainted,
		Paused: j.Paused, Done: j.Due.IsZero() && !j.Paused, Broken: j.Broken, Failures: j.Failures, Created: j.Created, Anchor: j.Anchor,
	}
	if j.MaxLate > 0 {
		v.MaxLate = spec.Plain(j.MaxLate)
	}
	if j.Broken == "" && !j.Due.IsZero() && !j.Paused {
		from := j.Due
		if v.Held = j.heldUntil(now); v.Held.After(from) {
			from = v.Held // what comes due before runs then
		}
		next, err := Upcoming(j, from.Add(-time.Nanosecond), shownSlots)
		if err != nil {
			v.Broken = err.Error()
		}
		v.Next = next
	}
	return v
}

// Start is what a period counts from: when the job's schedule was set.
func (v View) Start() time.Time {
	if v.Anchor.IsZero() {
		return v.Created
	}
	return v.Anchor
}

// heldUntil is the instant before which a due slot does not run because the job has failed; zero when no slot waits for it.
func (j Job) heldUntil(now time.Time) time.Time {
	failed := j.Hold.Add(-Backoff(j.Failures))
	if j.Hold.After(now) && (j.Last.After(failed) || j.Due.Before(j.Hold)) {
		return j.Hold
	}
	return time.Time{}
}

// Mandate is what a trigger was made with beside the trust of who made it: what its runs may do more, and less, than others.
type Mandate struct {
	Tainted bool     `json:"tainted,omitempty"` // a turn that had read foreign text wrote the prompt
	Allow   []string `json:"allow,omitempty"`   // rights that the owner gave to it; guard.ParseRight reads them
	Tools   []string `json:"tools,omitempty"`   // the only tools that its runs may call; none: all
	Tokens  int64    `json:"tokens,omitempty"`  // what one run may spend; 0: as any turn
}

// leastTokens is less than what any request to a model needs.
const leastTokens = 1000

// Check says all that is wrong with the limits of a mandate, nil: nothing. Whether there are such tools it does not know.
func (m Mandate) Check() error {
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

// Trouble is what went wrong with a job.
type Trouble struct {
	Failures int       `json:"failures"`         // consecutive
	Hold     time.Time `json:"hold,omitzero"`    // failure backoff: slots until then are queued with not_before
	Broken   string    `json:"broken,omitempty"` // why the row cannot be used; it is disabled then
}

// State of a fire: how far it has come.
type State string

// The states of fires.
const (
	StateDue     State = "due"
	StateQueued  State = "queued"
	StateRunning State = "running"
	StateWaiting State = "waiting"
	StateDone    State = "done"
)

// Outcome of a fire that is done.
type Outcome string

// The outcomes of fires. "Late" is ran with Late over the job's limit.
const (
	Ran       Outcome = "ran"
	Failed    Outcome = "failed"
	MissedOut Outcome = "missed"
	Coalesced Outcome = "coalesced"
	Skipped   Outcome = "skipped"
)

// Slot is one intended instant of a job, as a row of fires.
type Slot struct {
	Key     string        `json:"key"` // the instant, RFC 3339 in UTC; "run:ID" for a run by hand
	Due     time.Time     `json:"due"`
	State   State         `json:"state"`
	Outcome Outcome       `json:"outcome,omitempty"`
	Late    time.Duration `json:"late,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Note    string        `json:"note,omitempty"`   // what its run is told beside the prompt
	Limit   time.Duration `json:"limit,omitempty"`  // a run that begins later than this is late; 0: none is
	Tell    bool          `json:"tell,omitempty"`   // it was not served in time: the owner is to be told
	Stands  int64         `json:"stands,omitempty"` // how many slots it stands for; 0: itself

	Unstored bool `json:"unstored,omitempty"` // it was not served in time because it could not be committed
}

// Firing is what one wake of the runner commits for one job, all in one transaction:
// the slots' rows, the inbox row of the slot that runs (nil: none), and the job's next due instant.
// The slot of a job with a gate that would run is in the state due, and has no inbox row: it gets one when its gate opens.
// When Overlap is Fold and a fire of the job is unfinished at the commit, the store stores the running
// slot as coalesced, with the reason "waiting for #FIRE", and drops the inbox row.
type Firing struct {
	Job   Job       // with Last and Due moved on
	Slots []Slot    // oldest first
	Run   []Queued  // which of them run; more than one only for MissedAll
	Ask   string    // a question to the owner instead (MissedAsk): its text
	From  time.Time // Job.Due as it was read: a row whose due has moved since, whose version is no longer Job's, or that is paused or gone, is left alone (ErrMoved)
}

// Queued is a slot that runs: its index in Slots and its inbox row.
type Queued struct {
	Slot int
	In   event.In
}

// Changes of jobs that tools and commands make; the store applies them in the commit of a result.
type (
	// Put makes a job, or replaces the one with the same ID.
	Put struct{ Job Job }
	// Remove deletes a job; its fires stay.
	Remove struct{ ID int64 }
	// Pause stops a job, or lets it go on with Due as its next slot.
	Pause struct {
		ID     int64
		Paused bool
		Due    time.Time
	}
	// RunNow queues one run by hand, beside the schedule.
	RunNow struct {
		Job Job
		In  event.In
	}
)

// Entry is what the runner keeps of a job: its next slot. A zero Due means that it does not fire (any more).
type Entry struct {
	ID  int64
	Due time.Time
}

// ByHand is the inbox row of a run by hand; id makes it unique.
func ByHand(j Job, id string, now time.Time) event.In {
	return event.In{
		Source: "cron", ExtID: fmt.Sprintf("job:%d:run:%s", j.ID, id), Session: j.SessionKey(), Kind: event.Fire, Rank: event.RankSchedule,
		Trust: j.Trust, Typed: j.Typed, Tainted: j.Tainted, Sender: j.Name, ReplyTo: j.Deliver, Parts: event.Say(j.Prompt), Received: now,
	}
}

// Start is what a period counts from: when the job's schedule was set.
func (j Job) Start() time.Time {
	if j.Anchor.IsZero() {
		return j.Created
	}
	return j.Anchor
}

// SessionKey is the session that the job's turns belong to.
func (j Job) SessionKey() string {
	switch {
	case j.Name == Heartbeat:
		return Heartbeat
	case j.Session == "isolated":
		return "job:" + j.Name
	default:
		return "main"
	}
}
