package automation

import (
	"context"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// Watches is what the tool watch needs of the file watches. Errors are those of Jobs.
type Watches interface {
	// List returns all watches that are not removed, by name.
	List(ctx context.Context) ([]Watch, error)
	// Find looks a watch up by its name or, in decimal, its id.
	Find(ctx context.Context, nameOrID string) (Watch, bool, error)
	// Plan works out a new watch, and the row that makes it so.
	Plan(ctx context.Context, d WatchDraft) (Watch, tools.Change, error)
	// Alter works out what Remove, Pause or Resume does to a watch, and the row that makes it so; nil: it is as wished already.
	Alter(ctx context.Context, w Watch, v Verb) (Watch, tools.Change, error)
	// Crowded says that a watch has more folders than the system can watch, "" when not, or when that is not known at once.
	Crowded(ctx context.Context, w Watch) string
}

// Watch is a file watch as it is shown.
type Watch struct {
	ID        int64         `json:"id,omitempty" jsonschema:"number; a new watch gets it when the call is stored"`
	Name      string        `json:"name" jsonschema:"unique name"`
	Paths     []string      `json:"paths" jsonschema:"files, folders and globs, absolute"`
	Include   []string      `json:"include,omitempty" jsonschema:"globs below a folder; none: all files"`
	Events    []string      `json:"events,omitempty" jsonschema:"kinds that count; none: all"`
	Settle    string        `json:"settle" jsonschema:"how long a file must have rested"`
	Poll      string        `json:"poll,omitempty" jsonschema:"looked at so often, without waiting for events"`
	Flat      bool          `json:"flat,omitempty" jsonschema:"without subfolders"`
	Gitignore bool          `json:"gitignore,omitempty" jsonschema:"without what .gitignore leaves out"`
	Own       bool          `json:"own,omitempty" jsonschema:"hob's own writes count too"`
	Prompt    string        `json:"prompt" jsonschema:"what hob is told"`
	Deliver   event.Address `json:"deliver" jsonschema:"where the answer goes"`
	Origin    string        `json:"origin,omitempty" jsonschema:"config: only its file changes it"`
	Allow     []string      `json:"allow,omitempty" jsonschema:"rights that it has without asking"`
	Tainted   bool          `json:"tainted,omitempty" jsonschema:"made in a turn that had read foreign text"`
	Paused    bool          `json:"paused,omitempty" jsonschema:"stopped for now"`
	Broken    string        `json:"broken,omitempty" jsonschema:"why it does not watch"`
	Failures  int           `json:"failures,omitempty" jsonschema:"runs failed in a row"`
	Created   time.Time     `json:"created" jsonschema:"when it was made"`
	Look
}

// Look is how far a watch has come.
type Look struct {
	Ready   bool   `json:"ready" jsonschema:"its first look is done: from then on changes are told"`
	Trouble string `json:"trouble,omitempty" jsonschema:"what it cannot see, or sees late"`
	Waits   string `json:"waits,omitempty" jsonschema:"a folder or file that it waits for: it is not there"`
}

// WatchDraft is a new watch as it is wished for. Empty fields take their defaults.
type WatchDraft struct {
	Name      string
	Prompt    string
	Paths     []string // absolute files, folders and globs, links resolved as far as a path is no glob
	Include   []string
	Events    []string
	Settle    time.Duration
	Poll      time.Duration
	Flat      bool
	Gitignore bool
	Own       bool
	Deliver   event.Address
	Allow     string        // rights, with commas between them
	Trust     event.Trust   // who asks for it
	Tainted   bool          // in a turn that has read foreign text
	Typed     bool          // the owner typed this very call
	Words     string        // his own words that it comes from
	ReplyTo   event.Address // where it is asked for: the default of Deliver
	Now       time.Time
}
