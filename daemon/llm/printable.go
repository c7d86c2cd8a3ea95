package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes a server's text safe to show: valid UTF-8, one line, at most most characters. A replacement character takes the place of
// anything that a terminal would interpret instead of print.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}
