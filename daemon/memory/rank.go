// This file ranks chunks by the words of a query: BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009,
// section 3.4) over the candidates of the full-text index.

package memory

import (
	"cmp"
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

// rank sorts candidates: own ones first, then the best.
func rank(list []candidate, terms []term) {
	whole := 0.0
	for _, t := range terms {
		if !t.common {
			whole += t.weight
		}
	}
	has := make([][]float64, len(list))
	m := newMatcher(terms)
	for i := range list {
		list[i].raw, has[i] = m.match(list[i].above + "\n" + list[i].text)
	}
	around := make([]float64, len(list))
	near := make([]float64, len(terms))
	for i, a := range list {
		copy(near, has[i])
		for k, b := range list {
			if a.kind == File && b.file == a.file && b.start < a.stop+aroundBytes && a.start < b.stop+aroundBytes {
				for j := range near {
					near[j] = max(near[j], has[k][j])
				}
			}
		}
		for j, t := range terms {
			if !t.common {
				around[i] += (near[j] - has[i][j]) * t.weight
			}
		}
	}
	for i := range list {
		found := 0.0
		for j, t := range terms {
			if !t.common {
				found += has[i][j] * t.weight
			}
		}
		list[i].raw += aroundFactor * around[i]
		list[i].score = math.Round(1000*math.Sqrt((found+aroundFactor*around[i])/max(whole, 1e-9))) / 1000
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(bit(a.foreign != ""), bit(b.foreign != "")), cmp.Compare(b.raw, a.raw), cmp.Compare(a.id, b.id))
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// matcher finds terms in texts.
type matcher struct {
	terms []term
	stems map[string][]hit // of the forms
	known map[string][]hit // words that were looked at
	heads map[string]bool  // the first letters of the stems: other words need no stemming
}

// hit is a term that a word counts as.
type hit struct {
	term   int
	factor float64
}

func newMatcher(terms []term) *matcher {
	m := &matcher{terms: terms, stems: map[string][]hit{}, known: map[string][]hit{}, heads: map[string]bool{}}
	for i, t := range terms {
		for _, f := range t.forms {
			m.stems[f.stem] = append(m.stems[f.stem], hit{i, f.factor})
			m.heads[head(f.stem)] = true
		}
	}
	return m
}

// head returns the first letters of a word, which stemming keeps.
func head(w string) string { return w[:min(2, len(w))] }

// hits returns the terms that a word counts as.
func (m *matcher) hits(w string) []hit {
	list, ok := m.known[w]
	if ok {
		return list
	}
	if m.heads[head(w)] {
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

// match returns the BM25 sum of a text, and for each term how much of it the text has, 0 to 1.
func (m *matcher) match(text string) (sum float64, has []float64) {
	counts := make([]float64, len(m.terms))
	has = make([]float64, len(m.terms))
	words := splitWords(text)
	for _, w := range words {
		for _, h := range m.hits(w) {
			counts[h.term] += h.factor
			has[h.term] = max(has[h.term], h.factor)
		}
	}
	long := 1 - discount + discount*float64(len(words))/usualWords
	for i, n := range counts {
		if n > 0 && !m.terms[i].common {
			sum += m.terms[i].weight * n * (saturation + 1) / (n + saturation*long)
		}
	}
	return sum, has
}

// match is matcher.match for one text.
func match(text string, terms []term) (sum float64, has []float64) {
	return newMatcher(terms).match(text)
}
