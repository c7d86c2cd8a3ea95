package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// The question shows at most this many bytes from the start and from the end of what would be run.
const (
	shownHead = 12 << 10
	shownTail = 4 << 10
)

// ApprovalText is the text of the question about one call: what the call would do, why the permission rules ask, and exactly what is approved.
// Nothing in it can hide characters or add lines of its own: invisible characters are written as code points. text.ForPeople leaves out the lines
// that are for programs.
func ApprovalText(who string, i tools.Intent, d Decision) string {
	reason, shown := d.Reason, Shown(i)
	for _, p := range i.Paths {
		if rest, ok := strings.CutPrefix(reason, p.Path+" "); ok && strings.Contains(i.Summary, p.Path) {
			reason = "it " + rest
		}
	}
	q := who + " " + netguard.Visible(i.Summary) + "? (" + netguard.Visible(reason) + ")\n" + shown
	if max(len(i.Canonical), len(shown)) > shownHead+shownTail {
		q += "\n  careful: its middle is not shown here"
	}
	for _, w := range Warnings(i) {
		q += "\n  careful: " + netguard.Visible(w)
	}
	q += "\n" + text.AsJSON + shortened(string(i.Canonical), netguard.Visible)
	if d.Allow != "" {
		q += "\n" + text.AlwaysAllowed + netguard.Visible(d.Allow)
	}
	return q
}

// Warnings lists the warnings that a question shows: patterns that are often mistakes, and what may still change after the approval.
func Warnings(i tools.Intent) []string {
	list := slices.Clone(i.Warnings)
	if len(i.Unbound) > 0 {
		list = append(list, "an approval does not bind "+strings.Join(i.Unbound, "; "))
	}
	return list
}

// shortened shows a whole text, or its start and end if it is too long.
func shortened(all string, visible func(string) string) string {
	if len(all) <= shownHead+shownTail {
		return visible(all)
	}
	head, tail := shownHead, len(all)-shownTail
	for head > 0 && !utf8.RuneStart(all[head]) {
		head--
	}
	for tail < len(all) && !utf8.RuneStart(all[tail]) {
		tail++
	}
	return visible(all[:head]) + fmt.Sprintf(" [… %d BYTES ARE NOT SHOWN …] ", tail-head) + visible(all[tail:])
}
