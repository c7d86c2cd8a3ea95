package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"modernc.org/sqlite"
)

// executor runs statements: the writer's session, or a reader's transaction.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// mostStatements is the largest number of kept statements. hob has fewer; each is a constant.
const mostStatements = 512

// session is one connection: the only writing one, or the one for snapshots. It prepares each statement once, at its first use:
// preparing them at each use took a fifth of a turn.
type session struct {
	conn   *sql.Conn
	kept   map[string]*sql.Stmt
	counts *counts
}

// newSession makes a session that keeps no statement yet. The caller closes it after its last use.
func newSession(conn *sql.Conn, c *counts) *session {
	return &session{conn: conn, kept: map[string]*sql.Stmt{}, counts: c}
}

// close closes the statements and gives the connection back. SQLite keeps a connection with an open statement alive, so that the last one would
// neither copy the log into the database nor remove it, and package sql does not close the statements of a sql.Conn.
func (s *session) close() error {
	var errs []error
	for _, st := range s.kept {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// counts counts what an open database does.
type counts struct {
	parsed, run, commits atomic.Int64
	prepared             func(query string) // may be nil
}

// parse counts a statement that was prepared.
func (c *counts) parse(query string) {
	c.parsed.Add(1)
	if c.prepared != nil {
		c.prepared(query)
	}
}

// Counts says what an open database has done so far. Tests compare it with the number of turns.
type Counts struct {
	Parsed  int64 // statements that were prepared
	Run     int64 // statements that were run, those that begin and end transactions included
	Commits int64 // commits of the writer; each waits for the disk once
}

// prepared returns the prepared statement of a query.
func (s *session) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := s.kept[query]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, query)
	s.counts.parse(query)
	if err == nil && len(s.kept) < mostStatements {
		s.kept[query] = st
	}
	return st, err
}

// ExecContext runs a statement.
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := s.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	s.counts.run.Add(1)
	return st.ExecContext(ctx, args...)
}

// QueryContext runs a query.
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := s.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	s.counts.run.Add(1)
	return st.QueryContext(ctx, args...)
}

// QueryRowContext runs a query for one row. Scan returns an error of the preparation.
func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	st, err := s.prepared(ctx, query)
	if err != nil {
		return s.conn.QueryRowContext(ctx, query, args...) // returns the same error through Scan
	}
	s.counts.run.Add(1)
	return st.QueryRowContext(ctx, args...)
}

// transact runs f between BEGIN and COMMIT. If either fails, it rolls everything back. own is the error of f; err is that of the transaction.
func (s *session) transact(ctx context.Context, f func() error) (own, err error) {
	// IMMEDIATE takes the write lock at once, so that the transaction cannot fail later for want of it.
	if _, err := s.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if own = f(); own == nil {
		if _, err = s.ExecContext(ctx, "COMMIT"); err == nil {
			s.counts.commits.Add(1)
			return nil, nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	return own, errors.Join(err, s.rollBack(ctx))
}

// rollBack ends the transaction. SQLite may already have done this after an error such as a full disk.
func (s *session) rollBack(ctx context.Context) error {
	_, err := s.ExecContext(ctx, "ROLLBACK")
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqliteError {
		return nil
	}
	return err
}
