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

// usual returns the usual form of a word that people abbreviate or often spell wrongly.
func usual(word string) string {
	switch word {
	case "&":
		return "and"
	case "tmrw", "tmr", "tmw", "tomorow", "tommorow", "tommorrow", "tomorrrow", "tomorro", "2moro", "2morrow":
		return "tomorrow"
	case "tonite", "2nite", "2night":
		return "tonight"
	case "teusday", "tuseday", "tusday":
		return "tuesday"
	case "wensday", "wendsday", "wednsday", "wedensday":
		return "wednesday"
	case "thrusday", "thursady":
		return "thursday"
	case "saterday", "satruday":
		return "saturday"
	case "evry", "evrey", "eveyr":
		return "every"
	case "minuts", "mintues", "minuets", "minuites":
		return "minutes"
	case "xmas":
		return "christmas"
	}
	return word
}

// tokenize splits a word into tokens at separators.
func tokenize(text string, start, end int) []token {
	var toks []token
	add := func(from, to int) {
		if from < to {
			word := usual(strings.ToLower(text[from:to]))
			if word == "everyday" {
				toks = append(toks, token{"every", from, from + len("every")})
				word, from = "day", from+len("every")
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
