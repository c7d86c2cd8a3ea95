// Package triggers holds the rows of what makes hob act by itself: jobs, the heartbeat, watches, webhooks, and the fires of them all. It
// works inside the transactions of package store. It decides nothing about time: which slots are due is the scheduler's word.
package triggers

import (
	"context"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store/db"
	"hob/scheduler"
	"hob/tools"
)

// Tx is a transaction of the store, with the deeds that are the store's own.
type Tx interface {
	// Rows is the transaction itself.
	Rows() *db.Tx
	// Accept stores an input.
	Accept(in event.In) (event.Receipt, error)
	// Ask puts a question to the owner.
	Ask(q *turn.Question) (int64, error)
	// Notice tells the owner something, once for a key; cause is the row that it is about.
	Notice(key string, cause int64, text string) error
	// Apart stores an input in a transaction of its own, as a deliberate fault does.
	Apart(in event.In)
}

// Desk reads and writes the triggers of a database. Its methods are safe for concurrent use; each is one transaction.
type Desk struct {
	readers *db.Readers
	write   func(context.Context, func(Tx) error) error
	bell    func() <-chan struct{}
}

// New makes a desk; write runs a transaction, bell is a channel that is closed when triggers were changed.
func New(readers *db.Readers, write func(context.Context, func(Tx) error) error, bell func() <-chan struct{}) Desk {
	return Desk{readers, write, bell}
}

var _ scheduler.Store = Desk{}

// JobsBell rings when a trigger was made or changed.
func (d Desk) JobsBell() <-chan struct{} { return d.bell() }

// Apply applies the changes that tools and commands make; false: c is none of them.
func Apply(tx Tx, c tools.Change) (bool, error) {
	switch c := c.(type) {
	case scheduler.Put:
		return true, putJob(tx, c.Job)
	case scheduler.Remove:
		k, err := kindIn(tx, c.ID)
		if err != nil {
			return true, err
		}
		return true, remove(tx, k, c.ID)
	case scheduler.Pause:
		k, err := kindIn(tx, c.ID)
		if err != nil {
			return true, err
		}
		return true, pause(tx, k, c.ID, c.Paused, c.Due)
	case scheduler.RunNow:
		return true, runNow(tx, c)
	default:
		return applyWatch(tx, c)
	}
}

// mustAccept stores the inbox row of a new fire; a row of that id that is there already is somebody else's.
func mustAccept(tx Tx, in event.In) error {
	r, err := tx.Accept(in)
	if err == nil && !r.New {
		return fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return err
}
