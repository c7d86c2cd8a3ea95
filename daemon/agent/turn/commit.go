package turn

import (
	"errors"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// What the store answers to a commit that may not be.
var (
	// ErrStale is a commit of a turn that is no longer this process's to step.
	ErrStale = errors.New("the turn is no longer running here")
	// ErrBudget is a reservation over the cap.
	ErrBudget = errors.New("the budget of the day is used up")
)

// Begin is the commit before a model request: waiting messages join, and what the request may cost is reserved.
type Begin struct {
	Turn    int64
	Step    Step                             // kind model, state Intent
	Alone   bool                             // nobody joins: it is no request of the conversation
	Free    bool                             // a local model: nothing is reserved and no step is written
	Ran     time.Duration                    // running time since the last commit
	Reserve func(joined []event.Part) Amount // what the request may cost with what joins; it is pure; nil: what Step says
}

// Begun is what came of it.
type Begun struct {
	Joined  int // messages
	Reserve Amount
}

// Commit is everything that one step of a turn came to, in one transaction. Zero fields change nothing.
type Commit struct {
	Turn     int64
	Items    []llm.Item
	Steps    []Step         // written by N; a step whose Question is Asks gets the id of Question
	Wait     *Wait          // of the call that parks, or that needs the approval
	Question *Question      // asked by this commit
	Consume  int64          // the question whose approval is used now
	Changes  []tools.Change // outbox rows, job changes, artifacts, audit rows
	Park     *Park          // the turn waits now; nil does not park
	End      *Finish        // how the turn ends; nil does not end
	Taint    string         // from where the turn has read foreign text in this step, "" when it has read none
	Ran      time.Duration  // running time since the last commit
	Events   []event.Event
}

// Asks stands for the id of the question that the same commit asks.
const Asks int64 = -1
