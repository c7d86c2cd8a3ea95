package memory

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded writes a text in lower case and without what people leave out when they ask: accents, full and half width, the difference of the two
// Japanese syllabaries. German ß becomes ss.
func folded(text string) string {
	text = strings.ToLower(text)
	if ascii(text) {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ToLower(norm.NFKC.String(text)) {
		switch {
		case r < 0xC0:
			b.WriteRune(r)
		case strings.ContainsRune(unfoldable, r):
			_, rest, _ := strings.Cut(unfoldable, string(r))
			plain, _, _ := strings.Cut(rest, " ")
			b.WriteString(plain)
		case r < 0x250 || r >= 0x1E00 && r < 0x2000: // Latin, with accents
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
			b.WriteRune(base)
		case r >= 0x300 && r < 0x370: // an accent of its own
		case r >= 'ァ' && r <= 'ヶ':
			b.WriteRune(r - 'ァ' + 'ぁ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ascii reports whether a text has no other characters.
func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf })
}

// unfoldable are letters that have no accent to lose, each with its plain form.
const unfoldable = "ßss æae œoe øo łl đd ðd þth ıi "

// searchable is what the full-text tables hold of a text: of its words, and of their parts.
func searchable(text string) (words, parts string) {
	parts = folded(text)
	words = paired(parts)
	var more strings.Builder
	runTogether(words, spans(nil, words), func(word string) { more.WriteString(" " + word) })
	return words + more.String(), parts + more.String()
}

// longestJoined limits a joined word, in bytes.
const (
	longestJoined = 40
	leastJoined   = 4
)

// runTogether calls each for the words of a text that are also written without what separates their parts: hyphenated words and names ("wi-fi",
// "o'sullivan"), and numbers in groups ("0171 / 234 56 78", "DE89 3704 0044"). words are those of the text, which is folded and paired.
func runTogether(text string, words []span, each func(word string)) {
	chain, parts, end := "", 0, 0 // end: of the last part
	flush := func() {
		if parts > 1 && len(chain) >= leastJoined {
			each(chain)
		}
		chain, parts = "", 0
	}
	for _, s := range words {
		word := text[s.from:s.to]
		if r, _ := utf8.DecodeRuneInString(word); unseparated(r) {
			continue
		}
		if parts == 0 || !joins(chain, text[end:s.from], word) || len(chain)+len(word) > longestJoined {
			flush()
			chain = word
		} else {
			chain += word
		}
		parts, end = parts+1, s.to
	}
	flush()
}

// joins reports whether a word continues a chain of words over a separator.
func joins(chain, separator, word string) bool {
	digits := hasDigit(word)
	if separator == " " && !digits {
		return false // nearly all
	}
	tail := hasDigit(chain[max(0, len(chain)-4):])
	switch separator {
	case "-", "'", "’", "_":
		return true
	case ".", ",", "/", ":":
		return digits && tail
	}
	if !digits || len(separator) > 3 || strings.Trim(separator, " -/().") != "" {
		return false
	}
	// A number plate has few letters before its number.
	return tail || len(chain) <= leastJoined && strings.Trim(word, "0123456789") == ""
}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

// respelt returns a word with its umlauts written as two letters, or two such letters as one. raw is not folded.
func respelt(raw string) string {
	two, one := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue"), strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")
	if other := two.Replace(raw); other != raw {
		return folded(other)
	}
	return one.Replace(raw)
}

// germanRoot takes an ending off a German word, "" if none is left to take: the stems of the index are those of English.
func germanRoot(word string) string {
	for _, ending := range []string{"en", "est", "em", "er", "es", "st", "e", "n", "s", "t"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) >= leastPart {
			return root
		}
	}
	return ""
}

// mistyped reports whether a word may be another with a mistake in typing: one letter is wrong, missing, superfluous or exchanged with its
// neighbour; in longer words two. Numbers have no such mistakes: another number is another thing.
func mistyped(a, b string) (mistakes int, ok bool) {
	most := 1 + len(a)/longWord
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return 0, false
	}
	// The optimal string alignment distance, by rows.
	before, row := []int(nil), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			next[j+1] = min(row[j]+bit(x[i] != y[j]), row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)], row[len(y)] <= most
}
