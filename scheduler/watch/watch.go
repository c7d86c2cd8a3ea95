// Package watch tells hob when files change. A reader marks folders, a scanner lists them, waits until what has changed
// rests, and commits what it has seen together with the inbox row that tells of it. What it last saw is kept in a
// snapshot, so that changes made while hob was down are found, and nothing is told twice. It never runs a prompt, and it
// opens nothing of hob's own state.
package watch

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
// SHA-256 in hex, "" when the path is gone. Ledger is the one in use.
type Own interface {
	Wrote(path, hash string) bool
}

// SessionKey is the session that the watch's turns belong to.
func (w Watch) SessionKey() string { return "watch:" + w.Name }
