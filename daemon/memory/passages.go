package memory

import (
	"context"
	"slices"

	"hob/daemon/sqlite"
)

// assemble joins the ranked candidates into passages until the budget is used up.
func assemble(_ context.Context, _ *sqlite.Readers, q Query, list []candidate, out *Result) error {
	strong := slices.ContainsFunc(list, func(c candidate) bool { return c.score >= q.MinScore })
	var taken []candidate
	size := 0
	for _, c := range list {
		if strong && c.score < q.MinScore {
			out.Weaker, out.Best = out.Weaker+1, max(out.Best, c.score)
			continue
		}
		i := slices.IndexFunc(taken, func(t candidate) bool {
			return c.kind == File && t.file == c.file && t.start < c.stop && c.start < t.stop
		})
		switch {
		case i >= 0:
			if j := joined(taken[i], c); size+len(j.text)-len(taken[i].text) <= q.MaxBytes {
				size += len(j.text) - len(taken[i].text)
				taken[i] = j
			}
		case len(taken) < q.MaxPassages && size+len(c.text) <= q.MaxBytes:
			taken, size = append(taken, c), size+len(c.text)
		}
	}
	for _, c := range taken {
		out.Passages = append(out.Passages, c.passage(q.MinScore))
	}
	return nil
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
	return out
}

// passage returns a candidate in the form of the result.
func (c candidate) passage(least float64) Passage {
	p := Passage{
		Kind: c.kind, Path: c.path, Above: c.above, Session: c.session, From: c.first, To: c.last, Score: c.score, Weak: c.score < least,
		Foreign: c.foreign, Sender: c.sender, Time: sqlite.Time(c.at), Text: c.text,
	}
	if c.kind == History {
		p.From, p.To = int(c.seq), int(c.seq)
	}
	return p
}
