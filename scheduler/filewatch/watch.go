// Package filewatch notices when files change. A reader marks folders, a scanner lists them, waits until the changes have
// settled, and commits what it saw together with the inbox row that reports it. The last state is kept in a snapshot, so
// that changes made while hob was down are found, and none is reported twice. It never runs a prompt, and it
// opens nothing of hob's own state.
package filewatch

import (
	"context"
	"errors"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// Kind is what happened to a file.
type Kind string

// The kinds of changes.
const (
	Create Kind = "create"
	Write  Kind = "write" // new content, however it came there
	Remove Kind = "remove"
	Rename Kind = "rename" // the same file under another name, where both are watched
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Create, Write, Remove, Rename} }

// Watch is a prompt that runs when files change.
type Watch struct {
	scheduler.Trigger
	Paths     []string      `json:"paths"`               // absolute files, folders and globs (doublestar), ~ expanded, as resolved when made
	Include   []string      `json:"include,omitempty"`   // globs against the path below a watched folder; one without a slash against the name; none: all
	Events    []Kind        `json:"events,omitempty"`    // none: all four
	Settle    time.Duration `json:"settle"`              // a file must have rested so long; default 2 s
	Flat      bool          `json:"flat,omitempty"`      // not into subfolders
	Gitignore bool          `json:"gitignore,omitempty"` // leave out what .gitignore leaves out, and .git
	Own       bool          `json:"own,omitempty"`       // hob's own writes count too
	Poll      time.Duration `json:"poll,omitempty"`      // look so often instead of waiting for events; 0: only where the file system tells nothing (network mounts: every 30 s)
}

// View is a watch as it is shown.
type View struct {
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
	Ready     bool          `json:"ready" jsonschema:"its first look is done: from then on changes are told"`
	Trouble   string        `json:"trouble,omitempty" jsonschema:"what it cannot see, or sees late"`
	Waits     string        `json:"waits,omitempty" jsonschema:"a folder or file that it waits for: it is not there"`
}

// View shows a watch; l is how far it has come.
func (w Watch) View(l Look) View {
	v := View{
		ID: w.ID, Name: w.Name, Paths: w.Paths, Include: w.Include, Settle: periodText(w.Settle), Poll: periodText(w.Poll), Flat: w.Flat, Gitignore: w.Gitignore, Own: w.Own,
		Prompt: w.Prompt, Deliver: w.Deliver, Origin: w.Origin, Allow: w.Allow, Tainted: w.Tainted, Paused: w.Paused, Broken: w.Broken, Failures: w.Failures, Created: w.Created,
		Ready: l.Ready, Trouble: l.Trouble,
	}
	for _, k := range w.Events {
		v.Events = append(v.Events, string(k))
	}
	return v
}

func periodText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// File is a row of snapshots: what a watch last saw at a path. The row whose path is "." says that the first look at the watch is done:
// without it the next look is a first one, which tells nothing. Its version is that with which a path begins that has no row: it lies above
// those of all rows that went, so that no version of a path comes twice, however often the path goes and comes back.
type File struct {
	Path    string
	Dir     bool
	Ino     uint64 // 0: the system has no such numbers
	Size    int64
	Mtime   int64  // nanoseconds since 1970; negated where the next content might bear the same time, so that the file is read once more
	Hash    string // SHA-256 in hex; "link:", "stat:" and "changing" begin what stands there when the content could not be hashed
	Version int64  // grows with each new content of the path, also when an old one comes back
	Text    []byte // of small text files only, ≤ 32 KiB; nil: none is kept
	Gone    bool   // it was removed: its row goes
}

// Change is one thing that an event tells of.
type Change struct {
	Kind     Kind
	Path     string // of a renamed folder with a slash at its end
	From     string // of a rename
	Version  int64
	Size     int64
	Files    int    // of a renamed folder: how many files were in it
	Diff     string // unified, of small text files; may be cut
	Changing bool   // it has not rested for so long that it is told while it still changes
}

// Seen is what one look commits.
type Seen struct {
	Watch Watch
	Files []File    // snapshot rows to put
	In    *event.In // nil: nothing to tell (own writes, unwanted kinds, first look)
	Key   string    // of the fire; "" when In is nil
}

// Store keeps watches and snapshots for a Watcher.
type Store interface {
	// Watches lists the live ones, not paused, not broken.
	Watches(ctx context.Context) ([]Watch, error)
	// Snapshot lists the rows of a watch, without Text, in any order.
	Snapshot(ctx context.Context, watch int64) ([]File, error)
	// Text is the text kept of a path, nil when there is none.
	Text(ctx context.Context, watch int64, path string) ([]byte, error)
	// Saw puts the snapshot rows (over those with the same path; it deletes those that are Gone) and, when In is not nil, the fire and the
	// inbox row, all in one commit. A Key that has a fire already puts the rows and nothing else. It is ErrStopped, and nothing is put, when the watch is not
	// among Watches any more.
	Saw(ctx context.Context, s Seen) error
	// Trouble tells the owner that a watch does not work as it should, once for the same text a day; "" says that it does again.
	Trouble(ctx context.Context, watch int64, text string) error
}

// ErrStopped says that a watch was paused or removed, or cannot be used any more.
var ErrStopped = errors.New("the watch is stopped")

// Own knows what hob itself wrote. Wrote reports whether the newest content of a path is one that hob put there; hash is its
// SHA-256 in hex, "" when the path is gone. OwnWrites is the one in use.
type Own interface {
	Wrote(path, hash string) bool
}

// SessionKey is the session that the watch's turns belong to.
func (w Watch) SessionKey() string { return "watch:" + w.Name }
