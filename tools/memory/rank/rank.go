// Package rank says how well pieces of text fit a query, by words alone: BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009, section 3.4), as a share of what a perfect match would have. It keeps nothing between queries.
package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The usual parameters of BM25: how soon the repetition of a word stops counting, and how much longer texts are discounted.
const (
	saturation = 1.2
	discount   = 0.75
)

// Corpus is the texts among which a query looks. The zero Corpus is empty.
type Corpus struct {
	texts []map[string]int // how often each word stands in each text
	sizes []int            // words in each text
	words int              // in all texts
	in    map[string]int   // in how many texts a word stands
}

// Add puts a text in; its number is the count of those before.
func (c *Corpus) Add(text string) {
	if c.in == nil {
		c.in = map[string]int{}
	}
	words, counts := Words(text), map[string]int{}
	for _, w := range words {
		if counts[w]++; counts[w] == 1 {
			c.in[w]++
		}
	}
	c.texts, c.sizes, c.words = append(c.texts, counts), append(c.sizes, len(words)), c.words+len(words)
}

// Hit is a text that has a word of the query.
type Hit struct {
	Text  int     // its number
	Score float64 // above 0, at most 1: its BM25 over that of a text that is nothing but the query
}

// term is a word of a query.
type term struct {
	word   string
	times  int
	weight float64
}

// Search finds all texts that have a word of the query, the best first; of equals the earlier one. Filler words of the query do not
// count, unless it has no others.
func (c *Corpus) Search(query string) []Hit {
	terms, size := c.terms(query)
	if c.words == 0 || size == 0 {
		return nil
	}
	perfect := c.sum(terms, size, func(t term) int { return t.times })
	var hits []Hit
	for i, counts := range c.texts {
		if sum := c.sum(terms, c.sizes[i], func(t term) int { return counts[t.word] }); sum > 0 {
			hits = append(hits, Hit{i, min(sum/perfect, 1)})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// terms are the different words of a query, and how many it has in all.
func (c *Corpus) terms(query string) (terms []term, size int) {
	words := essential(split(query))
	for i, w := range words {
		words[i] = stem(w)
	}
	slices.Sort(words) // so that sums of equal parts are equal
	for _, w := range words {
		if n := len(terms); n > 0 && terms[n-1].word == w {
			terms[n-1].times++
			continue
		}
		terms = append(terms, term{w, 1, c.weight(w)})
	}
	return terms, len(words)
}

// sum is the BM25 of a text of so many words.
func (c *Corpus) sum(terms []term, size int, times func(term) int) (sum float64) {
	for _, t := range terms {
		sum += t.weight * c.gain(times(t), size)
	}
	return sum
}

// weight is how much a word tells: the rarer, the more (the inverse document frequency that is never negative). A word that stands
// nowhere weighs as one that stands in a single text: nothing says that it is rarer.
func (c *Corpus) weight(word string) float64 {
	n := float64(max(c.in[word], 1))
	return math.Log(1 + (float64(len(c.texts))-n+0.5)/(n+0.5))
}

// gain is what n occurrences of a word add in a text of so many words.
func (c *Corpus) gain(n, size int) float64 {
	average := float64(c.words) / float64(len(c.texts))
	long := 1 - discount + discount*float64(size)/average
	return float64(n) * (saturation + 1) / (float64(n) + saturation*long)
}

// Words are the words of a text as they are compared: in lower case, without the endings of English plurals and possessives. What is
// neither letter nor digit parts them; a writing that sets no spaces is taken letter by letter.
func Words(text string) []string {
	words := split(text)
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// split are the words as they stand, in lower case.
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

func unseparated(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// stem drops a possessive and then an English plural, by the three rules of the S-stemmer (Harman, How Effective Is Suffixing?, 1991).
func stem(w string) string {
	w = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(w, "'"), "'s"), "'")
	if utf8.RuneCountInString(w) < 4 {
		return w
	}
	ends := func(list ...string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.HasSuffix(w, e) })
	}
	switch {
	case ends("ies") && !ends("eies", "aies"):
		return strings.TrimSuffix(w, "ies") + "y"
	case ends("es") && !ends("aes", "ees", "oes"):
		return strings.TrimSuffix(w, "s")
	case ends("s") && !ends("us", "ss"):
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// filler are words that stand in questions and say nothing about what is sought.
const filler = " a about an and any are as at be by can did do does for from had has have how i in is it its me my of on or our s that the their there this to was we were what when where which who whose why will with you your "

// essential drops filler words, unless there are no others.
func essential(words []string) []string {
	left := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(filler, " "+w+" ") })
	if len(left) == 0 {
		return words
	}
	return left
}
