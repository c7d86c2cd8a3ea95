// This file ranks chunks by the words of a query: BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009,
// section 3.4) over the candidates of the full-text index.

package memory

import (
	"cmp"
	"math"
	"slices"
)

// The usual parameters of BM25: how soon repetitions of a word stop counting, and how much longer texts are discounted.
const (
	saturation = 1.2
	discount   = 0.5
	usualWords = 90 // of a window
)

// rank sorts candidates: own ones first, then the best.
func rank(list []candidate, terms []term) {
	whole := 0.0
	for _, t := range terms {
		if !t.common {
			whole += t.weight
		}
	}
	for i := range list {
		c := &list[i]
		found := 0.0
		c.raw, found = match(c.above+"\n"+c.text, terms)
		c.score = math.Round(1000*math.Sqrt(found/max(whole, 1e-9))) / 1000
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

// match returns the BM25 sum of a text and the weight of the terms that it contains.
func match(text string, terms []term) (sum, found float64) {
	counts := make([]int, len(terms))
	words := splitWords(text)
	for _, w := range words {
		for i, t := range terms {
			if w[0] == t.stem[0] && stem(w) == t.stem {
				counts[i]++
			}
		}
	}
	long := 1 - discount + discount*float64(len(words))/usualWords
	for i, n := range counts {
		if n == 0 || terms[i].common {
			continue
		}
		found += terms[i].weight
		sum += terms[i].weight * float64(n) * (saturation + 1) / (float64(n) + saturation*long)
	}
	return sum, found
}
