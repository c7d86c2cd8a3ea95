package text

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"hob/daemon/sys"
)

// Words returns the words of a text in lower case.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// Telling returns the words of a text that say something: all but those such as "the" and "my".
func Telling(text string) []string { return slices.DeleteFunc(Words(text), small) }

func small(word string) bool {
	return slices.Contains([]string{"a", "an", "the", "that", "this", "my", "our", "your", "is", "are", "was", "of", "to", "in", "for", "at"}, word)
}

// Fact recognises a statement in other texts: a sentence that has all its telling words, in any order. Of a statement with fewer than two of them, only the same
// sentence.
type Fact struct{ words []string }

// FactOf makes a Fact of a statement.
func FactOf(statement string) Fact {
	if words := Telling(statement); len(words) > 1 {
		return Fact{words}
	}
	return Fact{[]string{strings.Join(Words(statement), " ")}}
}

// Longest is the longest word, which every text with the fact contains in some case; "" if it has letters of which the cases cannot be compared byte by byte, or
// if there is none.
func (f Fact) Longest() (longest string) {
	for _, w := range f.words {
		if len(w) > len(longest) && !strings.ContainsFunc(w, func(r rune) bool { return r > unicode.MaxASCII || r == ' ' }) {
			longest = w
		}
	}
	return longest
}

// InJSON reports whether a string in JSON documents tells the fact.
func (f Fact) InJSON(docs string) bool {
	d := json.NewDecoder(strings.NewReader(docs))
	for {
		v, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := v.(string); ok && f.In(s) {
			return true
		}
	}
}

// sentenceEnd is where one sentence ends and another begins.
var sentenceEnd = sys.Regexp(`[.!?]\s|\n`)

// Is reports whether a statement is the fact: it has the same telling words, in the same order.
func (f Fact) Is(statement string) bool { return slices.Equal(f.words, FactOf(statement).words) }

// In reports whether a text tells the fact.
func (f Fact) In(text string) bool {
	if f.words[0] == "" {
		return false
	}
	for _, sentence := range sentenceEnd().Split(text, -1) {
		have := Words(sentence)
		if len(f.words) == 1 {
			have = []string{strings.Join(have, " ")}
		}
		if !slices.ContainsFunc(f.words, func(w string) bool { return !slices.Contains(have, w) }) {
			return true
		}
	}
	return false
}
