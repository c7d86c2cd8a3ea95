package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// candidate is a chunk that contains a term of the query.
type candidate struct {
	id           int64
	kind         Kind
	file         int64 // of a context item: its revision, below 0; of history: 0
	path, place  string
	session, seq int64
	chunk
	foreign string // why it is somebody else's text
	said    bool   // of history: the owner's own words, and no question
	echo    bool   // of history: no word of it says anything but the query
	sender  string
	at      int64
	raw     float64 // the sum by which candidates are ranked
	score   float64 // 0 to 1
}

// Search finds passages. It brings the index up to date first, as far as that is possible in a short time; a note of the result says what is
// missing. It fails only if the index cannot be opened or read, or if the disk takes none of the files.
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
	if note := freshContext(ctx, x, q); note != "" {
		out.Notes = append(out.Notes, note)
	}
	err := x.use(ctx, func(db *sqlite.DB) error { return answer(ctx, x, db, q, &out) })
	if err == nil && q.files() && !q.Quick && out.Files == 0 && len(out.Passages) == 0 {
		err = x.unmade()
	}
	return out, err
}

// unmade returns why the disk takes no index. Without one, nothing found means nothing.
func (x *Index) unmade() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last.Hint == "" {
		return nil
	}
	return &event.Fault{Kind: event.Unavailable, Text: x.last.Err, Hint: x.last.Hint}
}

// answer fills in the result.
func answer(ctx context.Context, x *Index, db *sqlite.DB, q Query, out *Result) error {
	rows := db.Reader()
	// A turn tells nobody which files were searched.
	if !q.Quick {
		if err := about(ctx, rows, q, out); err != nil {
			return err
		}
	}
	if strings.TrimSpace(q.Text) == "" {
		return nil
	}
	terms, err := weighed(ctx, rows, x.counts, termsOf(q.Text))
	if err != nil || len(terms) == 0 {
		return err
	}
	list, err := candidates(ctx, rows, q, terms)
	if err != nil {
		return err
	}
	g, marks := x.o.Guard(), map[string]string{} // by place: most candidates share a few files
	for i := range list {
		c := &list[i]
		if c.kind != File {
			continue
		}
		mark, ok := marks[c.place]
		if !ok {
			mark = g.Foreign(c.place, "")
			marks[c.place] = mark
		}
		c.foreign = mark
	}
	if err := rank(ctx, list, terms); err != nil {
		return err
	}
	if list, err = (embedder{x}).nearest(ctx, rows, q, list, out); err != nil {
		return err
	}
	foreign, err := strangers(ctx, rows, q, terms)
	if err != nil {
		return err
	}
	if err := rank(ctx, foreign, terms); err != nil {
		return err
	}
	list = append(list, foreign...)
	return assemble(ctx, rows, q, list, terms, x.o.Redact, out)
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

// everything reports whether a query may find every chunk.
func (q Query) everything() bool { return q.Owner && q.Scope == All && !q.Only && !q.Quick }

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
			any = append(any, "c.kind = 'history' AND c.said = 1") // nobody has asked for it: only what he told himself
		case q.Owner && !q.Only:
			any = append(any, "c.kind = 'history'")
		default:
			any, args = append(any, "c.kind = 'history' AND c.session = ?"), append(args, q.Session)
		}
	}
	if q.items() {
		any, args = append(any, "c.kind = 'context' AND c.path > ? AND c.path < ?"), append(args, q.Drive+":", cmp.Or(q.Drive, "~")+";")
	}
	if len(any) == 0 {
		return "0", nil
	}
	return "(" + strings.Join(any, " OR ") + ")", args
}

// Limits of what a word may stand for besides itself.
const (
	leastPart    = 4   // letters of a word that counts as the beginning or a part of others
	mostLonger   = 16  // longer words that begin with a word
	partFactor   = 0.5 // what a longer word, or a part of one, counts
	inWordFactor = 0.6
)

// weighed looks up how many chunks contain each term, and the words that it is a part of.
func weighed(ctx context.Context, rows *sqlite.Readers, kept *counts, terms []term) ([]term, error) {
	all, known := kept.known(terms)
	if known {
		return terms, nil
	}
	if all == 0 {
		// The largest id stands for the number of chunks: counting them would take longer than the search.
		if err := rows.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM chunks").Scan(&all); err != nil {
			return nil, err
		}
	}
	v := vocabulary{ctx, rows, commonAbove(all)}
	for i := range terms {
		t := &terms[i]
		if t.weight > 0 {
			continue
		}
		for j := range t.forms {
			f := &t.forms[j]
			var err error
			if f.docs, err = v.docs(*f); err != nil {
				return nil, err
			}
			t.docs += f.docs
		}
		longer, err := v.longer(t.stem, t.stem+"\x00")
		if err != nil {
			return nil, err
		}
		if t.docs == 0 && len(longer) == 0 {
			if longer, err = v.parts(t.word); err != nil {
				return nil, err
			}
			if t.part = len(longer) == 0; t.part {
				longer, err = v.unknown(*t)
			}
			if err != nil {
				return nil, err
			}
		}
		if t.docs == 0 {
			for _, f := range longer {
				t.docs += f.docs
			}
		}
		t.forms = append(t.forms, longer...)
		t.weigh(all)
	}
	kept.keep(all, terms)
	return terms, nil
}

// vocabulary looks up the words of the index.
type vocabulary struct {
	ctx  context.Context //nolint:containedctx // lives as long as one search
	rows *sqlite.Readers
	most int // a word that stands in more chunks is common, however many there are
}

// docs returns the number of chunks that contain a form. It does not count further than most.
func (v vocabulary) docs(f form) (n int, err error) {
	err = v.rows.QueryRowContext(v.ctx, "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", f.match(), v.most+1).Scan(&n)
	return n, err
}

// counts keeps what was found out about words, until the index changes. Counting the chunks that contain a word takes most of the time of a search for
// frequent words.
type counts struct {
	mu    sync.Mutex
	all   int // chunks of the index; 0: unknown
	terms map[string]term
}

// mostCounts is the number of words that are kept: about 500 KB.
const mostCounts = 1000

// known fills in the terms that are kept. It returns the number of chunks, 0 if that is unknown, and whether all terms are filled in.
func (c *counts) known(terms []term) (all int, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole = true
	for i, t := range terms {
		if k, ok := c.terms[t.asked]; ok {
			terms[i] = k
		} else {
			whole = false
		}
	}
	return c.all, whole
}

// keep keeps terms. Their forms are shared with later searches, so nobody may change them.
func (c *counts) keep(all int, terms []term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all = all; c.terms == nil || len(c.terms) >= mostCounts {
		c.terms = map[string]term{}
	}
	for _, t := range terms {
		c.terms[t.asked] = t
	}
}

// forget drops everything: the index has changed, or rests.
func (c *counts) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.terms = 0, nil
}

// longer returns the words that begin with a stem, from one on.
func (v vocabulary) longer(stem, from string) ([]form, error) {
	if utf8.RuneCountInString(stem) < leastPart && !strings.ContainsFunc(stem, unseparated) {
		return nil, nil
	}
	rs, err := v.rows.QueryContext(v.ctx, "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?", from, stem+"\U0010FFFF", mostLonger)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (form, error) {
		f := form{factor: partFactor}
		err := rs.Scan(&f.stem, &f.docs)
		return f, err
	})
}

// parts splits a word that no text has into two that some have: "Zahnarzttermin". Else it takes a prefix off: "unlucky".
func (v vocabulary) parts(word string) ([]form, error) {
	for i := range word {
		a, b := form{stem: stem(word[:i]), word: word[:i], factor: partFactor}, form{stem: stem(word[i:]), word: word[i:], factor: partFactor}
		if i < 2 || len(word)-i < leastPart || i < leastPart && !strings.Contains(prefixes, " "+word[:i]+" ") {
			continue
		}
		var err error
		if b.docs, err = v.docs(b); err != nil {
			return nil, err
		}
		if b.docs > 0 && i < leastPart {
			return []form{b}, nil
		}
		if b.docs == 0 {
			continue
		}
		if a.docs, err = v.docs(a); err != nil {
			return nil, err
		}
		if a.docs > 0 {
			return []form{a, b}, nil
		}
	}
	return nil, nil
}

// unknown returns what a word may stand for that no text has, not even as the beginning of another.
func (v vocabulary) unknown(t term) (list []form, err error) {
	if root := germanRoot(t.word); root != "" {
		list, err = v.longer(root, root)
	}
	if err != nil || len(list) > 0 {
		return list, err
	}
	return v.near(t.stem)
}

// Limits of the search for a mistyped word.
const (
	leastTyped = 5 // letters
	longWord   = 8 // letters from which a word may have two mistakes
	mostNear   = 3 // words that count as it
)

// near returns the words that a word which no text has may be, when it is mistyped: those with the fewest mistakes. The first two letters are
// taken to be right, or the whole vocabulary would be read.
func (v vocabulary) near(word string) ([]form, error) {
	if len(word) < leastTyped || strings.ContainsAny(word, "0123456789") || strings.ContainsFunc(word, unseparated) {
		return nil, nil
	}
	rs, err := v.rows.QueryContext(v.ctx, "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", word[:2], word[:2]+"\U0010FFFF")
	best, least := []form(nil), 0
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (f form, err error) {
		f.factor = inWordFactor
		if err := rs.Scan(&f.stem, &f.docs); err != nil {
			return f, err
		}
		n, ok := mistyped(word, f.stem)
		if ok && (best == nil || n < least) {
			best, least = nil, n
		}
		if ok && n == least && len(best) < mostNear {
			best = append(best, f)
		}
		return f, nil
	})
	return best, err
}

// prefixes are taken off a word that no text has.
const prefixes = " un re in im dis mis non pre ge be ver "
