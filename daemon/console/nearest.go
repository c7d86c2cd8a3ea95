package console

import (
	"strings"

	"hob/daemon/text"
)

// Nearest returns the name that the user probably meant, "" if none is similar: at most two typing errors, and no more than a third of the
// letters.
func Nearest(word string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		d := text.Distance(strings.ToLower(word), n)
		// A word that begins a name counts as one typing error.
		if len(word) > 2 && strings.HasPrefix(n, word) {
			d = 1
		}
		if d < least && d < len(word) && 3*d <= max(len(word), len(n)) {
			best, least = n, d
		}
	}
	return best
}
