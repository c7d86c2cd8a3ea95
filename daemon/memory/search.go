package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"hob/daemon/sqlite"
)

// mostCandidates is the number of chunks that are compared with the query word by word.
const mostCandidates = 200

// candidate is a chunk that contains a term of the query.
type candidate struct {
	id           int64
	kind         Kind
	file         int64
	path, place  string
	session, seq int64
	chunk
	foreign string // why it is somebody else's text
	sender  string
	at      int64
	raw     float64 // the sum by which candidates are ranked
	score   float64 // 0 to 1
}

// Search finds passages. It brings the index up to date first, as far as that is possible in a short time; a note of the result says what is
// missing. It fails only if the index cannot be opened or read.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	q.Scope = cmp.Or(q.Scope, All)
	q.MaxPassages, q.MaxBytes = cmp.Or(q.MaxPassages, DefaultPassages), cmp.Or(q.MaxBytes, DefaultBytes)
	var out Result
	if note := x.freshFor(ctx, q); note != "" {
		out.Notes = append(out.Notes, note)
	}
	if note := x.freshHistory(ctx, q); note != "" {
		out.Notes = append(out.Notes, note)
	}
	err := x.use(ctx, func(db *sqlite.DB) error { return x.answer(ctx, db, q, &out) })
	return out, err
}

// answer fills in the result.
func (x *Index) answer(ctx context.Context, db *sqlite.DB, q Query, out *Result) error {
	rows := db.Reader()
	if err := about(ctx, rows, q, out); err != nil {
		return err
	}
	if strings.TrimSpace(q.Text) == "" {
		return nil
	}
	terms, err := weighed(ctx, rows, termsOf(q.Text))
	if err != nil || len(terms) == 0 {
		return err
	}
	list, err := candidates(ctx, rows, q, terms)
	if err != nil {
		return err
	}
	g := x.o.Guard()
	for i := range list {
		if c := &list[i]; c.kind == File {
			c.foreign = g.Foreign(c.place, "")
		}
	}
	rank(list, terms)
	if list, err = (embedder{x}).nearest(ctx, rows, q, list, out); err != nil {
		return err
	}
	foreign, err := strangers(ctx, rows, q, terms)
	if err != nil {
		return err
	}
	rank(foreign, terms)
	list = append(list, foreign...)
	excerpts(list, terms)
	return assemble(ctx, rows, q, list, out)
}

// about counts the files and names those that are not searched whole.
func about(ctx context.Context, rows *sqlite.Readers, q Query, out *Result) error {
	if !q.files() {
		return nil
	}
	if err := rows.QueryRowContext(ctx, "SELECT count(*) FROM files WHERE state IN ('indexed', 'cut')").Scan(&out.Files); err != nil {
		return err
	}
	var err error
	rs, e := rows.QueryContext(ctx, "SELECT path FROM files WHERE state = 'cut' ORDER BY path LIMIT 20")
	out.Cut, err = sqlite.Collect(rs, e, func(rs *sql.Rows) (path string, err error) { return path, rs.Scan(&path) })
	return err
}

// files reports whether a query may find memory files.
func (q Query) files() bool {
	return q.Owner && slices.Contains([]Scope{All, Memory, Main, Notes}, q.Scope)
}

// filter returns the condition on chunks that a query may find.
func (q Query) filter() (where string, args []any) {
	var any []string
	if q.files() {
		switch q.Scope {
		case Main:
			any = append(any, "c.kind = 'memory' AND c.path = '"+MainFile+"'")
		case Notes:
			any = append(any, "c.kind = 'memory' AND c.path <> '"+MainFile+"'")
		default:
			any = append(any, "c.kind = 'memory'")
		}
	}
	if q.Scope == All || q.Scope == HistoryScope {
		switch {
		case q.Owner && q.Quick:
			any = append(any, "c.kind = 'history' AND c.said = 1") // nobody has asked for it: only his own words
		case q.Owner && !q.Only:
			any = append(any, "c.kind = 'history'")
		default:
			any, args = append(any, "c.kind = 'history' AND c.session = ?"), append(args, q.Session)
		}
	}
	if q.Owner && (q.Scope == All || q.Scope == ContextScope) {
		any = append(any, "c.kind = 'context'")
	}
	if len(any) == 0 {
		return "0", nil
	}
	return "(" + strings.Join(any, " OR ") + ")", args
}

// weighed looks up how many chunks contain each term.
func weighed(ctx context.Context, rows *sqlite.Readers, terms []term) ([]term, error) {
	var all int
	if err := rows.QueryRowContext(ctx, "SELECT count(*) FROM chunks").Scan(&all); err != nil {
		return nil, err
	}
	for i := range terms {
		t := &terms[i]
		if err := rows.QueryRowContext(ctx, "SELECT coalesce((SELECT doc FROM vocabulary WHERE term = ?), 0)", t.stem).Scan(&t.docs); err != nil {
			return nil, err
		}
		t.weigh(all)
	}
	return terms, nil
}

// candidates returns the chunks that contain the rarest terms.
func candidates(ctx context.Context, rows *sqlite.Readers, q Query, terms []term) ([]candidate, error) {
	var match []string
	for _, t := range terms {
		if !t.common {
			match = append(match, `"`+t.word+`"`)
		}
	}
	if len(match) == 0 {
		return nil, nil
	}
	where, args := q.filter()
	rs, err := rows.QueryContext(ctx, `SELECT c.id, c.kind, coalesce(c.file, 0), c.path, coalesce(f.place, ''), c.session, c.seq, c.first, c.last, c.start, c.stop, c.above, c.text, c.own, c.sender, c.at
		FROM words w JOIN chunks c ON c.id = w.rowid LEFT JOIN files f ON f.id = c.file WHERE w.words MATCH ? AND `+where+` ORDER BY w.rank LIMIT ?`, slices.Concat([]any{strings.Join(match, " OR ")}, args, []any{mostCandidates})...)
	if err != nil {
		return nil, err
	}
	var list []candidate
	for rs.Next() {
		var c candidate
		var own bool
		if err := rs.Scan(&c.id, &c.kind, &c.file, &c.path, &c.place, &c.session, &c.seq, &c.first, &c.last, &c.start, &c.stop, &c.above, &c.text, &own, &c.sender, &c.at); err != nil {
			return nil, errors.Join(err, rs.Close())
		}
		if !own {
			c.foreign = "written by " + cmp.Or(c.sender, "somebody else")
		}
		list = append(list, c)
	}
	return list, errors.Join(rs.Err(), rs.Close())
}
