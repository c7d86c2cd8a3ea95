package memory

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// A commit holds at most this many files, and this many bytes of text if it is more than one file.
const (
	filesAtOnce = 200
	bytesAtOnce = 1 << 20
)

// Synced is the outcome of a sync.
type Synced struct {
	At       time.Time // when it ended; zero: there was none since the start
	Files    int       // files that there are
	Read     int       // files that were read because they had changed
	Gone     int       // files that were removed from the index
	Problems []string  // folders that could not be read, and files that are left out for their names
	Err      string    // why it did not end: a full disk, say
	Hint     string    // what to do about that; "": nothing that is known
}

// run is a sync that runs.
type run struct {
	ended chan struct{}
	left  atomic.Int64 // files that are still to be read
	total atomic.Int64
	out   Synced
	err   error
}

// Sync brings the index up to date with the memory files. A sync that runs already is waited for; it may have looked at a file before a change
// that came just now, so callers that need the latest call it through fresh.
func (x *Index) Sync(ctx context.Context) (Synced, error) {
	r := x.begin()
	select {
	case <-r.ended:
		return r.out, r.err
	case <-ctx.Done():
		return Synced{}, ctx.Err()
	}
}

// begin returns the sync that runs, or starts one. It goes on when its caller stops waiting.
func (x *Index) begin() *run {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.run != nil {
		return x.run
	}
	r := &run{ended: make(chan struct{})}
	if x.done {
		r.err = sqlite.ErrClosed
		close(r.ended)
		return r
	}
	x.run = r
	x.dirty.Store(false) // a change from here on makes the next sync look again
	x.group.Once("memory index", func() error {
		r.out, r.err = x.sync(x.ctx, r)
		if r.out.At = x.o.Now(); r.err != nil {
			r.out.Err, r.out.Hint = said(r.err), advice(r.err)
		}
		x.mu.Lock()
		if r.err != nil {
			x.seen = "" // the next search tries again
		}
		x.run, x.last = nil, r.out
		x.mu.Unlock()
		close(r.ended)
		embedder{x}.embedMissing()
		return nil // Status and Search say what failed
	})
	return r
}

// sync compares the files with the index and reads those that differ.
func (x *Index) sync(ctx context.Context, r *run) (out Synced, err error) {
	g := x.o.Guard()
	now := list(g, x.seed)
	out.Files, out.Problems = len(now.files), now.problems
	// Without a memory nothing is opened or made.
	if len(now.files) == 0 && missing(x) {
		x.mu.Lock()
		x.seen = now.digest
		x.mu.Unlock()
		return out, nil
	}
	err = x.use(ctx, func(db *sqlite.DB) error {
		have, err := stored(ctx, db)
		if err != nil {
			return err
		}
		var changed []found
		for _, f := range now.files {
			row, ok := have[f.path]
			if !ok || row.size != f.size || row.changed != f.changed || row.state == unreadable {
				changed = append(changed, f)
			}
			delete(have, f.path)
		}
		r.total.Store(int64(len(changed)))
		r.left.Store(int64(len(changed)))
		out.Read, out.Gone = len(changed), len(have)
		if err := forget(ctx, db, have); err != nil {
			return err
		}
		defer x.counts.forget()
		return readAll(ctx, x.o, db, r, changed)
	})
	if err == nil {
		x.mu.Lock()
		x.seen = now.digest
		x.mu.Unlock()
	}
	return out, err
}

// row is a file as the index has it.
type row struct {
	id            int64
	size, changed int64
	state         string
}

// stored returns the files of the index by their paths.
func stored(ctx context.Context, db *sqlite.DB) (map[string]row, error) {
	have := map[string]row{}
	rs, err := db.Reader().QueryContext(ctx, "SELECT id, path, size, changed, state FROM files")
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (path string, err error) {
		var r row
		err = rs.Scan(&r.id, &path, &r.size, &r.changed, &r.state)
		have[path] = r
		return path, err
	})
	return have, err
}

// forget removes files from the index, in commits of limited size.
func forget(ctx context.Context, db *sqlite.DB, gone map[string]row) error {
	var ids []int64
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		batch := ids
		ids = nil
		return db.Write(ctx, func(tx *sqlite.Conn) error {
			for _, id := range batch {
				if err := forgetFile(tx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, r := range gone {
		if ids = append(ids, r.id); len(ids) < filesAtOnce {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return flush()
}

// forgetFile removes a file and its chunks.
func forgetFile(tx *sqlite.Conn, id int64) error {
	if err := dropChunks(tx, "file = ?", id); err != nil {
		return err
	}
	return tx.Run("DELETE FROM files WHERE id = ?", id)
}

// dropChunks removes the chunks that a condition selects, with their words.
func dropChunks(tx *sqlite.Conn, where string, args ...any) error {
	for _, table := range []string{"words", "grams", "strangers", "vectors"} {
		if err := tx.Run("DELETE FROM "+table+" WHERE rowid IN (SELECT id FROM chunks WHERE "+where+")", args...); err != nil { // #nosec G202 -- constants
			return err
		}
	}
	// In the inner query, the names of the condition are columns of chunks.
	err := tx.Run("UPDATE tally SET n = n - (SELECT count(*) FROM chunks c WHERE c.kind = tally.kind AND c.own = tally.own AND "+where+")", args...) // #nosec G202 -- constants
	if err != nil {
		return err
	}
	return tx.Run("DELETE FROM chunks WHERE "+where, args...) // #nosec G202 -- constants
}

// addChunk inserts a chunk and counts it. It returns 0 if the chunk is there already.
func addChunk(tx *sqlite.Conn, kind string, own bool, query string, args ...any) (int64, error) {
	id, err := tx.Insert(query, args...)
	if err != nil || id == 0 {
		return 0, err
	}
	return id, tx.Run("UPDATE tally SET n = n + 1 WHERE kind = ? AND own = ?", kind, own)
}

// readAll reads the changed files and commits them. Each commit has whole files, so that a crash leaves each in its old or its new form.
func readAll(ctx context.Context, o Options, db *sqlite.DB, r *run, changed []found) error {
	g := o.Guard()
	var batch []content
	size := 0
	flush := func() error {
		all := batch
		batch, size = nil, 0
		if len(all) == 0 {
			return nil
		}
		fail.Point("memory.indexed")
		return db.Write(ctx, func(tx *sqlite.Conn) error {
			for _, c := range all {
				if err := store(tx, c); err != nil {
					return fmt.Errorf("index %s: %w", c.path, err)
				}
			}
			return nil
		})
	}
	for _, f := range changed {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c, ok := read(g, f, o.Redact); ok {
			if size+len(c.text) > bytesAtOnce || len(batch) == filesAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
			batch, size = append(batch, c), size+len(c.text)
		}
		r.left.Add(-1)
	}
	return flush()
}

// store puts a file into the index. A file whose content is the same keeps its chunks.
func store(tx *sqlite.Conn, c content) error {
	var id int64
	var hash string
	if err := tx.One("SELECT coalesce(max(id), 0), coalesce(max(hash), '') FROM files WHERE path = ?", []any{c.path}, &id, &hash); err != nil {
		return err
	}
	if id != 0 && hash == c.hash && c.hash != "" {
		return tx.Run("UPDATE files SET place = ?, size = ?, changed = ?, state = ?, problem = ? WHERE id = ?", c.place, c.size, c.changed, c.state, c.problem, id)
	}
	if id != 0 {
		if err := forgetFile(tx, id); err != nil {
			return err
		}
	}
	id, err := tx.Insert("INSERT INTO files (path, place, size, changed, hash, state, problem, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		c.path, c.place, c.size, c.changed, c.hash, c.state, c.problem, len(c.windows))
	if err != nil {
		return err
	}
	covered := 0 // bytes of the text
	for i, w := range c.windows {
		chunk, err := addChunk(tx, "memory", true, "INSERT INTO chunks (kind, file, path, first, last, start, stop, above, text) VALUES ('memory', ?, ?, ?, ?, ?, ?, ?, ?)",
			id, c.path, w.first, w.last, w.start, w.stop, w.above, w.text)
		if err != nil {
			return err
		}
		// Windows overlap, and the parts of words take the most room: each is kept once.
		last := w.stop > covered && (i+1 == len(c.windows) || c.windows[i+1].start > covered)
		if err := putWords(tx, chunk, w.above, w.text, last); err != nil {
			return err
		}
		if last {
			covered = w.stop
		}
	}
	return nil
}

// putWords makes a chunk findable, by parts of its words too if withParts is set.
func putWords(tx *sqlite.Conn, chunk int64, above, text string, withParts bool) error {
	words, parts := searchable(text)
	heading, _ := searchable(above)
	if err := tx.Run("INSERT INTO words (rowid, text, above) VALUES (?, ?, ?)", chunk, words, heading); err != nil || !withParts {
		return err
	}
	return tx.Run("INSERT INTO grams (rowid, text) VALUES (?, ?)", chunk, parts)
}

// waitForSync is how long a search waits until the index is up to date. After that it answers with what there is.
const waitForSync = 2 * time.Second

// quickFiles is the number of files that are looked at before each search. With more, the system's reports of changes are relied upon, if it
// gives any: looking would take longer than the search.
const quickFiles = 1000

// momentForSync is how long a quick search waits for the index.
const momentForSync = 30 * time.Millisecond

// freshFor is fresh for a query. A quick one does not look at many files, and waits for a moment only.
func (x *Index) freshFor(ctx context.Context, q Query) string {
	if !q.Quick {
		return x.fresh(ctx)
	}
	x.mu.Lock()
	files := x.last.Files
	x.mu.Unlock()
	if files > quickFiles && !x.watching.Load() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, momentForSync)
	defer cancel()
	return x.fresh(ctx)
}

// fresh brings the index up to date, but waits for it only for a limited time. The note says what is missing; "": nothing.
func (x *Index) fresh(ctx context.Context) (note string) {
	if current(x) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, waitForSync)
	defer cancel()
	// A sync that ran before may have missed the newest change, so there may be a second one.
	for range 2 {
		r := x.begin()
		select {
		case <-r.ended:
			if r.err != nil {
				return "the index could not be brought up to date: " + advised(r.err)
			}
		case <-ctx.Done():
			note = fmt.Sprintf("the index is being made: %d of %d changed files are missing", r.left.Load(), r.total.Load())
			x.mu.Lock()
			defer x.mu.Unlock()
			if before := x.last; before.Err != "" {
				note += "; the try before failed: " + before.Err
				if before.Hint != "" {
					note += "; " + before.Hint
				}
			}
			return note
		}
		if current(x) {
			break
		}
	}
	return ""
}

// current reports whether the index has all files as they are now.
func current(x *Index) bool {
	x.mu.Lock()
	seen, running, files := x.seen, x.run != nil, x.last.Files
	x.mu.Unlock()
	switch {
	case seen == "" || running:
		return false
	case files > quickFiles && x.watching.Load():
		return !x.dirty.Load()
	}
	return list(x.o.Guard(), x.seed).digest == seen
}
