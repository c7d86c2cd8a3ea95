package policy

import (
	"fmt"
	"slices"
	"strings"
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
	for _, w := range Careful(i) {
		text += "\n  careful: " + Visible(w)
	}
	if d.Allow != "" {
		text += "\n  always allowed by: " + Visible(d.Allow)
	}
	return text
}

// Careful are the warnings that a question shows: patterns that are often mistakes, and what may change without the approval being void.
func Careful(i tools.Intent) []string {
	list := slices.Clone(i.Warnings)
	if len(i.Unbound) > 0 {
		list = append(list, "an approval does not bind "+strings.Join(i.Unbound, "; "))
	}
	return list
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
