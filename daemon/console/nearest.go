package console

import "strings"

// Nearest returns the name that the user probably meant, "" if none is similar.
func Nearest(word string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		d := distance(strings.ToLower(word), n)
		// A word that begins a name counts as one typing error.
		if len(word) > 2 && strings.HasPrefix(n, word) {
			d = 1
		}
		if d < least && d < len(word) {
			best, least = n, d
		}
	}
	return best
}

// distance returns how many letters must be changed, added, dropped or swapped (optimal string alignment, by dynamic programming).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	// rows[i][j] is the distance between the first i letters of a and the first j letters of b.
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
