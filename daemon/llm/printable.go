package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes what a server wrote safe to show: valid, on one line, at most that many characters, with a replacement character for
// what a terminal would act on instead of printing it.
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
