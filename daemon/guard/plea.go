package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/tools"
)

// Of what would be run, a question shows the first and the last so many bytes.
const (
	shownHead = 12 << 10
	shownTail = 4 << 10
)

// Plea is the text of a question about one call: what it would do, why it asks, and exactly what is approved. Nothing in it
// can hide or draw lines of its own: what cannot be seen is written as its code point.
func Plea(who string, i tools.Intent, d Decision) string {
	text := who + " " + Visible(i.Summary) + "? (" + Visible(d.Reason) + ")"
	text += "\n  exactly: " + exactly(i.Canonical)
	if len(i.Canonical) > shownHead+shownTail {
		text += "\n  careful: its middle is not shown here"
	}
	for _, w := range i.Warnings {
		text += "\n  careful: " + Visible(w)
	}
	if d.Allow != "" {
		text += "\n  always allowed by: " + Visible(d.Allow)
	}
	return text
}

// exactly shows all that matters of a call, or both of its ends.
func exactly(canonical []byte) string {
	text := string(canonical)
	if len(text) <= shownHead+shownTail {
		return Visible(text)
	}
	head, tail := shownHead, len(text)-shownTail
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return Visible(text[:head]) + fmt.Sprintf(" [… %d BYTES ARE NOT SHOWN …] ", tail-head) + Visible(text[tail:])
}

// Visible writes every character that cannot be seen, or that moves others about, as its code point: controls and line
// breaks, formatting and direction marks, fillers and variation selectors.
func Visible(s string) string {
	var b strings.Builder
	for _, c := range s {
		if !hidden(c) {
			b.WriteRune(c)
			continue
		}
		fmt.Fprintf(&b, "\\u{%x}", c)
	}
	return b.String()
}

func hidden(c rune) bool {
	if c == ' ' {
		return false
	}
	fillers := c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 || c == 0x3164 || c == 0xffa0 || c == 0x034f || c == 0x2800
	selectors := c >= 0xfe00 && c <= 0xfe0f || c >= 0xe0000 && c <= 0xe0fff || c >= 0x180b && c <= 0x180f
	return fillers || selectors || unicode.Is(unicode.Cf, c) || unicode.IsControl(c) || unicode.IsSpace(c) || c == utf8.RuneError
}
