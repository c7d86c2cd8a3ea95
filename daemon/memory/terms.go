package memory

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/go-porterstemmer"
	"golang.org/x/text/unicode/norm"
)

// span is a word in a text: where it begins and ends.
type span struct{ from, to int }

// spans appends the words of a text, as SQLite's tokenizer unicode61 splits them: everything but letters, digits and marks separates.
func spans(list []span, text string) []span {
	start := -1
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		in := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if in = in || r >= 'A' && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)); in && start < 0 {
			start = i
		} else if !in && start >= 0 {
			list, start = append(list, span{start, i}), -1
		}
		i += size
	}
	if start >= 0 {
		list = append(list, span{start, len(text)})
	}
	return list
}

// splitWords returns the words of a folded text. Scripts without spaces become pairs of letters, as paired writes them.
func splitWords(text string) (list []string) {
	text = paired(text)
	for _, s := range spans(nil, text) {
		list = append(list, text[s.from:s.to])
	}
	return list
}

// paired writes scripts without spaces as pairs of letters: "東京都" becomes "東京 京都 都". A tokenizer that splits at spaces then finds words
// inside of sentences. The last letter stands alone, so that each letter begins a token.
func paired(text string) string {
	if ascii(text) || !strings.ContainsFunc(text, unseparated) {
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
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Hangul)
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
	asked  string  // all words that count as it, as they were asked for
	forms  []form  // what counts as this word in a text; the first is its stem
	part   bool    // it counts wherever it is a part of a word, because it is no whole word of any text
	docs   int     // chunks that contain it
	weight float64 // the rarer, the higher
	common bool    // it stands in so many chunks that it only counts when no other does
}

// form is a stem that counts as a term, wholly or in part.
type form struct {
	stem   string
	word   string // a word of the stem; "": none is known
	factor float64
	docs   int // chunks that contain it
}

// termsOf returns the distinct words of a query without filler words, unless there are no others.
func termsOf(query string) []term {
	words := splitWords(strings.ToLower(norm.NFKC.String(query)))
	essential := slices.DeleteFunc(slices.Clone(words), filler)
	if len(essential) == 0 {
		essential = words
	}
	var list []term
	for _, raw := range essential {
		w := folded(raw)
		s := stem(w)
		if slices.ContainsFunc(list, func(t term) bool { return t.has(s) }) || len(list) == mostTerms {
			continue
		}
		t := term{word: w, stem: s, forms: []form{{stem: s, word: w, factor: 1}}}
		for _, other := range append(otherForms(w), respelt(raw)) {
			t.add(other)
		}
		list = append(list, t)
	}
	whole := paired(folded(query))
	runTogether(whole, spans(nil, whole), func(word string) {
		if i := slices.IndexFunc(list, func(t term) bool { return strings.HasSuffix(word, t.word) }); i >= 0 {
			list[i].add(word)
		}
	})
	for i, t := range list {
		for _, f := range t.forms {
			list[i].asked += " " + f.word
		}
	}
	return list
}

// add lets another word count as the term.
func (t *term) add(word string) {
	if s := stem(word); !t.has(s) {
		t.forms = append(t.forms, form{stem: s, word: word, factor: 1})
	}
}

// match is the form as a query of the full-text index, whose tokenizer stems it once more: a stem that becomes shorter by that stands for all
// words that begin so.
func (f form) match() string {
	switch {
	case f.word != "":
		return `"` + f.word + `"`
	case stem(f.stem) != f.stem:
		return `"` + f.stem + `"*`
	}
	return `"` + f.stem + `"`
}

// has reports whether a stem counts as the term.
func (t term) has(stem string) bool {
	return slices.ContainsFunc(t.forms, func(f form) bool { return f.stem == stem })
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
	t.common = t.docs > commonAbove(all)
}

// commonAbove is the number of chunks above which a word is common.
func commonAbove(all int) int { return max(all/20, leastCommon) }

// leastCommon is the number of chunks in which every word may stand and still count: one in twenty of a small memory would be nothing.
const leastCommon = 200

// otherForms returns the other forms of an irregular English word: stemming finds only regular ones.
func otherForms(w string) []string {
	for family := range strings.SplitSeq(irregular, ",") {
		if forms := strings.Fields(family); slices.Contains(forms, w) {
			return forms
		}
	}
	return nil
}

// irregular lists families of irregular forms, of verbs, nouns and adjectives.
const irregular = "arise arose arisen,awake awoke awoken,bear bore borne born,beat beaten,become became,begin began begun,bend bent,bind bound,bite bit bitten,bleed bled,blow blew blown,break broke broken,breed bred,bring brought,build built,burn burnt,buy bought,catch caught,choose chose chosen,cling clung,come came,creep crept,deal dealt,die dead death,dig dug,draw drew drawn,dream dreamt,drink drank drunk,drive drove driven,dwell dwelt,eat ate eaten,fall fell fallen,feed fed,feel felt,fight fought,find found,flee fled,fling flung,fly flew flown flight,forbid forbade forbidden,forget forgot forgotten,forgive forgave forgiven,freeze froze frozen,give gave given,go goes going went gone,grind ground,grow grew grown,hang hung,hear heard,hide hid hidden,hold held,keep kept,kneel knelt,know knew known,lay laid,lead led,lean leant,leap leapt,learn learnt,leave left,lend lent,lie lay lain,light lit,lose lost loss,make made,mean meant,meet met,pay paid,ride rode ridden,ring rang rung,rise rose risen,run ran,see saw seen,seek sought,sell sold,send sent,sew sewn,shake shook shaken,shine shone,shoot shot,show shown,shrink shrank shrunk,sing sang sung song,sink sank sunk,sit sat,sleep slept asleep,slide slid,speak spoke spoken speech,spend spent,spill spilt,spin spun,spoil spoilt,spring sprang sprung,stand stood,steal stole stolen,stick stuck,sting stung,strike struck stricken,swear swore sworn,sweep swept,swell swollen,swim swam swum,swing swung,take took taken,teach taught,tear tore torn,tell told,think thought,throw threw thrown,understand understood,wake woke woken,wear wore worn,weave wove woven,weep wept,win won,wind wound,write wrote written,child children,foot feet,goose geese,knife knives,leaf leaves,life lives,loaf loaves,man men,mouse mice,ox oxen,person people,shelf shelves,thief thieves,tooth teeth,wife wives,wolf wolves,woman women,good better best,bad worse worst,far further farther,old elder eldest,marry marriage,marries married wedding"
