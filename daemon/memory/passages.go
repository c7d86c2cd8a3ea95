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

// mostOfPassage is the size up to which a passage is extended while there is room, in bytes.
const mostOfPassage = 1600

// assembly joins ranked candidates into passages.
type assembly struct {
	ctx   context.Context //nolint:containedctx // lives as long as one search
	rows  *sqlite.Readers
	q     Query
	match *matcher
	known func(string) string // replaces secrets, also those that were learnt after the text was indexed
	taken []candidate         // they do not overlap
	size  int                 // bytes of their texts
}

// assemble joins the ranked candidates into passages until the budget is used up. Weak ones are left out if there are others.
func assemble(ctx context.Context, rows *sqlite.Readers, q Query, list []candidate, terms []term, known func(string) string, out *Result) error {
	a := &assembly{ctx: ctx, rows: rows, q: q, match: newMatcher(terms), known: known}
	strong := slices.ContainsFunc(list, func(c candidate) bool { return c.score >= q.MinScore })
	for _, c := range list {
		if strong && c.score < q.MinScore {
			out.Weaker, out.Best = out.Weaker+1, max(out.Best, c.score)
			continue
		}
		a.take(c)
	}
	if err := a.extend(); err != nil {
		return err
	}
	for _, c := range a.taken {
		p := c.passage(q.MinScore)
		p.Text, p.Above, p.Sender = known(p.Text), known(p.Above), known(p.Sender)
		out.Passages = append(out.Passages, p)
	}
	return nil
}

// overlapping reports whether two candidates stand in the same file or context item and share text.
func overlapping(a, b candidate) bool {
	return a.file != 0 && a.file == b.file && a.start < b.stop && b.start < a.stop
}

// take adds a candidate: to a passage that it overlaps, or as a new one.
func (a *assembly) take(c candidate) {
	i := slices.IndexFunc(a.taken, func(t candidate) bool { return overlapping(t, c) })
	if i < 0 && len(a.taken) == a.q.MaxPassages {
		return
	}
	if i < 0 {
		if c.kind == History {
			c.text = excerpt(a.known(c.text), a.match) // before the cut: half a secret is not recognised
			if slices.ContainsFunc(a.taken, func(t candidate) bool { return t.text == c.text && t.foreign == c.foreign }) {
				return // he said the same twice
			}
		}
		if len(a.taken) == 0 && len(c.text) > a.q.MaxBytes {
			c = c.shortened(a.q.MaxBytes)
		}
		if a.size+len(c.text) <= a.q.MaxBytes {
			a.taken, a.size = append(a.taken, c), a.size+len(c.text)
		}
		return
	}
	a.grow(i, c)
}

// grow joins a candidate with the passage i that it overlaps, and with others that the longer passage touches then. It reports whether there
// was room.
func (a *assembly) grow(i int, c candidate) bool {
	j := joined(a.taken[i], c)
	rest := slices.Delete(slices.Clone(a.taken), i, i+1)
	for k := 0; k < len(rest); k++ {
		if overlapping(rest[k], j) {
			j, rest = joined(j, rest[k]), slices.Delete(rest, k, k+1)
			k = -1
		}
	}
	size := len(j.text)
	for _, t := range rest {
		size += len(t.text)
	}
	if size > a.q.MaxBytes {
		return false
	}
	a.taken, a.size = slices.Insert(rest, min(i, len(rest)), j), size
	return true
}

// extend uses the room that is left for the text around the passages: an answer often stands beside the words of its question. It takes turns,
// from the best passage to the last.
func (a *assembly) extend() error {
	for more := true; more; {
		more = false
		for i := 0; i < len(a.taken); i++ {
			for _, after := range []bool{true, false} {
				if i >= len(a.taken) || a.taken[i].file == 0 || len(a.taken[i].text) >= mostOfPassage {
					continue
				}
				c, ok, err := a.beside(a.taken[i], after)
				if err != nil {
					return err
				}
				more = ok && a.grow(i, c) || more
			}
		}
	}
	return nil
}

// beside returns the window that continues a passage: the one that goes on longest after its end, or begins first before its start. None
// crosses a heading, so a passage never does.
func (a *assembly) beside(c candidate, after bool) (candidate, bool, error) {
	from, id := "file = ?", c.file
	if c.kind == Context {
		from, id = "kind = 'context' AND seq = ?", c.seq
	}
	order, args := "stop DESC", []any{id, c.stop, c.stop, c.stop - 2*mostWindow}
	if !after {
		order, args = "start", []any{id, c.start, c.start, c.start - 2*mostWindow}
	}
	query := "SELECT first, last, start, stop, above, text FROM chunks WHERE " + from + " AND start < ? AND stop > ? AND start >= ? ORDER BY " + order + " LIMIT 1" // #nosec G202 -- constants
	n := c
	err := a.rows.QueryRowContext(a.ctx, query, args...).Scan(&n.first, &n.last, &n.start, &n.stop, &n.above, &n.text)
	if errors.Is(err, sql.ErrNoRows) {
		return n, false, nil
	}
	n.score, n.raw = 0, 0
	return n, err == nil, err
}

// joined joins two overlapping candidates of a file.
func joined(a, b candidate) candidate {
	out := a
	if b.start < a.start {
		out.text = b.text[:min(len(b.text), a.start-b.start)] + out.text
		out.start, out.first, out.above = b.start, b.first, b.above
	}
	if b.stop > a.stop {
		out.text += b.text[a.stop-b.start:]
		out.stop, out.last = b.stop, b.last
	}
	out.score, out.raw = max(a.score, b.score), max(a.raw, b.raw)
	out.foreign = cmp.Or(a.foreign, b.foreign)
	return out
}

// shortened cuts a candidate to a number of bytes.
func (c candidate) shortened(most int) candidate {
	cut := most
	for cut > 0 && c.text[cut]&0xc0 == 0x80 { // inside of a character
		cut--
	}
	for _, b := range c.text[cut:] {
		if b == '\n' {
			c.last--
		}
	}
	c.text, c.stop = c.text[:cut], c.start+cut
	return c
}

// passage returns a candidate in the form of the result.
func (c candidate) passage(least float64) Passage {
	p := Passage{
		Kind: c.kind, Path: c.path, Above: c.above, Session: c.session, From: c.first, To: c.last, Score: c.score, Weak: c.score < least,
		Foreign: c.foreign, Sender: c.sender, Time: sqlite.Time(c.at), Text: c.text,
	}
	if c.kind == Context {
		p.Above = strings.TrimPrefix(strings.TrimPrefix(c.above, c.path), " > ")
	}
	if c.kind == History {
		p.From, p.To = int(c.seq), int(c.seq)
	}
	return p
}
