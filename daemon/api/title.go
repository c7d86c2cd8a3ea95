package api

import (
	"strings"
	"unicode"
)

// titleLength is the longest title in characters.
const titleLength = 60

// Title makes the title of a conversation from a text: its first sentence on one line, at most 60 characters. A longer sentence is cut after a word where that
// keeps half of it, and ends with an ellipsis. Control characters, and those that change the direction of writing, are left out.
func Title(s string) string {
	// A sentence beyond this is cut in any case, so a text of megabytes costs no more than its beginning.
	const enough = 8 * titleLength
	var line []rune
	for _, r := range strings.TrimSpace(s) {
		if r == '\n' && len(line) > 0 || len(line) > enough {
			break
		}
		switch {
		case unicode.IsSpace(r):
			if n := len(line); n > 0 && line[n-1] != ' ' {
				line = append(line, ' ')
			}
		case unicode.IsGraphic(r) && r != unicode.ReplacementChar:
			line = append(line, r)
		}
	}
	if end := sentenceEnd(line); end > 0 {
		line = line[:end]
	}
	line = []rune(strings.TrimSpace(string(line)))
	if len(line) <= titleLength {
		return string(line)
	}
	line = line[:titleLength-1]
	for i := len(line) - 1; i >= titleLength/2; i-- {
		if line[i] == ' ' {
			line = line[:i]
			break
		}
	}
	return strings.TrimRight(string(line), " ,;:-–") + "…"
}

// sentenceEnd returns the length of the first sentence, 0 if the line has no end of one. A full stop ends a sentence only before a space and a letter that is not
// lower case, so that "e.g. this" and "at 8.30" go on; after a short word with a capital, as in "Dr. Weiss", it does not.
func sentenceEnd(line []rune) int {
	for i, r := range line {
		rest := line[i+1:]
		switch {
		case strings.ContainsRune("。！？", r):
			return i + 1
		case strings.ContainsRune("!?", r) && (len(rest) == 0 || rest[0] == ' '):
			return i + 1
		case r == '.' && len(rest) > 1 && rest[0] == ' ' && !unicode.IsLower(rest[1]) && !abbreviated(line[:i]):
			return i + 1
		}
	}
	return 0
}

// abbreviated reports whether a full stop after the line ends a short word with a capital, or a single letter.
func abbreviated(line []rune) bool {
	word := string(line)
	word = word[strings.LastIndexAny(word, " .")+1:]
	r := []rune(word)
	return len(r) == 0 || len(r) == 1 && unicode.IsLetter(r[0]) || len(r) <= 3 && unicode.IsUpper(r[0])
}
