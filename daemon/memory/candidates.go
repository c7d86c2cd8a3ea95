package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/sqlite"
)

// Limits of the candidates. They bound the time of a search, whatever its words are.
const (
	mostPostings   = 6000 // occurrences that are looked up
	mostRanked     = 1000 // chunks that are read, the heaviest first
	mostCandidates = 200  // own chunks that are compared with the query word by word
	mostForeign    = 60   // and foreign ones
	leastOwn       = 20   // with fewer own ones among foreign ones, the own ones are looked up apart
	newestCommon   = 2000 // of words that stand nearly everywhere, only the newest chunks are looked at
	commonTerms    = 3

	// A turn waits for a quick search, and takes three passages.
	newestQuick = 100
	mostQuick   = 40
)

// most returns how many chunks of common words, and how many own candidates, a search looks at.
func (q Query) most() (newest, own int) {
	if q.Quick {
		return newestQuick, mostQuick
	}
	return newestCommon, mostCandidates
}

// seeker finds the chunks that contain the terms of a query.
type seeker struct {
	ctx   context.Context //nolint:containedctx // lives as long as one search
	rows  *sqlite.Readers
	q     Query
	terms []term
}

// candidates returns the chunks that contain most of the rarest terms. A flood of foreign text cannot displace own text: the two are counted
// apart.
func candidates(ctx context.Context, rows *sqlite.Readers, q Query, terms []term) ([]candidate, error) {
	s := seeker{ctx, rows, q, terms}
	where, args := q.filter()
	list, err := s.find(where, args, q.everything())
	if err != nil {
		return nil, err
	}
	foreign := 0
	for _, c := range list {
		foreign += bit(c.foreign != "")
	}
	if foreign == 0 || len(list)-foreign >= leastOwn {
		return list, nil
	}
	own, err := s.find(where+" AND c.own = 1", args, false)
	for _, c := range own {
		if !slices.ContainsFunc(list, func(o candidate) bool { return o.id == c.id }) {
			list = append(list, c)
		}
	}
	return list, err
}

// find returns the heaviest chunks that fit a condition; whole: every chunk does.
func (s seeker) find(where string, args []any, whole bool) ([]candidate, error) {
	type sum struct {
		id     int64
		weight float64
		term   int // the last one that was added
	}
	at, sums := map[int64]int{}, []sum{}
	for i, units := range s.units() {
		for _, u := range units {
			ids, err := s.postings(u, where, args, whole)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				k, ok := at[id]
				if !ok {
					k, at[id] = len(sums), len(sums)
					sums = append(sums, sum{id, 0, -1})
				}
				if have := &sums[k]; have.term < i { // the first form of a term is its strongest
					have.weight, have.term = have.weight+u.factor*s.terms[i].weight, i
				}
			}
		}
	}
	// Of equal ones the newest come first.
	slices.SortFunc(sums, func(a, b sum) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.id, a.id)) })
	var ids []int64
	for _, one := range sums[:min(len(sums), mostRanked)] {
		ids = append(ids, one.id)
	}
	return s.read(ids, where, args)
}

// unit is a lookup in one of the full-text tables.
type unit struct {
	table  string
	match  string
	factor float64
	docs   int
	newest bool // only the newest chunks
}

// units chooses the lookups for each term: the rarest first, as long as there is room; whole words before parts. Terms that stand nearly
// everywhere are looked up only if there are no others.
func (s seeker) units() [][]unit {
	type choice struct {
		unit
		term int
	}
	var all []choice
	for i, t := range s.terms {
		for _, f := range t.forms {
			if !t.common && f.docs > 0 {
				all = append(all, choice{unit{"words", f.match(), f.factor, f.docs, false}, i})
			}
		}
		if match := trigrams(t.word); t.part && match != "" {
			all = append(all, choice{unit{"grams", match, inWordFactor, newestCommon, true}, i})
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(cmp.Compare(bit(a.factor < 1), bit(b.factor < 1)), cmp.Compare(a.docs, b.docs))
	})
	chosen := make([][]unit, len(s.terms))
	left := mostPostings
	for _, c := range all {
		if left -= c.docs; left >= 0 || left+c.docs == mostPostings {
			chosen[c.term] = append(chosen[c.term], c.unit)
		}
	}
	if len(all) > 0 {
		return chosen
	}
	for i := range min(len(s.terms), commonTerms) {
		t := &s.terms[i]
		if t.docs > 0 {
			t.common = false
			chosen[i] = []unit{{"words", t.forms[0].match(), 1, newestCommon, true}}
		}
	}
	return chosen
}

// trigrams is the query for the runs of three letters of a word; "" if it is too short.
func trigrams(word string) string {
	letters := []rune(word)
	var list []string
	for i := 0; i+3 <= len(letters); i++ {
		list = append(list, `"`+string(letters[i:i+3])+`"`)
	}
	return strings.Join(list, " AND ")
}

// postings returns the chunks of a lookup. They come as one text, because a row for each would take longer than finding them.
func (s seeker) postings(u unit, where string, args []any, whole bool) (ids []int64, err error) {
	from := u.table + " w WHERE w." + u.table + " MATCH ?"
	all := []any{u.match}
	if !whole {
		from = u.table + " w JOIN chunks c ON c.id = w.rowid WHERE w." + u.table + " MATCH ? AND " + where
		all = append(all, args...)
	}
	if u.newest {
		newest, _ := s.q.most()
		from += " ORDER BY w.rowid DESC LIMIT " + strconv.Itoa(newest)
	}
	var list string
	err = s.rows.QueryRowContext(s.ctx, "SELECT coalesce(group_concat(id), '') FROM (SELECT w.rowid AS id FROM "+from+")", all...).Scan(&list) // #nosec G202 -- constants
	if err != nil || list == "" {
		return nil, err
	}
	for one := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// read reads chunks in their order, until there are enough.
func (s seeker) read(ids []int64, where string, args []any) (list []candidate, err error) {
	own, foreign := 0, 0
	_, most := s.q.most()
	for part := range slices.Chunk(ids, most) {
		doc, err := sqlite.Doc(part)
		if err != nil {
			return nil, err
		}
		rs, err := s.rows.QueryContext(s.ctx, `SELECT c.id, c.kind, coalesce(c.file, 0), c.path, coalesce(f.place, ''), c.session, c.seq, c.first, c.last, c.start, c.stop, c.above, c.text, c.own, c.said, c.sender, c.at
			FROM json_each(?) j JOIN chunks c ON c.id = j.value LEFT JOIN files f ON f.id = c.file WHERE `+where+" ORDER BY j.key", slices.Concat([]any{doc}, args)...) // #nosec G202 -- constants
		some, err := sqlite.Collect(rs, err, scan)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			switch {
			case c.foreign == "" && own < most:
				own++
			case c.foreign != "" && foreign < mostForeign:
				foreign++
			default:
				continue
			}
			list = append(list, c)
		}
		if own == most {
			break
		}
	}
	return list, nil
}

// scan reads one chunk.
func scan(rs *sql.Rows) (c candidate, err error) {
	var own bool
	err = rs.Scan(&c.id, &c.kind, &c.file, &c.path, &c.place, &c.session, &c.seq, &c.first, &c.last, &c.start, &c.stop, &c.above, &c.text, &own, &c.said, &c.sender, &c.at)
	c.judge(own)
	return c, err
}

// judge says why a chunk is foreign text, unless it is the owner's own. Windows of a context item overlap, as those of a file do.
func (c *candidate) judge(own bool) {
	if c.kind == Context {
		c.file, c.foreign, c.sender = -c.seq, c.sender, ""
	} else if !own {
		c.foreign = "written by " + cmp.Or(c.sender, "somebody else")
	}
}
