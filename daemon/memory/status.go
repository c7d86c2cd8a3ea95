package memory

import (
	"context"
	"database/sql"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sqlite"
)

// Status is what the index holds.
type Status struct {
	Files    int       `json:"files"`              // memory files in the index
	Chunks   int       `json:"chunks"`             // windows of them, and other items
	Bytes    int64     `json:"bytes"`              // of the database
	Left     int       `json:"left"`               // changed files that are still to be read
	Running  bool      `json:"running"`            // a sync runs
	Watching bool      `json:"watching"`           // the system reports changes; without it each search looks at the files
	Synced   time.Time `json:"synced,omitzero"`    // when the last sync ended; zero: none since the start
	Read     int       `json:"read"`               // files that the last sync read
	Gone     int       `json:"gone"`               // files that it removed from the index
	Skipped  []FileRow `json:"skipped"`            // files that are not searched, or only in part; at most 100
	Problems []string  `json:"problems,omitempty"` // folders that could not be read, and files that are left out for their names
	Error    string    `json:"error,omitempty"`    // why the last sync did not end
	Hint     string    `json:"hint,omitempty"`     // what to do about that
	Passages int       `json:"passages"`           // chunks of files; the others are of conversations and context items
	Context  int       `json:"context,omitempty"`  // chunks of context items

	Vectors *VectorStatus `json:"vectors,omitempty"` // nil: no server for embeddings is set
}

// FileRow is a file of the index.
type FileRow struct {
	Path    string    `json:"path"` // in the workspace
	State   string    `json:"state"`
	Problem string    `json:"problem,omitempty"`
	Size    int64     `json:"size"` // bytes
	Chunks  int       `json:"chunks"`
	Changed time.Time `json:"changed,omitzero"`
	Foreign string    `json:"foreign,omitempty"` // why it counts as somebody else's text
}

// mostSkipped is the number of files that Status names.
const mostSkipped = 100

const statusQuery = `SELECT (SELECT count(*) FROM files), (SELECT coalesce(sum(n), 0) FROM tally), (SELECT coalesce(sum(n), 0) FROM tally WHERE kind = 'memory'),
	(SELECT coalesce(sum(n), 0) FROM tally WHERE kind = 'context'), (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())`

// Status describes the index as it is, without bringing it up to date. A sync that failed is tried again; if that takes longer, Error is that of the try before.
func (x *Index) Status(ctx context.Context) (Status, error) {
	x.mu.Lock()
	failed := x.last.Err != ""
	x.mu.Unlock()
	if failed {
		x.fresh(ctx)
	}
	x.mu.Lock()
	s := Status{Running: x.run != nil, Synced: x.last.At, Read: x.last.Read, Gone: x.last.Gone, Problems: x.last.Problems, Error: x.last.Err, Hint: x.last.Hint, Watching: x.watching.Load()}
	if x.run != nil {
		s.Left = int(x.run.left.Load())
	}
	x.mu.Unlock()
	err := x.use(ctx, func(db *sqlite.DB) error {
		row := db.Reader().QueryRowContext(ctx, statusQuery)
		if err := row.Scan(&s.Files, &s.Chunks, &s.Passages, &s.Context, &s.Bytes); err != nil {
			return err
		}
		var err error
		s.Skipped, err = fileRows(ctx, x.o.Guard(), db, "WHERE state <> 'indexed' ORDER BY path LIMIT ?", mostSkipped)
		return err
	})
	if err != nil {
		return s, err
	}
	s.Vectors, err = x.vectorStatus(ctx)
	return s, err
}

// List brings the index up to date and lists its files.
func (x *Index) List(ctx context.Context) (list []FileRow, err error) {
	x.fresh(ctx)
	err = x.use(ctx, func(db *sqlite.DB) error {
		list, err = fileRows(ctx, x.o.Guard(), db, "ORDER BY path <> ?, path", MainFile)
		return err
	})
	return list, err
}

// fileRows reads files of the index.
func fileRows(ctx context.Context, g *fsguard.Guard, db *sqlite.DB, rest string, args ...any) ([]FileRow, error) {
	rs, err := db.Reader().QueryContext(ctx, "SELECT path, place, state, problem, size, chunks, changed FROM files "+rest, args...) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r FileRow, err error) {
		var place string
		var changed int64
		if err := rs.Scan(&r.Path, &place, &r.State, &r.Problem, &r.Size, &r.Chunks, &changed); err != nil {
			return r, err
		}
		if changed != 0 {
			r.Changed = time.Unix(0, changed).UTC()
		}
		r.Foreign = g.Foreign(place, "")
		return r, nil
	})
}

// Reindex throws the index away and makes it anew. It returns at once; Status shows how far it is.
func (x *Index) Reindex(context.Context) error {
	x.mu.Lock()
	running := x.run != nil
	x.mu.Unlock()
	if running {
		return event.NewFault(event.Clash, "hob memory status shows how far it is", "the memory index is being made already")
	}
	if err := x.discard(true); err != nil {
		return err
	}
	x.begin()
	return nil
}
