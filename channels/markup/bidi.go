package markup

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Controls that change the direction of the following text (UAX 9, section 2). Embeddings and overrides end
// with pop, isolates with popIsolate.
const (
	pop        = '\u202C'
	popIsolate = '\u2069'
)

// turns reports whether a character is a direction control.
func turns(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// undirected removes all direction controls. In code and addresses a control could show characters in another
// order than they are.
func undirected(s string) string {
	return strings.Map(func(r rune) rune {
		if turns(r) || r == 0x200E || r == 0x200F || r == 0x061C {
			return -1
		}
		return r
	}, s)
}

// maxTurns limits the nesting of directions in one line; deeper controls are removed.
const maxTurns = 8

// balance closes at the end of each line what the line opened, and removes controls that close nothing.
// Otherwise a text could reverse what the platform shows after it.
func balance(runs []run) []run {
	if !slices.ContainsFunc(runs, func(r run) bool { return strings.ContainsFunc(r.text, turns) }) {
		return runs
	}
	var open []rune
	dropped := 0
	var out joiner
	for _, r := range runs {
		if r.url != "" || r.style&mono != 0 {
			r.text = undirected(r.text)
			out.push(r)
			continue
		}
		var b strings.Builder
		for _, c := range r.text {
			switch {
			case c == '\n':
				b.WriteString(closers(open))
				open, dropped = nil, 0
			case c == pop || c == popIsolate:
				if dropped > 0 {
					dropped--
					continue
				}
				if len(open) == 0 || closer(open[len(open)-1]) != c {
					continue
				}
				open = open[:len(open)-1]
			case turns(c) && len(open) == maxTurns:
				dropped++
				continue
			case turns(c):
				open = append(open, c)
			}
			b.WriteRune(c)
		}
		r.text = b.String()
		out.push(r)
	}
	out.push(run{text: closers(open)})
	return out.runs()
}

// closer returns the control that ends an open one.
func closer(open rune) rune {
	if open >= 0x2066 {
		return popIsolate
	}
	return pop
}

// closers returns the controls that end the open ones, the innermost first.
func closers(open []rune) string {
	var b strings.Builder
	for _, c := range slices.Backward(open) {
		b.WriteRune(closer(c))
	}
	return b.String()
}

// opened returns the controls that are open at the end of balanced text, so that the next part can open them
// again.
func opened(runs []run) string {
	var open []byte
	for _, r := range runs {
		for _, c := range r.text {
			switch {
			case c == '\n':
				open = open[:0]
			case c == pop || c == popIsolate:
				if n := utf8.RuneLen(pop); len(open) >= n {
					open = open[:len(open)-n]
				}
			case turns(c):
				open = utf8.AppendRune(open, c)
			}
		}
	}
	return string(open)
}
