// Package agent is the one thread that thinks: it takes a row, opens or resumes a turn,
// carries out what turn.Next says, and commits what came of it. It never touches the
// database, a channel or a clock of its own: what it needs of others it declares here.
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
	// Take claims the highest-ranked runnable row; boundary names the commands that the thread itself serves. False: none.
	Take(ctx context.Context, boundary []string) (turn.Claim, bool, error)
	// InboxSignal is closed at the next commit after which there may be more to take. Get it before Take.
	InboxSignal() <-chan struct{}
	// NextWake is when something becomes runnable by itself; zero: nothing will.
	NextWake(ctx context.Context) (time.Time, error)
	// Drain puts the running turn back without counting an attempt.
	Drain(ctx context.Context) error
	// Ahead tells those who have waited since before the given instant how many are in front of them, once each.
	NotifyWaiting(ctx context.Context, waitingSince time.Time) error
}

// Ledger reads and writes the rows of a turn.
type Turns interface {
	// Load reads all rows that decide what the turn does next, but for its limits.
	Load(ctx context.Context, id int64) (turn.State, error)
	// Transcript reads the items of a session, oldest first.
	Transcript(ctx context.Context, session int64) ([]llm.Item, error)
	// Begin lets waiting messages join and reserves what a model request may cost: turn.ErrBudget, turn.ErrStale.
	Begin(ctx context.Context, b turn.Begin) (turn.Begun, error)
	// Commit writes what one step came to: turn.ErrStale. It does not stop when ctx ends.
	Commit(ctx context.Context, c turn.Commit) error
	// Grants lists what is allowed for good.
	Grants(ctx context.Context) ([]policy.Grant, error)
}

// Shelf keeps results that are too large for the transcript.
type Artifacts interface {
	// Keep stores bytes and returns the artifact's id.
	Keep(ctx context.Context, name string, data []byte) (id string, err error)
	// KeepForeign does the same with somebody else's text; source says where it is from.
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// Settings is what the agent takes from the config; it is read anew at each use.
type Settings struct {
	Zone      string
	Owner     string          // the owner's name, "" when not known
	Known     []event.Address // the owner's addresses
	Friends   []event.Address // of the people whom the config calls known
	Mode      policy.Mode
	Safe      bool
	Limits    turn.Limits
	System    func(guest bool) string // the stable part of the prompt, for the owner or for somebody else; it reads files
	Heartbeat func() string           // the same for the heartbeat: a small one

	Workspace string // absolute
}
