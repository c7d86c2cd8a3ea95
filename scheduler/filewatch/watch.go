// Package filewatch reports when files change. The system's notifier marks folders as dirty (sensor.go). The watcher scans dirty folders
// and compares them with the snapshot (survey.go, tree.go); what differs becomes a candidate. When the candidates have settled, the writer
// reads them and commits the new snapshot together with the fire and the inbox row (serve.go). The snapshot is stored, so changes while hob
// was not running are found, and none is reported twice.
//
// The package never runs a prompt, and opens no file of hob's own state.
package filewatch

import (
	"context"
	"errors"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
)

// Kind is the kind of a change.
type Kind string

// The kinds of changes.
const (
	Create Kind = "create"
	Write  Kind = "write" // new content, by any means
	Remove Kind = "remove"
	Rename Kind = "rename" // the same file under another name, if both names are watched
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Create, Write, Remove, Rename} }

// Watch is a prompt that runs when files change.
// New makes it from a Draft; the store keeps it; the Watcher reads it again after each change.
type Watch struct {
	scheduler.Trigger
	Paths     []string      `json:"paths"`               // absolute files, folders and globs (doublestar), with ~ expanded, as resolved at the creation
	Include   []string      `json:"include,omitempty"`   // globs for the path below a watched folder; one without a slash is for the name; none: all files
	Events    []Kind        `json:"events,omitempty"`    // none: all kinds
	Settle    time.Duration `json:"settle"`              // time without a change before a report; default 2 s
	Flat      bool          `json:"flat,omitempty"`      // without subfolders
	Gitignore bool          `json:"gitignore,omitempty"` // without the files that .gitignore excludes, and without .git
	Own       bool          `json:"own,omitempty"`       // also report hob's own writes
	Poll      time.Duration `json:"poll,omitempty"`      // scan interval instead of events; 0: only for file systems without events (network mounts: every 30 s)
}

// View is a watch as lists and details show it.
type View struct {
	ID         int64         `json:"id,omitempty" jsonschema:"number; a new watch gets it when the call is stored"`
	Name       string        `json:"name" jsonschema:"unique name"`
	Paths      []string      `json:"paths" jsonschema:"files, folders and globs, absolute"`
	Include    []string      `json:"include,omitempty" jsonschema:"globs below a folder; none: all files"`
	Events     []string      `json:"events,omitempty" jsonschema:"kinds that count; none: all"`
	Settle     string        `json:"settle" jsonschema:"how long a file must have rested"`
	Poll       string        `json:"poll,omitempty" jsonschema:"looked at so often, without waiting for events"`
	Flat       bool          `json:"flat,omitempty" jsonschema:"without subfolders"`
	Gitignore  bool          `json:"gitignore,omitempty" jsonschema:"without what .gitignore leaves out"`
	Own        bool          `json:"own,omitempty" jsonschema:"hob's own writes count too"`
	Prompt     string        `json:"prompt" jsonschema:"what hob is told"`
	Deliver    event.Address `json:"deliver" jsonschema:"where the answer goes"`
	Origin     string        `json:"origin,omitempty" jsonschema:"config: only its file changes it"`
	Allow      []string      `json:"allow,omitempty" jsonschema:"rights that it has without asking"`
	Plain      bool          `json:"plain,omitempty" jsonschema:"it asks no model: the built-in interpreter runs it"`
	NeedsModel bool          `json:"needs_model,omitempty" jsonschema:"no model is connected, and without one each run fails"`
	Tainted    bool          `json:"tainted,omitempty" jsonschema:"made in a turn that had read foreign text"`
	Paused     bool          `json:"paused,omitempty" jsonschema:"stopped for now"`
	Broken     string        `json:"broken,omitempty" jsonschema:"why it does not watch"`
	Failures   int           `json:"failures,omitempty" jsonschema:"runs failed in a row"`
	Created    time.Time     `json:"created" jsonschema:"when it was made"`
	Ready      bool          `json:"ready" jsonschema:"its first look is done: from then on changes are told"`
	Trouble    string        `json:"trouble,omitempty" jsonschema:"what it cannot see, or sees late"`
	Held       time.Time     `json:"held_until,omitzero" jsonschema:"changes are collected until then, after failures or because it fired too often"`
	Waits      string        `json:"waits,omitempty" jsonschema:"folders or files that it waits for: they are not there"`
}

// View returns the view of a watch with its progress.
func (w Watch) View(p Progress) View {
	v := View{
		ID: w.ID, Name: w.Name, Paths: w.Paths, Include: w.Include, Settle: periodText(w.Settle), Poll: periodText(w.Poll), Flat: w.Flat, Gitignore: w.Gitignore, Own: w.Own,
		Prompt: w.Prompt, Deliver: w.Deliver, Origin: w.Origin, Allow: w.Allow, Plain: w.Plain, Tainted: w.Tainted, Paused: w.Paused, Broken: w.Broken, Failures: w.Failures, Created: w.Created,
		Ready: p.Ready, Trouble: p.Trouble, Held: p.Held,
	}
	for _, k := range w.Events {
		v.Events = append(v.Events, string(k))
	}
	return v
}

// periodText formats a period; 0 gives "", so that it is left out of the JSON.
func periodText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// File is a row of snapshots: the last seen state of a path. A row with the path "." marks the first scan as done; without it the next scan
// counts as the first and reports nothing. Its version is the one at which new paths start. It is higher than those of all removed rows, so
// that a path never repeats a version, however often it disappears and returns.
type File struct {
	Path    string
	Dir     bool
	Ino     uint64 // 0: the system has no inodes
	Size    int64
	Mtime   int64  // nanoseconds since 1970; negative if later content may have the same time, so that the file must be read again
	Hash    string // SHA-256 in hex; "link:", "stat:" or "changing" introduce a replacement for content that cannot be hashed
	Version int64  // increases with each new content of the path, even if an old content returns
	Text    []byte // only of text files up to 32 KiB; nil: not stored
	Gone    bool   // the file was removed, and its row will be
}

// Change is one reported change.
type Change struct {
	Kind     Kind
	Path     string // with a final slash for a renamed folder
	From     string // of a rename
	Version  int64
	Size     int64
	Files    int    // number of files in a renamed folder
	Diff     string // unified diff of a small text file; may be cut
	Changing bool   // it has been changing for so long that it is reported before it settles
}

// Seen is the content of one commit.
// The writer makes it and the store applies it completely or not at all, so snapshot and inbox never disagree.
type Seen struct {
	Watch Watch
	Files []File    // snapshot rows to store
	In    *event.In // nil: nothing to report (own writes, unwanted kinds, first scan)
	Key   string    // of the fire; "" when In is nil
}

// Store holds watches and snapshots for a Watcher.
type Store interface {
	// Watches lists the active watches.
	Watches(ctx context.Context) ([]Watch, error)
	// Snapshot lists the rows of a watch, without Text, in any order.
	Snapshot(ctx context.Context, watch int64) ([]File, error)
	// Text returns the stored text of a path, or nil.
	Text(ctx context.Context, watch int64, path string) ([]byte, error)
	// Saw stores the snapshot rows (replacing those with the same path, and deleting those that are Gone) and, if In is not nil, the fire
	// and the inbox row, all in one commit. If Key already has a fire, it stores only the rows. If the watch is no longer active, it stores
	// nothing and returns ErrStopped.
	Saw(ctx context.Context, s Seen) error
	// Trouble tells the owner that a watch does not work properly, once a day for the same text; "" means that it works again.
	Trouble(ctx context.Context, watch int64, text string) error
}

// ErrStopped reports that a watch was paused or removed, or cannot be used any more.
var ErrStopped = errors.New("the watch is stopped")

// Own knows what hob itself has written. Wrote reports whether hob wrote the newest content of a path; hash is its SHA-256 in hex, "" if
// the path is gone. OwnWrites implements it.
type Own interface {
	Wrote(path, hash string) bool
}

// SessionKey returns the session of the watch's turns.
func (w Watch) SessionKey() string { return "watch:" + w.Name }
