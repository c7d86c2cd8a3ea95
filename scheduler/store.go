package scheduler

import (
	"context"
	"errors"
)

// Errors with a meaning for the runner.
var (
	// ErrMoved means that a job was changed since it was read; nothing was committed.
	ErrMoved = errors.New("the job was changed meanwhile")
	// ErrUnreadable means that a job's row cannot be decoded; the wrapping error has the reason.
	ErrUnreadable = errors.New("the job's row cannot be read")
)

// Store holds the jobs and fires for a Runner. Each change of a job outside Fire (put, remove, pause, resume) gives its row the next number
// of one increasing counter, its version.
type Store interface {
	// Moved lists the jobs with a version above since, and the newest version; at the start since is 0. Due is zero for a job that no
	// longer fires.
	Moved(ctx context.Context, since int64) (moved []Entry, version int64, err error)
	// Job returns one job. The error is an event.Fault of the kind Missing if there is none, and ErrUnreadable if its row cannot be
	// decoded. A paused, broken or finished job is not an error.
	Job(ctx context.Context, id int64) (Job, error)
	// Fire commits a batch in order in one transaction: for each firing the rows of its slots, the inbox rows of slots that run, the
	// question, and the job's Last and Due (no other column). It returns ErrMoved and commits nothing if a job of the batch was removed or
	// paused, or if its Due or version has changed since it was read. A slot whose (job, key) already has a row keeps that row and does not
	// run. Fire also applies Overlap: see Firing.
	Fire(ctx context.Context, batch []Firing) error
	// Disable marks a job as broken, with the reason, and tells the owner.
	Disable(ctx context.Context, id int64, why string) error
	// Report tells the owner about all slots marked with Tell that were not reported yet, in one message (see MissedReport) and one commit. It is
	// called at each wake, so it must be cheap if there are none. later reports whether slots were left for a later call.
	Report(ctx context.Context) (later bool, err error)
}
