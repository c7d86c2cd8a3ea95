package edit

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"hob/daemon/text"
	"hob/tools"
)

// Limits of the diff in a result, in bytes.
const (
	maxDiff   = 16 << 10 // maximum shown
	maxWindow = 4 << 20  // maximum compared: the part between the first and the last change
)

// change describes what happened to a file, and shows it as a unified diff.
func (f *file) change(ctx context.Context) (Change, string, error) {
	c := Change{Path: f.place.Path, Action: "modified", From: f.from, Replacements: f.count}
	old, now, was := f.place.Path, f.place.Path, f.was
	switch {
	// A moved file is compared with the content at its old path.
	case f.from != "":
		c.Action, old, was = "moved", f.from, f.origin
	case !f.existed:
		c.Action, old = "added", "/dev/null"
	case !f.exists:
		c.Action, now = "deleted", "/dev/null"
	}
	var diff string
	var err error
	if f.long != nil { // only edit has long files, and it never adds or moves one
		diff, c.Added, c.Removed, err = f.longDiff(ctx)
	} else {
		diff, c.Added, c.Removed = unified(old, now, was, f.now, 0)
	}
	return c, diff, err
}

// unified returns the unified diff of two texts and the number of added and removed lines. It only
// compares the part between the first and the last change. line is the number of lines in the file
// before both texts.
func unified(oldName, newName string, old, now []byte, line int) (diff string, added, removed int) {
	if bytes.Equal(old, now) {
		return "", 0, 0
	}
	// The diff algorithm takes quadratic time, so it gets only the changed part.
	lead, tail := shared(old, now)
	a, b := old[lead:len(old)-tail], now[lead:len(now)-tail]
	if len(a) > maxWindow || len(b) > maxWindow {
		return tooFarApart(oldName, newName), lines(b), lines(a)
	}
	u, err := udiff.ToUnifiedDiff(tools.ShownPath(oldName), tools.ShownPath(newName), string(a), udiff.Lines(string(a), string(b)), udiff.DefaultContextLines)
	if err != nil { // cannot happen: the edits come from the library itself
		return "", lines(b), lines(a)
	}
	// The library counted from the beginning of the part that it got.
	before := line + bytes.Count(old[:lead], []byte("\n"))
	for _, h := range u.Hunks {
		h.FromLine, h.ToLine = h.FromLine+before, h.ToLine+before
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				added++
			case udiff.Delete:
				removed++
			case udiff.Equal:
			}
		}
	}
	return u.String(), added, removed
}

// tooFarApart replaces a diff that would be too large.
func tooFarApart(oldName, newName string) string {
	return fmt.Sprintf("--- %s\n+++ %s\n(the changes are too far apart for a diff)\n", tools.ShownPath(oldName), tools.ShownPath(newName))
}

// shared returns how many bytes two texts have in common at each end: whole lines, less the lines
// of context.
func shared(a, b []byte) (lead, tail int) {
	lead, tail = common(a, b)
	for range udiff.DefaultContextLines + 1 {
		lead = max(0, bytes.LastIndexByte(a[:lead], '\n'))
	}
	if lead > 0 {
		lead++
	}
	for range udiff.DefaultContextLines + 1 {
		i := bytes.IndexByte(a[len(a)-tail:], '\n')
		if i < 0 {
			return lead, 0
		}
		tail -= i + 1
	}
	return lead, tail
}

// common returns how many bytes two texts have in common at each end.
func common(a, b []byte) (lead, tail int) {
	const block = 4096
	short := min(len(a), len(b))
	// Compare whole blocks first: that is much faster than byte by byte.
	for lead+block < short && bytes.Equal(a[lead:lead+block], b[lead:lead+block]) {
		lead += block
	}
	for lead < short && a[lead] == b[lead] {
		lead++
	}
	for tail+block < short-lead && bytes.Equal(a[len(a)-tail-block:len(a)-tail], b[len(b)-tail-block:len(b)-tail]) {
		tail += block
	}
	for tail < short-lead && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return lead, tail
}

// lines counts the lines of data; a last line without a line break counts too.
func lines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// truncateDiff shortens a diff to maxDiff bytes of whole lines.
func truncateDiff(diff string) string {
	diff = strings.ToValidUTF8(diff, string(utf8.RuneError))
	if len(diff) <= maxDiff {
		return diff
	}
	kept := diff[:strings.LastIndexByte(diff[:maxDiff], '\n')+1]
	return fmt.Sprintf("%s(%s of the diff more)\n", strings.ToValidUTF8(kept, ""), count(strings.Count(diff[len(kept):], "\n"), "line"))
}

// count formats a number with its noun.
func count(n int, noun string) string { return text.Count(n, noun) }
