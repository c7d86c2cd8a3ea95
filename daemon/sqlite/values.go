package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Micros converts a time for storage: microseconds since 1970, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time converts a stored time.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Stamp scans a stored time into t.
func Stamp(t *time.Time) sql.Scanner { return stamp{t} }

// stamp scans a stored time.
type stamp struct{ to *time.Time }

// Scan reads a column of microseconds; NULL is the zero time.
func (s stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.to = time.Time{}
	case int64:
		*s.to = Time(v)
	default:
		return fmt.Errorf("time: want an integer, got %T", src)
	}
	return nil
}

// JSON scans a JSON column into the value that to points to. NULL leaves it unchanged.
func JSON(to any) sql.Scanner { return blob{to} }

// blob scans a JSON column; NULL leaves the value unchanged.
type blob struct{ to any }

// Scan decodes the column. A row that an older hob wrote may lack fields; they keep their zero values.
func (b blob) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), b.to)
	case []byte:
		return json.Unmarshal(v, b.to)
	default:
		return fmt.Errorf("json: want text, got %T", src)
	}
}

// Doc converts a value to a JSON column. All stored types can be marshalled.
func Doc(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// Ref is an optional foreign key: 0 is stored as NULL.
func Ref(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// Text is an optional text: nil is stored as NULL.
func Text(b []byte) sql.NullString { return sql.NullString{String: string(b), Valid: b != nil} }

// Bit converts a boolean.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Collect scans all rows of a query into a list, which is never nil. It takes the results of Query directly, so that a query fits on one
// line.
func Collect[T any](rs *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (list []T, e error) {
	if err != nil {
		return nil, err
	}
	// Rows that stay open would keep their connection.
	defer func() {
		if err := rs.Close(); e == nil {
			e = err
		}
	}()
	list = []T{}
	for rs.Next() {
		v, err := scan(rs)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rs.Err()
}

// Value scans a row that has one column.
func Value[T any](rs *sql.Rows) (T, error) {
	var v T
	err := rs.Scan(&v)
	return v, err
}
