package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
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
)

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
	weights := map[int64]float64{}
	for i, units := range s.units() {
		seen := map[int64]bool{}
		for _, u := range units {
			ids, err := s.postings(u, where, args, whole)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				if !seen[id] { // the first form of a term is its strongest
					seen[id] = true
					weights[id] += u.factor * s.terms[i].weight
				}
			}
		}
	}
	ids := make([]int64, 0, len(weights))
	for id := range weights {
		ids = append(ids, id)
	}
	// Of equal ones the newest come first.
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(b, a)) })
	return s.read(ids[:min(len(ids), mostRanked)], where, args)
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
		for j, f := range t.forms {
			word := f.stem
			if j == 0 {
				word = t.word
			}
			if !t.common && f.docs > 0 {
				all = append(all, choice{unit{"words", `"` + word + `"`, f.factor, f.docs, false}, i})
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
			chosen[i] = []unit{{"words", `"` + t.stem + `"`, 1, newestCommon, true}}
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
		from += " ORDER BY w.rowid DESC LIMIT " + strconv.Itoa(newestCommon)
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
	for part := range slices.Chunk(ids, mostCandidates) {
		doc, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		rs, err := s.rows.QueryContext(s.ctx, `SELECT c.id, c.kind, coalesce(c.file, 0), c.path, coalesce(f.place, ''), c.session, c.seq, c.first, c.last, c.start, c.stop, c.above, c.text, c.own, c.sender, c.at
			FROM json_each(?) j JOIN chunks c ON c.id = j.value LEFT JOIN files f ON f.id = c.file WHERE `+where+" ORDER BY j.key", slices.Concat([]any{string(doc)}, args)...) // #nosec G202 -- constants
		some, err := sqlite.Collect(rs, err, scan)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			switch {
			case c.foreign == "" && own < mostCandidates:
				own++
			case c.foreign != "" && foreign < mostForeign:
				foreign++
			default:
				continue
			}
			list = append(list, c)
		}
		if own == mostCandidates {
			break
		}
	}
	return list, nil
}

// scan reads one chunk.
func scan(rs *sql.Rows) (c candidate, err error) {
	var own bool
	err = rs.Scan(&c.id, &c.kind, &c.file, &c.path, &c.place, &c.session, &c.seq, &c.first, &c.last, &c.start, &c.stop, &c.above, &c.text, &own, &c.sender, &c.at)
	if !own {
		c.foreign = "written by " + cmp.Or(c.sender, "somebody else")
	}
	return c, err
}
