package glob

import (
	"fmt"
	"strings"
)

// spread lists the patterns that braces stand for: "{a,b}c" is ac and bc. They may be nested; braces without a comma, and
// what a backslash or "[…]" protects, are plain characters.
func spread(pattern string) ([]string, error) {
	done, open := []string(nil), []string{pattern}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		start, end, commas := braces(p)
		if start < 0 {
			done = append(done, p)
			continue
		}
		cuts := append(append([]int{start}, commas...), end)
		for i := len(cuts) - 1; i > 0; i-- {
			open = append(open, p[:start]+p[cuts[i-1]+1:cuts[i]]+p[end+1:])
		}
		if len(done)+len(open) > maxChoices {
			return nil, fmt.Errorf("%w: its braces stand for more than %d patterns", ErrPattern, maxChoices)
		}
	}
	return done, nil
}

// braces finds the first group of p that has a choice: its ends and the commas between, start < 0 when there is none.
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

// after is where the next character of a pattern stands: an escaped one and a class count as one.
func after(p string, i int) int {
	switch p[i] {
	case '\\':
		return i + 2
	case '[':
		from := i + 2 // "]" as the first of a class is one of its characters
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
			from += n + 1 // of "[:alpha:]"
		}
	}
	return i + 1
}
