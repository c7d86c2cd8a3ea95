package patch

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"hob/daemon/text"
)

// normalizers returns the ways to compare a line of a file with one of a patch, the strictest
// first: exactly, without trailing white space, without surrounding white space, and with
// typographic punctuation replaced by ASCII and letters composed.
func normalizers() []func(string) string {
	return []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimRightFunc(s, isSpace) },
		strings.TrimSpace,
		func(s string) string { return norm.NFC.String(strings.Map(text.ASCII, strings.TrimSpace(s))) },
	}
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// seek finds want in lines, at start or later; with end only at the end. A stricter comparison
// anywhere wins over a nearer place. near is the expected line, from 1: if it is given, the nearest
// place on either side wins.
func seek(lines, want []string, start, near int, end bool) (int, bool) {
	last := len(lines) - len(want)
	if len(want) == 0 {
		return start, true
	}
	if last < 0 {
		return 0, false
	}
	if end {
		start = last
	}
	// Each round is less strict than the one before and covers all lines.
	for _, as := range normalizers() {
		pattern := make([]string, len(want))
		for i, w := range want {
			pattern[i] = as(w)
		}
		best := -1
		for i := start; i <= last; i++ {
			if matches(lines[i:], pattern, as) && (best < 0 || distance(i, near) < distance(best, near)) {
				best = i
			}
			// Beyond the expected line the distance only grows, so a match found by then ends the round.
			if best >= 0 && (near == 0 || i >= near) {
				break
			}
		}
		if best >= 0 {
			return best, true
		}
	}
	return 0, false
}

// distance returns how far line i is from the expected one.
func distance(i, near int) int {
	// Without an expected line, the first place wins.
	if near == 0 {
		return i
	}
	return max(i-(near-1), (near-1)-i)
}

// matches reports whether the first lines equal the pattern after normalisation.
func matches(lines, pattern []string, as func(string) string) bool {
	for i, p := range pattern {
		if as(lines[i]) != p {
			return false
		}
	}
	return true
}
