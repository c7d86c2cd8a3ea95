package automation

import (
	"context"

	"hob/scheduler/filewatch"
	"hob/tools"
)

// Watches is the part of the file watcher that the tool watch needs. Its errors are like those of Jobs.
type Watches interface {
	// List returns all watches that are not removed, by name.
	List(ctx context.Context) ([]filewatch.View, error)
	// Find looks a watch up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (filewatch.View, bool, error)
	// Plan works out a new watch, and the row to store.
	Plan(ctx context.Context, d filewatch.Draft) (filewatch.View, tools.Change, error)
	// Alter works out the watch after Remove, Pause or Resume, and the row to store; nil if nothing changes.
	Alter(ctx context.Context, w filewatch.View, v Verb) (filewatch.View, tools.Change, error)
	// Crowded returns a warning if a watch has more folders than the system can watch, "" if not or if that cannot be told quickly.
	Crowded(ctx context.Context, w filewatch.View) string
}
