package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// Readers is the pool of read-only connections. They see committed data and cannot write. The pool keeps its prepared statements.
type Readers struct {
	db   *sql.DB
	mu   sync.Mutex // guards kept
	kept map[string]*sql.Stmt
}

// prepared returns the prepared statement of a query. The pool prepares it again on each connection that runs it.
func (r *Readers) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st, ok := r.kept[query]; ok {
		return st, nil
	}
	st, err := r.db.PrepareContext(ctx, query)
	if err == nil && len(r.kept) < mostStatements {
		r.kept[query] = st
	}
	return st, err
}

// QueryContext runs a query.
func (r *Readers) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := r.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// QueryRowContext runs a query for one row.
func (r *Readers) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	st, err := r.prepared(ctx, query)
	if err != nil {
		return r.db.QueryRowContext(ctx, query, args...) // returns the same error through Scan
	}
	return st.QueryRowContext(ctx, args...)
}

// snapshot runs f over one unchanging view of the database.
func (r *Readers) snapshot(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	return joinEnd(f(tx), tx.Rollback())
}
