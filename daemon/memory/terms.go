package memory

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"
)

// splitWords returns the words of a text in lower case, as SQLite's tokenizer unicode61 splits them: everything but letters, digits and marks
// separates. Scripts without spaces become pairs of letters, as paired writes them.
func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(paired(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// paired writes scripts without spaces as pairs of letters: "東京都" becomes "東京 京都 都". A tokenizer that splits at spaces then finds words
// inside of sentences. The last letter stands alone, so that each letter begins a token.
func paired(text string) string {
	if !strings.ContainsFunc(text, unseparated) {
		return text
	}
	var b strings.Builder
	var last rune // the last letter of the present run; 0: none
	for _, r := range text {
		switch in := unseparated(r); {
		case in && last != 0:
			b.WriteRune(last)
			b.WriteRune(r)
			b.WriteByte(' ')
			last = r
		case in:
			b.WriteByte(' ')
			last = r
		default:
			if last != 0 {
				b.WriteRune(last)
				b.WriteByte(' ')
			}
			last = 0
			b.WriteRune(r)
		}
	}
	if last != 0 {
		b.WriteRune(last)
	}
	return b.String()
}

// unseparated reports whether a letter belongs to a script without spaces, or to one whose words have endings without one (Hangul).
func unseparated(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Hangul)
}

// stem returns the stem of a word, as SQLite's tokenizer of English words forms it.
func stem(w string) string {
	if len(w) < 3 || len(w) > 64 {
		return w
	}
	return porterstemmer.StemString(w)
}

// term is a word of a query.
type term struct {
	word   string
	stem   string
	docs   int     // chunks that contain it
	weight float64 // the rarer, the higher
	common bool    // it stands in so many chunks that it only counts when no other does
}

// termsOf returns the distinct words of a query without filler words, unless there are no others.
func termsOf(query string) []term {
	words := splitWords(query)
	essential := slices.DeleteFunc(slices.Clone(words), filler)
	if len(essential) == 0 {
		essential = words
	}
	var list []term
	for _, w := range essential {
		s := stem(w)
		if !slices.ContainsFunc(list, func(t term) bool { return t.stem == s }) && len(list) < mostTerms {
			list = append(list, term{word: w, stem: s})
		}
	}
	return list
}

// mostTerms limits the words of a query.
const mostTerms = 32

// filler reports whether a word occurs in questions and says nothing about their subject.
func filler(w string) bool { return strings.Contains(fillers, " "+w+" ") }

const fillers = " a about am an and any are as at be been by can could did do does doing for from get had has have he her him his how i if in into is it its me my no not of on one or our out s say said she should so some t tell that the their them then there they this to up was we were what when where which who whom whose why will with would you your " +
	" aber als am an auf aus bei bin bist da das dass dein dem den der des die dir du ein eine einem einen einer er es für hat habe hatte ich ihm ihn ihr im in ist kann man mein meine mich mir mit nach nicht noch oder sein sich sie sind so um und uns von vom war was wann warum welche welcher welches wem wen wenn wer wie wir wird wo woher worüber zu zum zur "

// weigh sets how much a term counts among all chunks: the inverse document frequency, in the form that is never negative.
func (t *term) weigh(all int) {
	n := float64(min(max(t.docs, 1), all))
	t.weight = math.Log(1 + (float64(all)-n+0.5)/(n+0.5))
	t.common = t.docs > max(all/20, leastCommon)
}

// leastCommon is the number of chunks in which every word may stand and still count: one in twenty of a small memory would be nothing.
const leastCommon = 200
