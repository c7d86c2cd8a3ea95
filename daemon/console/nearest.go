package console

import (
	"strings"

	"hob/daemon/text"
)

// Nearest returns the name that the user probably meant, "" if none is similar.
func Nearest(word string, names []string) string {
	// Up to two typing errors count as similar, but not as many as the word has letters.
	best, least := "", 3
	for _, n := range names {
		d := text.Distance(strings.ToLower(word), n)
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
