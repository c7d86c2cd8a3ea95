package builtin

import (
	"strings"
	"unicode"
)

// after returns what follows the leading words, compared without regard to case; a word ends at white space or the end.
func after(text string, words ...string) (string, bool) {
	for _, w := range words {
		if len(text) < len(w) || !strings.EqualFold(text[:len(w)], w) {
			return "", false
		}
		rest := strings.TrimLeftFunc(text[len(w):], unicode.IsSpace)
		if len(rest) == len(text)-len(w) && rest != "" {
			return "", false
		}
		text = rest
	}
	return text, true
}

// is reports whether the text is one of the commands, apart from case, spaces and the full stop.
func is(text string, commands ...string) bool {
	plain := strings.ToLower(strings.Join(strings.Fields(strings.TrimRight(text, ".!? ")), " "))
	for _, c := range commands {
		if plain == c {
			return true
		}
	}
	return false
}

// lowered is the text with its first n bytes in lower case.
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

// wordStarts are the places where words begin.
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

// filePath is the path that a text consists of: one word, something in quotes, or several words of which the last has a
// file's ending. It is empty when the text reads like anything else.
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

// unquote takes one pair of quotes off.
func unquote(text string) string {
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
