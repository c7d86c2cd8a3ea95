package webhook

import "strings"

// indent formats valid JSON on several lines. It stops when it has written most bytes: a body of brackets must not grow a thousand times.
// whole means that nothing was left out.
func indent(doc []byte, most int) (text string, whole bool) {
	w := indenter{}
	for _, c := range doc {
		if w.b.Len() >= most {
			return w.b.String(), false
		}
		w.next(c)
	}
	return w.b.String(), true
}

// indenter formats valid JSON byte by byte, with two spaces for each level.
type indenter struct {
	b       strings.Builder
	depth   int
	text    bool // inside quotes
	escaped bool // after a backslash
	opened  bool // after an opening bracket that may be closed at once
}

// next writes one byte. Within a string it only looks for the end.
func (w *indenter) next(c byte) {
	switch {
	case w.text:
		w.b.WriteByte(c)
		// A quote ends the string unless a backslash precedes it. A backslash after a backslash escapes nothing.
		w.text, w.escaped = w.escaped || c != '"', !w.escaped && c == '\\'
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
	case c == '}' || c == ']':
		w.depth--
		// An empty object or list stays on one line.
		if !w.opened {
			w.line()
		}
		w.opened = false
		w.b.WriteByte(c)
	default:
		w.token(c)
	}
}

// token writes any character except white space and closing brackets.
func (w *indenter) token(c byte) {
	if w.opened {
		w.line()
	}
	w.opened = c == '{' || c == '['
	w.text = c == '"'
	w.b.WriteByte(c)
	switch c {
	case '{', '[':
		w.depth++
	case ',':
		w.line()
	case ':':
		w.b.WriteByte(' ')
	}
}

// line starts a line with the indentation of the depth.
func (w *indenter) line() {
	w.b.WriteString("\n" + strings.Repeat("  ", w.depth))
}
