package builtin

import (
	"slices"
	"strings"
	"unicode"
)

// after returns the text after the leading words, which match in any case. A word ends at white space or at the end of the text.
func after(text string, words ...string) (string, bool) {
	for _, w := range words {
		if len(text) < len(w) || !strings.EqualFold(text[:len(w)], w) {
			return "", false
		}
		rest := strings.TrimLeftFunc(text[len(w):], unicode.IsSpace)
		// No white space follows, so the text goes on within the word: "runs" is not "run".
		if len(rest) == len(text)-len(w) && rest != "" {
			return "", false
		}
		text = rest
	}
	return text, true
}

// is reports whether the text is one of the commands, ignoring case, extra spaces and final punctuation.
func is(text string, commands ...string) bool {
	plain := strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(text, ".!? ")), " "))
	return slices.Contains(commands, plain)
}

// lowered returns the text with its first n bytes in lower case.
func lowered(text string, n int) string {
	n = min(n, len(text))
	head := []byte(text[:n])
	for i, c := range head {
		if c >= 'A' && c <= 'Z' {
			head[i] = c + 'a' - 'A'
		}
	}
	return string(head) + text[n:]
}

// wordStarts returns the positions at which words begin.
func wordStarts(text string) []int {
	var at []int
	inside := false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inside {
			at = append(at, i)
		}
		inside = !space
	}
	return at
}

// filePath returns the path that the whole text is: one word, a quoted text, or several words ending like a file name. It is empty for any
// other text.
func filePath(text string) string {
	text = strings.TrimSpace(text)
	for _, word := range []string{"the", "file"} {
		if rest, ok := after(text, word); ok && rest != "" {
			text = rest
		}
	}
	if strings.ContainsAny(text, "\n\r") {
		return ""
	}
	// Quotes allow any name. Without them, several words are a path only if they end like a file name.
	if bare := unquote(text); bare != text {
		return bare
	}
	if strings.ContainsFunc(text, unicode.IsSpace) && !hasEnding(text) {
		return ""
	}
	return text
}

// hasEnding reports whether a name ends like "notes.md".
func hasEnding(name string) bool {
	i := strings.LastIndexByte(name, '.')
	ending := name[i+1:]
	if i < 1 || ending == "" || len(ending) > 8 {
		return false
	}
	return !strings.ContainsFunc(ending, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// unquote removes one pair of quotes.
func unquote(text string) string {
	// Each pair is an opening and a closing mark of equal length in bytes.
	for _, pair := range []string{`""`, "''", "``", "“”"} {
		open := pair[:len(pair)/2]
		rest, ok := strings.CutPrefix(text, open)
		if !ok {
			continue
		}
		if inner, ok := strings.CutSuffix(rest, pair[len(pair)/2:]); ok && inner != "" {
			return inner
		}
	}
	return text
}
