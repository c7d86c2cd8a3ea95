package glob

import (
	"fmt"
	"strings"
)

// spread expands braces: "{a,b}c" becomes ac and bc. Braces may be nested. Braces without a comma, and characters protected by a
// backslash or "[…]", are plain characters.
// The results come in the order of the pattern. More than maxChoices of them are an ErrPattern.
func spread(pattern string) ([]string, error) {
	done, open := []string(nil), []string{pattern}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		// Each alternative of the first group gives one pattern. It goes back to the stack, because more groups may follow or be inside.
		start, end, commas := braces(p)
		if start < 0 {
			done = append(done, p)
			continue
		}
		cuts := append(append([]int{start}, commas...), end)
		// The last alternative is pushed first, so that the first one is the next to be taken.
		for i := len(cuts) - 1; i > 0; i-- {
			open = append(open, p[:start]+p[cuts[i-1]+1:cuts[i]]+p[end+1:])
		}
		// A short pattern with many groups would need much memory.
		if len(done)+len(open) > maxChoices {
			return nil, fmt.Errorf("%w: its braces expand to more than %d patterns", ErrPattern, maxChoices)
		}
	}
	return done, nil
}

// braces finds the first group of p with a choice: its ends and the commas between them. start < 0 means none.
func braces(p string) (start, end int, commas []int) {
	for i := 0; i < len(p); i = after(p, i) {
		if p[i] != '{' {
			continue
		}
		if end, commas = group(p, i); len(commas) > 0 {
			return i, end, commas
		}
	}
	return -1, 0, nil
}

// group finds the end of the group that begins at start, and its commas.
// Only commas at its own level count. A group that is not closed has none, so that its brace is a plain character.
func group(p string, start int) (end int, commas []int) {
	depth := 0
	for i := start; i < len(p); i = after(p, i) {
		switch p[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return i, commas
			}
		}
	}
	return 0, nil
}

// after returns the position of the next character of a pattern. An escaped character and a class count as one.
// The result may be past the end, for example after a final backslash.
func after(p string, i int) int {
	switch p[i] {
	case '\\':
		return i + 2
	case '[':
		from := i + 2 // "]" at the beginning of a class is an ordinary character
		if i+1 < len(p) && (p[i+1] == '!' || p[i+1] == '^') {
			from++
		}
		for from = min(from, len(p)); ; {
			n := strings.IndexByte(p[from:], ']')
			if n < 0 {
				return i + 1
			}
			if at := strings.LastIndex(p[i+1:from+n], "[:"); at < 0 || !strings.HasSuffix(p[:from+n], ":") || i+1+at+2 > from+n-1 {
				return from + n + 1
			}
			from += n + 1 // the end of a named class such as "[:alpha:]"
		}
	}
	return i + 1
}
