package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// Conn runs the statements of one transaction. Package store wraps it for its tables.
type Conn struct {
	Now  time.Time // wall time of the transaction
	on   executor
	ctx  context.Context //nolint:containedctx // lives as long as the transaction
	wake Signal
}

// Wake sends a signal after the transaction has been committed.
func (tx *Conn) Wake(b Signal) { tx.wake |= b }

// Run runs a statement.
func (tx *Conn) Run(query string, args ...any) error {
	_, err := tx.on.ExecContext(tx.ctx, query, args...)
	return err
}

// Insert runs an INSERT and returns the row's id; 0 if ON CONFLICT DO NOTHING applied.
func (tx *Conn) Insert(query string, args ...any) (int64, error) {
	res, err := tx.on.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	// Without a new row, LastInsertId would return the id of an earlier insert.
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	return res.LastInsertId()
}

// Reserve assigns the next number of a table with AUTOINCREMENT, as an insert would. SQLite documents that the table sqlite_sequence may be
// written (sqlite.org/autoinc.html).
func (tx *Conn) Reserve(table string) (seq int64, err error) {
	if err := tx.Run("INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)", table); err != nil {
		return 0, err
	}
	err = tx.One("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = ? RETURNING seq", []any{table}, &seq)
	return seq, err
}

// Change runs an UPDATE or DELETE and returns the number of changed rows.
func (tx *Conn) Change(query string, args ...any) (int64, error) {
	res, err := tx.on.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// One scans a single row; sql.ErrNoRows if there is none.
func (tx *Conn) One(query string, args []any, dest ...any) error {
	return tx.on.QueryRowContext(tx.ctx, query, args...).Scan(dest...)
}

// Query returns rows; Collect reads them.
func (tx *Conn) Query(query string, args ...any) (*sql.Rows, error) {
	return tx.on.QueryContext(tx.ctx, query, args...)
}

// Context ends with the transaction.
func (tx *Conn) Context() context.Context { return tx.ctx }
