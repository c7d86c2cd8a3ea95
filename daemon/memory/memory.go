// Package memory is the index of what hob remembers, and the search in it. The truth is files: MEMORY.md and memory/**/*.md in the
// workspace. The index is a database of its own, state/index.db, that is derived from them: it is made anew when it is missing, damaged or of
// another version, no backup has it, and no turn waits for it.
//
// The flow: Sync lists the files (files.go), reads those that have changed, cuts them into overlapping windows (chunk.go) and commits these
// (sync.go). Search turns a query into terms (terms.go), finds the chunks that contain them (search.go), ranks them (rank.go) and joins
// overlapping ones into passages up to a budget of bytes (passages.go). The database is opened at the first use and closed at rest (index.go).
//
// It reads files through the path guard only and writes nothing but its database. It never decides about permission: the asker is part of
// the query.
package memory

import (
	"context"
	"log/slog"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sys"
)

// Kind is the kind of a chunk or passage.
type Kind string

// The kinds.
const (
	File    Kind = "memory"  // a memory file
	History Kind = "history" // an item of a transcript
	Context Kind = "context" // a context item
)

// Scope is where a search looks.
type Scope string

// The scopes. Main and Notes are parts of Memory.
const (
	All          Scope = "all"
	Memory       Scope = "memory"
	HistoryScope Scope = "history"
	ContextScope Scope = "context"
	Main         Scope = "main"  // MEMORY.md
	Notes        Scope = "notes" // memory/**/*.md
)

// The defaults of a search.
const (
	DefaultPassages = 6
	DefaultBytes    = 8000
	DefaultScore    = 0.35 // passages that hold the answer score at least this; see the calibration in rank.go
)

// Options configure an index.
type Options struct {
	Path    string                // of the database; its folder exists
	Guard   func() *fsguard.Guard // the owner's guard, which leads to the workspace
	Folders *sys.Folders          // reports changes of the files to Run
	History HistorySource         // of the conversations; nil: there is none
	// Origin names the database that History reads, in its present timeline, and changes with each removal there. An index of another origin is made
	// anew; nil: there is only one.
	Origin  func(context.Context) (string, error)
	Context ContextSource       // of the context items; zero: there are none
	Redact  func(string) string // replaces known secrets before anything is stored; nil: there are none
	Vectors Vectors             // nil: searches go by words only
	Now     func() time.Time
	Log     *slog.Logger
}

// Query is a search.
type Query struct {
	Text        string
	Scope       Scope   // "": All
	Owner       bool    // the owner asks, in private. All others find the history of their own session, and nothing else
	Session     int64   // the asker's session; 0: none
	Only        bool    // of the history only that of Session, also for the owner
	Drive       string  // of the context items only those of this drive; "": all
	MaxPassages int     // 0: DefaultPassages
	MaxBytes    int     // of the texts of all passages; 0: DefaultBytes
	Quick       bool    // a turn waits for it: the index is brought up to date only if that takes a moment
	MinScore    float64 // passages below it are given only if there are no others, and marked as weak
}

// Result is what a search found.
type Result struct {
	Passages []Passage
	Files    int      // memory files that are in the index
	Cut      []string // memory files of which at most the first 4 MB were searched
	Weaker   int      // passages that were left out because they are below MinScore
	Best     float64  // the highest score of these
	Vectors  bool     // vectors were compared too, not only words
	Notes    []string // what the reader should know: "the index is being made: 12 of 300 files are missing"
}

// Passage is a text that was found.
type Passage struct {
	Kind    Kind
	Path    string  // of context: DRIVE:PATH; of memory: relative to the workspace; see the column in schema/0001_index.sql
	Above   string  // the headings above it, outermost first
	Session int64   // of history
	From    int     // first line, from 1; of history: the item's number
	To      int     // last line
	Score   float64 // 0 to 1
	Weak    bool    // below the query's MinScore
	Foreign string  // why it is somebody else's text; "": it is the owner's own. It taints its reader
	Sender  string  // of history
	Time    time.Time
	Text    string
}
