// Package agent runs turns. One goroutine, the Thread, takes the highest-ranked row of the inbox and opens or resumes a turn.
// It then repeats one cycle: Turns.Load reads the turn's rows, turn.Next decides on the next action, the agent carries the
// action out, and Turns.Commit writes the result. A crash at any point loses nothing: after a restart the same rows give the
// same action again.
//
// An action is mostly a request to a model (modelcalls.go, answer.go) or a call of a tool (toolcalls.go, dispatch.go). SubagentPool
// runs the turns of sub-agents in the same way, at most MaxSubagents at a time. CommandHandler answers slash commands in a
// goroutine of its own, so that /stop works while a turn runs.
//
// The package never touches the database, a channel or the system clock. It declares what it needs as interfaces, most of
// them in this file; package daemon passes the implementations in.
package agent

import (
	"context"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/policy"
)

// Queue gives the thread its rows.
type Queue interface {
	// Take claims the highest-ranked row that can run. boundary names the commands that the thread serves between turns.
	// It returns false when there is no such row. If it opens a turn, the opener prepares its first request.
	Take(ctx context.Context, boundary []string, opener turn.Opener) (turn.Claim, bool, error)
	// InboxSignal returns a channel that is closed at the next commit that may have added work. Call it before Take, so that
	// no commit between the two is missed.
	InboxSignal() <-chan struct{}
	// NextWake returns the time at which a row becomes runnable without a commit, zero when there is none. looked is an instant before the last
	// Take: what became runnable after it counts, so the time may be in the past.
	NextWake(ctx context.Context, looked time.Time) (time.Time, error)
	// Drain puts the running turn back into the queue without counting an attempt.
	Drain(ctx context.Context) error
	// NotifyWaiting tells each person who has waited since before the given instant how many messages are ahead of theirs,
	// once per message.
	NotifyWaiting(ctx context.Context, waitingSince time.Time) error
}

// Turns reads and writes the rows of a turn.
type Turns interface {
	// Load reads all rows that decide what the turn does next. It leaves Snapshot.Limits empty.
	Load(ctx context.Context, id int64) (turn.Snapshot, error)
	// Transcript reads the items of a session, oldest first.
	Transcript(ctx context.Context, session int64) ([]llm.Item, error)
	// Begin adds waiting messages to the turn and reserves the possible cost of a model request. Its errors are
	// turn.ErrBudget and turn.ErrStale.
	Begin(ctx context.Context, b turn.Begin) (turn.Begun, error)
	// Commit writes the result of one step. It returns turn.ErrStale when another process owns the turn. It completes even
	// when ctx ends.
	Commit(ctx context.Context, c turn.Commit) error
	// LastEvent returns the number of the newest event.
	LastEvent(ctx context.Context) (int64, error)
}

// Artifacts keeps results that are too large for the transcript.
type Artifacts interface {
	// Keep stores bytes and returns the artifact's id.
	Keep(ctx context.Context, name string, data []byte) (id string, err error)
	// KeepForeign does the same for foreign text. source says where the text comes from.
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// Mode says how strict the permission rules are.
type Mode = policy.Mode

// Settings are the parts of the config that the agent uses. They are read again for each use, so a reload takes effect at once.
type Settings struct {
	Zone           string
	Owner          string          // the owner's name, "" when unknown
	OwnerAddresses []event.Address // the owner's addresses
	KnownAddresses []event.Address // addresses of the people that the config lists as known
	Mode           Mode
	Safe           bool
	Limits         turn.Limits
	System         func(guest bool) []turn.Section // the system text; guest: for an asker other than the owner. It reads files
	Heartbeat      func() string                   // the same for the heartbeat, but short
	Locked         func(path string) bool          // whether the owner forbids tools to change a file; nil: no file is locked

	Workspace string // absolute
	Address   string // host:port of hob's own API
}
