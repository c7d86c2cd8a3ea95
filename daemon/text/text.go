// Package text has the operations on plain text that several parts of hob need: reading a file as lines (reader.go), shortening a text for a
// message, and measuring how alike two names are. It knows no formats; Markdown is in channels/markup, documents are in tools/fs/document.
package text

import (
	"strings"
	"unicode/utf8"
)

// Shorten returns a text of at most n characters as it is. Of a longer one it returns the first n and an ellipsis.
func Shorten(s string, n int) string {
	if len(s) <= n { // no text has more characters than bytes
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// Head returns the beginning of a text, at most n bytes, without splitting a character.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Line returns a text on one line, with single spaces, shortened to n characters.
func Line(s string, n int) string { return Shorten(strings.Join(strings.Fields(s), " "), n) }

// mostCompared limits the characters that Distance looks at, which bounds its time: names may come from outside.
const mostCompared = 64

// Distance returns how many single characters must be inserted, deleted, replaced or swapped with their neighbour to turn one name into the
// other (optimal string alignment distance; the recurrence is in L. Boytsov, Indexing methods for approximate dictionary searching, 2011).
// It compares the first 64 characters.
func Distance(a, b string) int {
	x, y := head(a), head(b)
	// Only three rows of the table are kept: row[j] is the distance between the first i characters of x and the first j of y, prev is the
	// row of i-1 and prev2 that of i-2, which a swap needs.
	prev2, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(y)]
}

func head(s string) []rune {
	r := []rune(s)
	return r[:min(len(r), mostCompared)]
}
