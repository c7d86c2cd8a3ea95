package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// Readers is the pool of read-only connections. They see committed data and cannot write. The pool keeps its prepared statements.
//
// A context that has ended stops a query before it starts, but not while it runs: the driver starts two goroutines for every query that
// can be interrupted, and that costs more than most queries here.
type Readers struct {
	db     *sql.DB
	counts *counts
	first  sync.WaitGroup // until Open has opened the first connection
	mu     sync.Mutex     // guards kept
	kept   map[string]*sql.Stmt

	viewing sync.Mutex // guards view
	view    *session   // the connection for snapshots, nil before the first one
}

// prepared returns the prepared statement of a query. The pool prepares it again on each connection that runs it.
func (r *Readers) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	r.first.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if st, ok := r.kept[query]; ok {
		return st, nil
	}
	st, err := r.db.PrepareContext(ctx, query)
	r.counts.parse(query)
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.counts.run.Add(1)
	return st.QueryContext(context.WithoutCancel(ctx), args...)
}

// QueryRowContext runs a query for one row.
func (r *Readers) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	st, err := r.prepared(ctx, query)
	if err != nil {
		return r.db.QueryRowContext(ctx, query, args...) // returns the same error through Scan
	}
	if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx)
	}
	r.counts.run.Add(1)
	return st.QueryRowContext(ctx, args...)
}

// One returns a function like Conn.One: it runs a query for one row.
func (r *Readers) One(ctx context.Context) func(query string, args []any, dest ...any) error {
	return func(query string, args []any, dest ...any) error {
		return r.QueryRowContext(ctx, query, args...).Scan(dest...)
	}
}

// snapshot runs f over one unchanging view of the database. All snapshots share one connection, which keeps its prepared statements.
func (r *Readers) snapshot(ctx context.Context, f func(executor) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.first.Wait()
	r.viewing.Lock()
	defer r.viewing.Unlock()
	ctx = context.WithoutCancel(ctx)
	if r.view == nil {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("take the connection for snapshots: %w", err)
		}
		r.view = newSession(conn, r.counts)
	}
	// BEGIN is deferred: the first query of f fixes the state that all of them see (sqlite.org/lang_transaction.html).
	if _, err := r.view.ExecContext(ctx, "BEGIN"); err != nil {
		return errors.Join(fmt.Errorf("begin read: %w", err), r.leave())
	}
	err := f(r.view)
	// Nothing was written. A connection whose transaction does not end is of no further use.
	if e := r.view.rollBack(ctx); e != nil {
		return errors.Join(err, e, r.leave())
	}
	return err
}

// leave gives up the connection for snapshots. The next snapshot takes another one.
func (r *Readers) leave() error {
	view := r.view
	r.view = nil
	return view.close()
}

// close closes all connections.
func (r *Readers) close() error {
	r.viewing.Lock()
	defer r.viewing.Unlock()
	var err error
	if r.view != nil {
		err = r.leave()
	}
	return errors.Join(err, r.db.Close())
}
