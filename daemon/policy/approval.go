package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/tools"
)

// The question shows at most this many bytes from the start and from the end of what would be run.
const (
	shownHead = 12 << 10
	shownTail = 4 << 10
)

// ApprovalText is the text of the question about one call: what the call would do, why the permission rules ask, and exactly what is approved.
// Nothing in it can hide characters or add lines of its own: invisible characters are written as code points.
func ApprovalText(who string, i tools.Intent, d Decision) string {
	text := who + " " + Visible(i.Summary) + "? (" + Visible(d.Reason) + ")"
	text += "\n  exactly: " + exactly(i.Canonical)
	if len(i.Canonical) > shownHead+shownTail {
		text += "\n  careful: its middle is not shown here"
	}
	for _, w := range Warnings(i) {
		text += "\n  careful: " + Visible(w)
	}
	if d.Allow != "" {
		text += "\n  always allowed by: " + Visible(d.Allow)
	}
	return text
}

// Warnings lists the warnings that a question shows: patterns that are often mistakes, and what may still change after the approval.
func Warnings(i tools.Intent) []string {
	list := slices.Clone(i.Warnings)
	if len(i.Unbound) > 0 {
		list = append(list, "an approval does not bind "+strings.Join(i.Unbound, "; "))
	}
	return list
}

// exactly shows the whole canonical form of a call, or its start and end if it is too long.
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
