package store

import (
	"context"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler"
	"hob/tools"
)

// Jobs holds jobs and the heartbeat, and the fires of all triggers. It is safe for concurrent use; each method is one transaction. The
// scheduler decides which slots are due.
type Jobs struct{ core *core }

var _ scheduler.Store = Jobs{}

// Record applies changes of triggers.
func (d Jobs) Record(ctx context.Context, list ...tools.Change) error {
	return d.core.record(ctx, list)
}

// JobsSignal fires when a trigger was created or changed.
func (d Jobs) JobsSignal() <-chan struct{} { return d.core.db.Wait(sqlite.SignalJobs) }

// mustAccept stores the inbox row of a new fire. An existing row with that id belongs to something else, so it is an error.
func mustAccept(tx *Tx, in event.In) error {
	r, err := acceptIn(tx, in)
	if err == nil && !r.New {
		return fmt.Errorf("there is an inbox row %s %s already", in.Source, in.ExtID)
	}
	return err
}
