package sqlite

import (
	"context"
	"errors"
	"strings"
)

// ForeignTable reads all rows of a table of another program's database, each as its columns by name. The path is that of a copy, because
// SQLite makes files beside it. A table that is missing has no rows.
func ForeignTable(ctx context.Context, path, table string) (list []map[string]any, err error) {
	db, err := open(path, "_pragma=query_only(1)&_pragma=trusted_schema(0)")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// A view could compute anything, so a real table is asked for.
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", table).Scan(&tables); err != nil || tables == 0 {
		return nil, Plain(err)
	}
	rows, err := db.QueryContext(ctx, `SELECT * FROM "`+strings.ReplaceAll(table, `"`, `""`)+`" ORDER BY rowid`) // #nosec G202 -- quoted
	if err != nil {
		return nil, Plain(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, to := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, Plain(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
		}
		list = append(list, row)
	}
	return list, Plain(rows.Err())
}
