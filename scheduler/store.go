package scheduler

import (
	"context"
	"errors"
)

// Errors by which a Store tells more than that something failed.
var (
	// ErrMoved says that a job was changed since it was read; nothing was committed.
	ErrMoved = errors.New("the job was changed meanwhile")
	// ErrUnreadable says that a job's row cannot be understood; it is wrapped with the reason.
	ErrUnreadable = errors.New("the job's row cannot be read")
)

// Store keeps jobs and fires for a Runner. Each change of a job that is not made by Fire (a put, a removal, a pause, a resume) gives
// its row the next number of one growing counter, its version.
type Store interface {
	// Moved lists the jobs whose version is above since, and the newest version of all; at the start since is 0.
	// Due is zero for a job that does not fire any more.
	Moved(ctx context.Context, since int64) (moved []Entry, version int64, err error)
	// Job reads one job. The error is an event.Fault of the kind Missing when there is none, ErrUnreadable when its row is spoilt. A paused,
	// broken or finished job is not an error.
	Job(ctx context.Context, id int64) (Job, error)
	// Fire commits a batch in order and in one transaction, all of it or nothing: per firing the rows of its slots, the
	// inbox rows of those that run, the question, and the job's Last and Due (no other column). It is ErrMoved, and nothing
	// is committed, when a job of the batch is gone or paused, its Due is no longer From, or its version is no longer the one that was read. A slot whose (job, key) has a row already
	// keeps that row and does not run. Overlap is folded here: see Firing.
	Fire(ctx context.Context, batch []Firing) error
	// Disable marks a job as broken, with the reason, and tells the owner.
	Disable(ctx context.Context, id int64, why string) error
	// Report tells the owner of all slots that were marked with Tell and that he was not told of yet, in one message (see Away) and
	// one commit; there may be none. It is asked at each wake, and must cost next to nothing then.
	Report(ctx context.Context) error
}
