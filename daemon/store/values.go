package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// us is a time as stored: microseconds since 1970, 0 for none.
func us(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// at is a stored time.
func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// stamp scans a stored time.
type stamp struct{ to *time.Time }

func (s stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.to = time.Time{}
	case int64:
		*s.to = at(v)
	default:
		return fmt.Errorf("time: want an integer, got %T", src)
	}
	return nil
}

// blob scans a JSON column into a value; NULL leaves it alone.
type blob struct{ to any }

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

// doc is a value as a JSON column. The types that are stored always marshal.
func doc(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// ref is a foreign key that may be absent.
func ref(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

func text(b []byte) sql.NullString { return sql.NullString{String: string(b), Valid: b != nil} }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rows is what both a transaction and the readers can be asked.
func collect[T any](rs *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (list []T, e error) {
	if err != nil {
		return nil, err
	}
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
