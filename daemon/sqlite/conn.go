package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// Conn runs the statements of one closure inside a transaction. The package that knows the tables wraps it.
type Conn struct {
	Now  time.Time // wall time of the transaction
	on   executor
	ctx  context.Context //nolint:containedctx // lives as long as the transaction
	wake Signal
}

// Wake sends a signal once the transaction is committed.
func (tx *Conn) Wake(b Signal) { tx.wake |= b }

// Run runs a statement.
func (tx *Conn) Run(query string, args ...any) error {
	_, err := tx.on.ExecContext(tx.ctx, query, args...)
	return err
}

// Insert runs an INSERT and returns the row's id; 0 when ON CONFLICT DO NOTHING did nothing.
func (tx *Conn) Insert(query string, args ...any) (int64, error) {
	res, err := tx.on.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	return res.LastInsertId()
}

// Reserve gives out the next number of a table whose rows are numbered with AUTOINCREMENT, as an insert would. The table of such numbers
// may be written to (sqlite.org/autoinc.html).
func (tx *Conn) Reserve(table string) (seq int64, err error) {
	if err := tx.Run("INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)", table); err != nil {
		return 0, err
	}
	err = tx.One("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = ? RETURNING seq", []any{table}, &seq)
	return seq, err
}

// Change runs an UPDATE or DELETE and returns how many rows it changed.
func (tx *Conn) Change(query string, args ...any) (int64, error) {
	res, err := tx.on.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// One scans a single row; sql.ErrNoRows when there is none.
func (tx *Conn) One(query string, args []any, dest ...any) error {
	return tx.on.QueryRowContext(tx.ctx, query, args...).Scan(dest...)
}

// Query returns rows; Collect reads them.
func (tx *Conn) Query(query string, args ...any) (*sql.Rows, error) {
	return tx.on.QueryContext(tx.ctx, query, args...)
}

// Context ends with the transaction.
func (tx *Conn) Context() context.Context { return tx.ctx }
