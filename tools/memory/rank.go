// This file ranks texts by the words of a query: BM25 (Robertson and Zaragoza, The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009, section 3.4), as a share of a perfect match. It keeps
// nothing between queries.

package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The usual parameters of BM25: how soon repetitions of a word stop counting, and how much longer
// texts are discounted.
const (
	saturation = 1.2
	discount   = 0.75
)

// Ranked is a text that contains a word of the query.
type Ranked struct {
	Text  int     // index of the text
	Score float64 // above 0, at most 1: its BM25 score relative to a text that equals the query
}

// Rank returns the texts that contain a word of the query, best first; equal ones keep their order.
// It ignores filler words in the query, unless there are no others.
func Rank(query string, texts []string) []Ranked {
	q := newQuery(query)
	found := make([]stats, len(texts))
	for i, text := range texts {
		found[i] = q.add(text)
	}
	if q.words == 0 || len(q.terms) == 0 {
		return nil
	}
	// The score of the query as a text is the scale, so that min_score means the same for each query.
	perfect := q.sum(q.own)
	var hits []Ranked
	for i, s := range found {
		if sum := q.sum(s); sum > 0 {
			hits = append(hits, Ranked{i, min(sum/perfect, 1)})
		}
	}
	slices.SortStableFunc(hits, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// stats holds the counts of one text.
type stats struct {
	size  int   // number of words
	times []int // occurrences of each term of the query; nil: none
}

// query holds the words of a query and their counts over all texts.
type query struct {
	terms []string // its distinct words, sorted, so that equal texts get equal sums
	own   stats    // counts of the query itself
	texts int
	words int   // in all texts
	in    []int // number of texts that contain each term
}

// newQuery prepares the words of a query.
func newQuery(text string) *query {
	words := essential(split(text))
	for i, w := range words {
		words[i] = stem(w)
	}
	q := &query{terms: slices.Compact(slices.Sorted(slices.Values(words)))}
	q.own, q.in = q.look(words), make([]int, len(q.terms))
	return q
}

// look counts the words of the query in a text.
func (q *query) look(words []string) stats {
	s := stats{size: len(words)}
	for _, w := range words {
		i, ok := slices.BinarySearch(q.terms, w)
		if !ok {
			continue
		}
		if s.times == nil {
			s.times = make([]int, len(q.terms))
		}
		s.times[i]++
	}
	return s
}

// add counts a text.
func (q *query) add(text string) stats {
	s := q.look(Words(text))
	q.texts, q.words = q.texts+1, q.words+s.size
	for i, n := range s.times {
		if n > 0 {
			q.in[i]++
		}
	}
	return s
}

// sum returns the BM25 score of a text.
func (q *query) sum(s stats) (sum float64) {
	average := float64(q.words) / float64(q.texts)
	// long is 1 for a text of average length.
	long := 1 - discount + discount*float64(s.size)/average
	for i, n := range s.times {
		sum += q.weight(i) * float64(n) * (saturation + 1) / (float64(n) + saturation*long)
	}
	return sum
}

// weight returns the weight of a term: the rarer, the higher (the inverse document frequency in the
// form that is never negative). A word that occurs nowhere weighs the same as one in a single text.
func (q *query) weight(term int) float64 {
	n := float64(max(q.in[term], 1))
	return math.Log(1 + (float64(q.texts)-n+0.5)/(n+0.5))
}

// Words returns the words of a text in the form for comparison: lower case, without the endings of
// English plurals and possessives. Anything except letters and digits separates words. A script
// without spaces is split into letters.
func Words(text string) []string {
	words := split(text)
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// split returns the words of a text in lower case.
func split(text string) (words []string) {
	start := -1
	flush := func(end int) {
		if start >= 0 {
			words = append(words, strings.ToLower(strings.ReplaceAll(text[start:end], "’", "'")))
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case unseparated(r):
			flush(i)
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || (r == '\'' || r == '’') && start >= 0:
			if start < 0 {
				start = i
			}
		default:
			flush(i)
		}
	}
	flush(len(text))
	return words
}

// unseparated reports whether a letter belongs to a script without spaces.
func unseparated(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// stem removes a possessive and then an English plural, by the three rules of the S-stemmer
// (Harman, How Effective Is Suffixing?, 1991).
func stem(w string) string {
	w = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(w, "'"), "'s"), "'")
	// Short words such as "gas" or "his" would lose a letter that is no ending.
	if utf8.RuneCountInString(w) < 4 {
		return w
	}
	ends := func(list ...string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.HasSuffix(w, e) })
	}
	switch {
	// The first rule that applies is the only one.
	case ends("ies") && !ends("eies", "aies"):
		return strings.TrimSuffix(w, "ies") + "y"
	case ends("es") && !ends("aes", "ees", "oes"):
		return strings.TrimSuffix(w, "s")
	case ends("s") && !ends("us", "ss"):
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// filler lists words that occur in questions and say nothing about their subject.
const filler = " a about an and any are as at be by can did do does for from had has have how i in is it its me my of on or our s that the their there this to was we were what when where which who whose why will with you your "

// essential drops the filler words, unless there are no others.
func essential(words []string) []string {
	// "Who is who" has only filler words, and is searched for as it is.
	left := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(filler, " "+w+" ") })
	if len(left) == 0 {
		return words
	}
	return left
}
