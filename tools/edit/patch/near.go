package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/text"
)

// Limits of Near: lines searched, characters compared and shown per line, and lines shown.
const (
	nearLines = 50_000
	nearWidth = 160
	nearShown = 3
)

// Near shows the lines that are most similar to the first meaningful line of want, with their
// numbers; "" if there are none.
func Near(lines, want []string) string {
	// Lines of one character, such as a brace, resemble too many others.
	first := ""
	for _, w := range want {
		if first = strings.TrimSpace(w); len(first) > 1 {
			break
		}
	}
	if first == "" {
		return ""
	}
	type line struct {
		n    int
		like float64
	}
	var found []line
	pairs := pairsOf(first)
	for i, l := range lines[:min(len(lines), nearLines)] {
		// Below one half the lines have little more in common than the language.
		if like := alike(pairs, strings.TrimSpace(l)); like >= 0.5 {
			found = append(found, line{i, like})
		}
	}
	// Equally similar lines stay in the order of the file.
	slices.SortStableFunc(found, func(a, b line) int { return cmp.Compare(b.like, a.like) })
	var shown []string
	for _, f := range found[:min(len(found), nearShown)] {
		shown = append(shown, fmt.Sprintf("%6d\t%s", f.n+1, text.Shorten(lines[f.n], nearWidth)))
	}
	return strings.Join(shown, "\n")
}

// pairsOf counts the pairs of adjacent bytes at the beginning of a line.
func pairsOf(s string) map[[2]byte]int {
	s = s[:min(len(s), 2*nearWidth)]
	pairs := make(map[[2]byte]int, len(s))
	for i := 1; i < len(s); i++ {
		pairs[[2]byte{s[i-1], s[i]}]++
	}
	return pairs
}

// alike returns Dice's coefficient over the pairs of adjacent bytes: from 0 (nothing in common) to
// 1 (the same).
func alike(pairs map[[2]byte]int, s string) float64 {
	s = s[:min(len(s), 2*nearWidth)]
	if len(s) < 2 || len(pairs) == 0 {
		return 0
	}
	both, total := 0, len(s)-1
	used := make(map[[2]byte]int, len(pairs))
	for i := 1; i < len(s); i++ {
		// A pair counts as often as both lines have it.
		p := [2]byte{s[i-1], s[i]}
		if used[p] < pairs[p] {
			used[p]++
			both++
		}
	}
	for _, n := range pairs {
		total += n
	}
	return 2 * float64(both) / float64(total)
}
