package automation

import (
	"context"

	"hob/scheduler/filewatch"
	"hob/tools"
)

// Watches is what the tool watch needs of the file watches. Errors are those of Jobs.
type Watches interface {
	// List returns all watches that are not removed, by name.
	List(ctx context.Context) ([]filewatch.View, error)
	// Find looks a watch up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (filewatch.View, bool, error)
	// Plan works out a new watch, and the row that makes it so.
	Plan(ctx context.Context, d filewatch.Draft) (filewatch.View, tools.Change, error)
	// Alter works out what Remove, Pause or Resume does to a watch, and the row that makes it so; nil: it is as wished already.
	Alter(ctx context.Context, w filewatch.View, v Verb) (filewatch.View, tools.Change, error)
	// Crowded says that a watch has more folders than the system can watch, "" when not, or when that is not known at once.
	Crowded(ctx context.Context, w filewatch.View) string
}
