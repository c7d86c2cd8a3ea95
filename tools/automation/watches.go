package automation

import (
	"context"

	"hob/scheduler/watch"
	"hob/tools"
)

// Watches is what the tool watch needs of the file watches. Errors are those of Jobs.
type Watches interface {
	// List returns all watches that are not removed, by name.
	List(ctx context.Context) ([]watch.View, error)
	// Find looks a watch up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (watch.View, bool, error)
	// Plan works out a new watch, and the row that makes it so.
	Plan(ctx context.Context, d watch.Draft) (watch.View, tools.Change, error)
	// Alter works out what Remove, Pause or Resume does to a watch, and the row that makes it so; nil: it is as wished already.
	Alter(ctx context.Context, w watch.View, v Verb) (watch.View, tools.Change, error)
	// Crowded says that a watch has more folders than the system can watch, "" when not, or when that is not known at once.
	Crowded(ctx context.Context, w watch.View) string
}
