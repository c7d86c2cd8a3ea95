package markup

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The controls that turn the direction of what follows (UAX 9, section 2). Embeddings and overrides end with pop, isolates with popIsolate.
const (
	pop        = '\u202C'
	popIsolate = '\u2069'
)

func turns(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// undirected is a text without any control that changes directions: code and addresses say what they say in one order.
func undirected(s string) string {
	return strings.Map(func(r rune) rune {
		if turns(r) || r == 0x200E || r == 0x200F || r == 0x061C {
			return -1
		}
		return r
	}, s)
}

// maxTurns is how deep directions nest in one line; deeper controls are left out.
const maxTurns = 8

// balance closes in each line what it opened, and leaves out what closes nothing.
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

func closer(open rune) rune {
	if open >= 0x2066 {
		return popIsolate
	}
	return pop
}

// closers is what ends the open controls, the innermost first.
func closers(open []rune) string {
	var b strings.Builder
	for _, c := range slices.Backward(open) {
		b.WriteRune(closer(c))
	}
	return b.String()
}

// opened is what is still open at the end of balanced words that are cut there.
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
