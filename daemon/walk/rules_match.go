package walk

import "strings"

// match compares a path with a pattern like git's wildmatch with WM_PATHNAME: byte by byte; "*", "?" and "[…]" stop at slashes, "**"
// between slashes or ends does not. Its time is at most the product of both lengths.
func match(pattern, path string) bool {
	m := matcher{pattern: pattern, path: path}
	return m.from(0, 0)
}

// matcher is the state of one match. Positions are byte offsets; failed is made with the first failure, which most matches do not have.
type matcher struct {
	pattern, path string
	failed        map[[2]int]struct{} // positions at which stars have failed
}

// from matches the pattern from p with the path from t.
// Only stars have a choice, so everything else is a loop without recursion.
func (m *matcher) from(p, t int) bool {
	for p < len(m.pattern) {
		switch c := m.pattern[p]; c {
		case '*':
			return m.star(p, t)
		case '?':
			if t == len(m.path) || m.path[t] == '/' {
				return false
			}
			p, t = p+1, t+1
		case '[':
			end, ok := m.class(p, t)
			if !ok {
				return false
			}
			p, t = end, t+1
		case '\\':
			if p++; p == len(m.pattern) {
				return false
			}
			c = m.pattern[p]
			fallthrough
		default:
			if t == len(m.path) || m.path[t] != c {
				return false
			}
			p, t = p+1, t+1
		}
	}
	return t == len(m.path)
}

// star matches one or more stars at p.
// Two or more stars cross slashes only if they fill a whole component; otherwise they count as one, as in git's wildmatch.c.
func (m *matcher) star(p, t int) bool {
	if _, ok := m.failed[[2]int{p, t}]; ok {
		return false
	}
	next := p
	for next < len(m.pattern) && m.pattern[next] == '*' {
		next++
	}
	// A "**" is a component of its own if both of its sides are a slash or an end.
	before := p == 0 || m.pattern[p-1] == '/'
	after := next == len(m.pattern) || m.pattern[next] == '/' || strings.HasPrefix(m.pattern[next:], `\/`)
	across := next-p >= 2 && before && after
	ok := false
	switch {
	case across && next < len(m.pattern) && m.pattern[next] == '/' && m.from(next+1, t): // "**/" may match nothing
		ok = true
	case across && next == len(m.pattern):
		ok = true
	default:
		ok = m.stretch(next, t, across)
	}
	// Each pair of positions fails at most once, which limits the time.
	if !ok {
		if m.failed == nil {
			m.failed = map[[2]int]struct{}{}
		}
		m.failed[[2]int{p, t}] = struct{}{}
	}
	return ok
}

// stretch tries all lengths that stars may take; across allows slashes.
func (m *matcher) stretch(next, t int, across bool) bool {
	for ; ; t++ {
		if m.from(next, t) {
			return true
		}
		if t == len(m.path) || !across && m.path[t] == '/' {
			return false
		}
	}
}

// class matches one byte with "[…]" and returns the position after it. An unclosed class matches nothing.
func (m *matcher) class(p, t int) (next int, ok bool) {
	if t == len(m.path) {
		return 0, false
	}
	b := m.path[t]
	p++
	not := p < len(m.pattern) && (m.pattern[p] == '!' || m.pattern[p] == '^')
	if not {
		p++
	}
	// last is the character that a "-" would continue to a range; -1: none.
	in, last := false, -1
	for first := true; ; first = false {
		if p >= len(m.pattern) {
			return 0, false
		}
		c := m.pattern[p]
		switch {
		// A slash never matches a class, not even a negated one.
		case c == ']' && !first:
			return p + 1, in != not && b != '/'
		case c == '-' && last >= 0 && p+1 < len(m.pattern) && m.pattern[p+1] != ']':
			p++
			high, n := m.member(p)
			if n == 0 {
				return 0, false
			}
			in = in || last <= int(b) && b <= high
			p, last = p+n, -1
		case strings.HasPrefix(m.pattern[p:], "[:"):
			end := strings.Index(m.pattern[p:], ":]")
			known := false
			if end >= 2 {
				var hit bool
				hit, known = named(m.pattern[p+2:p+end], b)
				in = in || hit
			}
			switch {
			case known:
				p, last = p+end+2, -1
			case strings.IndexByte(m.pattern[p+2:], ']') > 0 && m.closes(p):
				return 0, false // git does not know the class and gives up
			default:
				in = in || b == '['
				p, last = p+1, '['
			}
		default:
			low, n := m.member(p)
			if n == 0 {
				return 0, false
			}
			in = in || b == low
			p, last = p+n, int(low)
		}
	}
}

// closes reports whether the next "]" after "[:" follows a colon.
func (m *matcher) closes(p int) bool {
	i := strings.IndexByte(m.pattern[p+2:], ']')
	return i > 0 && m.pattern[p+2+i-1] == ':'
}

// member returns a byte of a class and the length of its spelling.
func (m *matcher) member(p int) (byte, int) {
	if m.pattern[p] != '\\' {
		return m.pattern[p], 1
	}
	if p+1 >= len(m.pattern) {
		return 0, 0
	}
	return m.pattern[p+1], 2
}

// named implements the POSIX classes for ASCII.
func named(name string, b byte) (in, known bool) {
	lower, upper, digit := 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9'
	graph := b > ' ' && b < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return b == ' ' || b == '\t', true
	case "cntrl":
		return b < ' ' || b == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || b == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return b == ' ' || '\t' <= b && b <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F', true
	}
	return false, false
}
