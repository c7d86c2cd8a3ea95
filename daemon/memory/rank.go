// This file ranks chunks by the words of a query: BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009,
// section 3.4) over the candidates of the full-text index.

package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
)

// The usual parameters of BM25: how soon repetitions of a word stop counting, and how much longer texts are discounted.
const (
	saturation = 1.2
	discount   = 0.5
	usualWords = 90 // of a window
)

// Parameters that were chosen on the question set.
const (
	aroundBytes  = 700 // how far a term may be away from a chunk to count as its neighbour
	aroundFactor = 0.4 // what it counts then
)

// rank sorts candidates: own ones first, then the best. It fails only if ctx has ended.
func rank(ctx context.Context, list []candidate, terms []term) error {
	whole := 0.0
	for _, t := range terms {
		if !t.common {
			whole += t.weight
		}
	}
	has := make([][]float64, len(list))
	m := newMatcher(terms)
	for i := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &list[i]
		c.raw, has[i] = m.match(c.above + "\n" + c.text)
		c.echo = c.kind == History && c.foreign == "" && m.repeats()
	}
	near := make([]float64, len(terms))
	for i := range list {
		a := &list[i]
		copy(near, has[i])
		for k := range list {
			if b := &list[k]; a.file != 0 && b.file == a.file && b.start < a.stop+aroundBytes && a.start < b.stop+aroundBytes {
				for j := range near {
					near[j] = max(near[j], has[k][j])
				}
			}
		}
		found, around := 0.0, 0.0
		for j, t := range terms {
			if !t.common {
				found += has[i][j] * t.weight
				around += (near[j] - has[i][j]) * t.weight
			}
		}
		a.raw += aroundFactor * around
		a.score = math.Round(1000*math.Sqrt((found+aroundFactor*around)/max(whole, 1e-9))) / 1000
	}
	order := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.raw, a.raw), cmp.Compare(a.id, b.id))
	}
	slices.SortFunc(list, order)
	best := list[:min(len(list), mostQuoting)]
	behindSources(best)
	slices.SortFunc(best, order)
	return nil
}

// class orders candidates before their rank does: own ones first, and what only repeats the query, such as the question when it was asked
// before, after the others.
func (c candidate) class() int { return 2*bit(c.foreign != "") + bit(c.echo) }

// Limits of the search for answers that quote their source.
const (
	mostQuoting = 40 // of the best candidates
	leastQuote  = 20 // bytes of a line; a shorter one may stand anywhere
)

// behindSources ranks an answer that quotes a passage, as the answer to an earlier search does, below that passage.
func behindSources(list []candidate) {
	answer := func(c candidate) bool { return c.kind == History && !c.said }
	if !slices.ContainsFunc(list, answer) {
		return
	}
	lines := map[string]float64{} // with the lowest rank of a passage that has it
	for _, c := range list {
		if answer(c) || c.foreign != "" {
			continue
		}
		for line := range strings.Lines(c.text) {
			if line = flat(strings.TrimLeft(line, "-*+ \t")); len(line) >= leastQuote {
				if least, ok := lines[line]; !ok || c.raw < least {
					lines[line] = c.raw
				}
			}
		}
	}
	// By how they begin: an answer is read once, however many lines there are.
	begin := map[string][]string{}
	for line := range lines {
		begin[line[:leastQuote]] = append(begin[line[:leastQuote]], line)
	}
	for i := range list {
		c := &list[i]
		if !answer(*c) {
			continue
		}
		for text := flat(c.text); len(text) >= leastQuote; text = text[1:] {
			for _, line := range begin[text[:leastQuote]] {
				if strings.HasPrefix(text, line) {
					c.raw = min(c.raw, 0.99*lines[line])
				}
			}
		}
	}
}

// flat writes a text in one line, with single spaces.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// matcher finds terms in texts. One serves one search: it keeps what it has found out about words.
type matcher struct {
	terms []term
	stems map[string][]hit // of the forms
	known map[string][]hit // words that were looked at
	heads [1 << 10]uint64  // a bit for the first two bytes of each stem, which stemming keeps: most words need no look at the stems
	parts bool             // some terms also count as parts of words
	text  string           // the last one that was read, folded
	words []span           // its words
}

// hit is a term that a word counts as.
type hit struct {
	term   int
	factor float64
}

func newMatcher(terms []term) *matcher {
	m := &matcher{terms: terms, stems: map[string][]hit{}, known: map[string][]hit{}}
	for i, t := range terms {
		m.parts = m.parts || t.part
		for _, f := range t.forms {
			m.stems[f.stem] = append(m.stems[f.stem], hit{i, f.factor})
			n := head(f.stem)
			m.heads[n>>6] |= 1 << (n & 63)
		}
	}
	return m
}

// head returns the first two bytes of a word as a number. A word that is an accent and nothing else has none when it is folded.
func head(w string) (n uint16) {
	for i := range min(2, len(w)) {
		n = n<<8 | uint16(w[i])
	}
	return n
}

// hits returns the terms that a word counts as.
func (m *matcher) hits(w string) []hit {
	n := head(w)
	begins := m.heads[n>>6]&(1<<(n&63)) != 0
	if !begins && !m.parts {
		return nil
	}
	list, ok := m.known[w]
	if ok {
		return list
	}
	if begins {
		list = m.stems[stem(w)]
	}
	for i, t := range m.terms {
		if t.part && strings.Contains(w, t.word) {
			list = append(slices.Clone(list), hit{i, inWordFactor})
		}
	}
	m.known[w] = list
	return list
}

// repeats reports whether no word of the text that was matched last says anything but the query.
func (m *matcher) repeats() bool {
	return !slices.ContainsFunc(m.words, func(s span) bool {
		w := m.text[s.from:s.to]
		return len(m.hits(w)) == 0 && !filler(w)
	})
}

// match returns the BM25 sum of a text, and for each term how much of it the text has, 0 to 1.
func (m *matcher) match(text string) (sum float64, has []float64) {
	counts := make([]float64, len(m.terms))
	has = make([]float64, len(m.terms))
	add := func(word string) {
		for _, h := range m.hits(word) {
			counts[h.term] += h.factor
			has[h.term] = max(has[h.term], h.factor)
		}
	}
	m.text = paired(folded(text))
	m.words = spans(m.words[:0], m.text)
	for _, w := range m.words {
		add(m.text[w.from:w.to])
	}
	runTogether(m.text, m.words, add)
	long := 1 - discount + discount*float64(len(m.words))/usualWords
	for i, n := range counts {
		if n > 0 && !m.terms[i].common {
			sum += m.terms[i].weight * n * (saturation + 1) / (n + saturation*long)
		}
	}
	return sum, has
}
