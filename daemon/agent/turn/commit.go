package turn

import (
	"errors"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// Errors of the store for a commit that it refuses.
var (
	// ErrStale means that this process no longer owns the turn.
	ErrStale = errors.New("the turn is no longer running here")
	// ErrBudget means that the reservation exceeds the budget of the day.
	ErrBudget = errors.New("the budget of the day is used up")
)

// Begin is the commit before a model request. Waiting messages join the turn, and the possible cost of the request is reserved.
type Begin struct {
	Turn    int64
	Row     Turn                             // the turn as the caller has read it; ID 0: Begin reads it
	Step    Step                             // kind model, state Intent
	Held    Step                             // what the claim has reserved for this request; N 0: nothing
	Alone   bool                             // no message joins: the request is not part of the conversation
	Apart   func(Queued) bool                // which message opens a turn of its own: neither it nor a later one joins; nil: none
	Free    bool                             // a local model: nothing is reserved and no step is written
	Ran     time.Duration                    // running time since the last commit
	Reserve func(joined []event.Part) Amount // the cost of the request with the joined parts; pure; nil means Step.Reserve
}

// Begun is the result of a Begin.
type Begun struct {
	Joined  int // number of messages that joined
	Reserve Amount
}

// Commit is the result of one step of a turn. The store writes it in one transaction. Zero fields change nothing.
type Commit struct {
	Turn         int64
	Items        []llm.Item
	Steps        []Step         // inserted or updated by N; a step with Question = Asks gets the id of Question
	Wait         *Wait          // the wait of the call that parks or needs approval
	Question     *Question      // asked by this commit
	UsedApproval int64          // id of the question whose approval is used up
	Compact      *Compaction    // shortens what the session's requests contain; nil does not
	Changes      []tools.Change // outbox rows, job changes, artifacts, audit rows
	Park         *Park          // parks the turn; nil does not
	End          *Finish        // ends the turn; nil does not
	Taint        string         // the source of foreign text that the step read, "" for none
	Ran          time.Duration  // running time since the last commit
	Events       []event.Event
}

// Asks is a placeholder for the id of the question in the same commit.
const Asks int64 = -1
