//go:build linux

package crashtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// records is a copy of the database of a daemon that does not run.
type records struct {
	*sql.DB
	t *testing.T
}

// readRecords copies the database with its write-ahead log, and opens the copy.
func (r *harness) readRecords() records {
	r.t.Helper()
	if r.proc != nil {
		r.t.Fatal("the database of a running hob is not to be touched")
	}
	dir := r.t.TempDir()
	for _, name := range []string{"hob.db", "hob.db-wal"} {
		if err := copyFile(filepath.Join(r.home, "state", name), filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(dir, "hob.db")}).String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return records{db, r.t}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// rows runs a query and returns each row as strings.
func (b records) rows(query string, args ...any) [][]string {
	b.t.Helper()
	rs, err := b.QueryContext(context.Background(), query, args...)
	if err != nil {
		b.t.Fatalf("%v: %s", err, query)
	}
	defer func() { _ = rs.Close() }() // read to its end
	columns, err := rs.Columns()
	if err != nil {
		b.t.Fatal(err)
	}
	var list [][]string
	for rs.Next() {
		values := make([]sql.NullString, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rs.Scan(dest...); err != nil {
			b.t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
		}
		list = append(list, row)
	}
	if err := rs.Err(); err != nil {
		b.t.Fatalf("%v: %s", err, query)
	}
	return list
}

// none is a rule: the query finds what breaks it.
func (b records) none(rule, query string, args ...any) (broken []string) {
	b.t.Helper()
	for i, row := range b.rows(query, args...) {
		if i == 3 {
			return append(broken, rule+": and more")
		}
		broken = append(broken, rule+": "+cut(strings.Join(row, " | ")))
	}
	return broken
}

func (b records) number(query string, args ...any) (n int64) {
	b.t.Helper()
	for _, row := range b.rows(query, args...) {
		if _, err := fmt.Sscan(row[0], &n); err != nil && row[0] != "" {
			b.t.Fatalf("%q is no number: %s", row[0], query)
		}
	}
	return n
}

func cut(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// fresh tells whether there are no tables yet: hob died before its first commit.
func (b records) fresh() bool {
	return b.number("SELECT count(*) FROM sqlite_schema WHERE name = 'inbox'") == 0
}

// always are the rules that hold at every instant, also right after a kill.
func (r *harness) always(b records) (broken []string) {
	if b.fresh() {
		return nil
	}
	for _, row := range b.rows("PRAGMA integrity_check") {
		if row[0] != "ok" {
			broken = append(broken, "I9 integrity: "+row[0])
		}
	}
	broken = append(broken, b.none("I9 foreign key", "PRAGMA foreign_key_check")...)
	for _, rule := range [][2]string{
		{"I3 a last word is out and its turn goes on", "SELECT o.key FROM outbox o JOIN turns t ON o.key = 'turn:' || t.id || ':final' WHERE t.ended = 0 AND o.state <> 'draft'"},
		{"I3 an input is done and its turn goes on", "SELECT i.seq, t.id, t.state FROM inbox i JOIN turns t ON t.id = i.turn WHERE i.state IN ('done', 'dead') AND t.ended = 0"},
		{"I3 a turn has ended and its input has not", "SELECT i.seq, t.id, t.state FROM inbox i JOIN turns t ON t.id = i.turn WHERE i.state = 'joined' AND t.ended > 0"},
		{"I4 an outbox row has no cause", causeless},
		{"I4 a question was never sent", "SELECT id FROM questions q WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.cause_kind = 'question' AND o.cause_id = q.id)"},
		{"a fire is open and has no inbox row", "SELECT f.id, f.key FROM fires f WHERE f.state NOT IN ('due', 'done') AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.fire = f.id)"},
		{"a fire runs whose gate has not been looked at", "SELECT f.id, f.key FROM fires f WHERE f.state = 'due' AND EXISTS (SELECT 1 FROM inbox i WHERE i.fire = f.id)"},
		{"a fire has two inbox rows", "SELECT fire, count(*) FROM inbox WHERE fire IS NOT NULL GROUP BY fire HAVING count(*) > 1"},
		{"an ended turn has an open call", "SELECT c.call_id FROM items c JOIN turns t ON t.id = c.turn WHERE c.kind = 'call' AND t.ended > 0 AND NOT EXISTS (SELECT 1 FROM items r WHERE r.call_id = c.call_id AND r.kind = 'result')"},
		{"I3 an input was read as something else than it is", "SELECT i.seq, i.parts, x.parts FROM inbox i JOIN items x ON x.inbox = i.seq WHERE x.parts <> i.parts"},
		{"I8 a call that was asked about ran without a yes", "SELECT p.turn, p.call_id, q.state, q.answer FROM steps p JOIN questions q ON q.id = p.question WHERE p.started > 0 AND (q.state <> 'consumed' OR q.answer NOT IN ('once', 'turn', 'always'))"},
		{"I8 one input answers two questions", "SELECT answered_by, count(*) FROM questions WHERE answered_by IS NOT NULL GROUP BY answered_by HAVING count(*) > 1"},
		{"I8 somebody else than the owner answered", "SELECT q.id FROM questions q JOIN inbox i ON i.seq = q.answered_by WHERE i.trust <> 'owner'"},
	} {
		broken = append(broken, b.none(rule[0], rule[1])...)
	}
	return slices.Concat(broken, checkSubagents(b), checkGates(b), b.drafts(), r.cursor(b))
}

const causeless = `SELECT o.id, o.key, o.cause_kind, o.cause_id FROM outbox o WHERE NOT CASE o.cause_kind
	WHEN 'step' THEN EXISTS (SELECT 1 FROM turns t WHERE t.id = o.cause_id)
	WHEN 'question' THEN EXISTS (SELECT 1 FROM questions q WHERE q.id = o.cause_id)
	WHEN 'fire' THEN EXISTS (SELECT 1 FROM fires f WHERE f.id = o.cause_id)
	WHEN 'command' THEN EXISTS (SELECT 1 FROM inbox i WHERE i.seq = o.cause_id)
	ELSE o.cause_id > 0 END`

// cursor is the promise of an inbound edge: what lies behind the cursor is in the inbox. On this chat server, every
// message has a second of its own and comes in order.
func (r *harness) cursor(b records) (broken []string) {
	at := b.number("SELECT CAST(value AS INTEGER) FROM cursors WHERE source = 'ntfy'")
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.pushes {
		if p.at <= at && b.number("SELECT count(*) FROM inbox WHERE source = 'ntfy' AND ext_id = ?", id) != 1 {
			broken = append(broken, fmt.Sprintf("I1 the cursor has passed message %s (%s), which is not in the inbox", id, p.text))
		}
	}
	return broken
}
