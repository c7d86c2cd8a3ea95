package phrase

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a phrase in lower case, with its position in the text.
// start and end are byte offsets.
type token struct {
	text       string
	start, end int
}

// lex cuts a text into words. A colon or comma that no digit follows is a word of its own, and so is a full stop at the end of a
// word: "at 9: read" becomes at, 9, :, read, and "17:00" is one word.
func lex(text string) []token {
	var toks []token
	for start, end := range chunks(text) {
		toks = append(toks, tokenize(text, start, end)...)
	}
	return toks
}

// chunks yields the parts of text between white space.
func chunks(text string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		start := -1
		for i, r := range text {
			switch {
			case !unicode.IsSpace(r) && start < 0:
				start = i
			case unicode.IsSpace(r) && start >= 0:
				if !yield(start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

// tokenize splits a word into tokens at separators.
// "&" is read as "and".
func tokenize(text string, start, end int) []token {
	var toks []token
	add := func(from, to int) {
		if from < to {
			word := strings.ToLower(text[from:to])
			if word == "&" {
				word = "and"
			}
			toks = append(toks, token{word, from, to})
		}
	}
	from := start
	// All separators are ASCII, so a walk over bytes cannot cut a character.
	for i := start; i < end; i++ {
		if separates(text[i], text[i+1:end]) {
			add(from, i)
			add(i, i+1)
			from = i + 1
		}
	}
	add(from, end)
	return toks
}

// separates reports whether a character separates tokens: a colon or comma only outside numbers, other punctuation only at the end.
// rest is the part of the same word after c.
func separates(c byte, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch c {
	case '&':
		return true
	case ':', ',':
		return !unicode.IsDigit(next)
	case '.', ';', '!':
		return rest == ""
	}
	return false
}
