package memory

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/fsguard"
	"hob/daemon/sqlite"
)

// IndexHistory indexes the history without rests, as many batches as are wanted.
func (x *Index) IndexHistory(ctx context.Context, batches int) error {
	return x.indexHistory(ctx, batches)
}

// EraseItems removes what is left of deleted context items.
func EraseItems(ctx context.Context, x *Index) error { return eraseItems(ctx, x) }

// IndexContext indexes the context items that have changed.
func IndexContext(ctx context.Context, x *Index) error { return indexContext(ctx, x) }

// Read reads a memory file and tells what the index would hold of it.
func Read(g *fsguard.Guard, name string) (windows int, state, problem string) {
	c, _ := read(g, found{path: name}, func(s string) string { return s })
	return len(c.windows), c.state, c.problem
}

// Statements returns how many statements the open database has run.
func (x *Index) Statements() int64 { return x.db.Counts().Run }

// Rank ranks one chunk for a query.
func Rank(ctx context.Context, query, text string) error {
	return rank(ctx, []candidate{{chunk: chunk{text: text}}}, termsOf(query))
}

// EmptyLog copies the log of the open database into it.
func EmptyLog(ctx context.Context, x *Index) error {
	return x.db.Erase(ctx, func(*sqlite.Conn) error { return nil })
}

// StatusPlan returns the query plan of Status, and the number of chunks by counting them.
func StatusPlan(ctx context.Context, x *Index) (plan []string, chunks int, err error) {
	err = x.use(ctx, func(db *sqlite.DB) error {
		rs, err := db.Reader().QueryContext(ctx, "EXPLAIN QUERY PLAN "+statusQuery)
		plan, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (line string, err error) {
			var skip int
			return line, rs.Scan(&skip, &skip, &skip, &line)
		})
		return errors.Join(err, db.Reader().QueryRowContext(ctx, "SELECT count(*) FROM chunks").Scan(&chunks))
	})
	return plan, chunks, err
}
