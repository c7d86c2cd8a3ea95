package console

import (
	"fmt"
	"strings"
	"unicode"
)

// Clean makes a text safe to show on a terminal. It replaces control characters, and characters that change the direction of writing, with
// their escapes such as \x1b or \u202e. Line breaks and tabs stay.
// Text of the daemon goes through it before it is shown: models and strangers may have written it.
func Clean(s string) string { return clean(s, `\x%02x`) }

// CleanJSON does the same for a JSON document, which keeps its meaning.
func CleanJSON(doc string) string { return clean(doc, `\u%04x`) }

// clean writes characters below 256 in one format, and the others as \u202e.
func clean(s, short string) string {
	if strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !acts(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, short, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// acts reports whether a terminal acts on a character instead of drawing it.
func acts(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
