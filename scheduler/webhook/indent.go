package webhook

import "strings"

// indent writes valid JSON on several lines and stops when it has written enough: a body of brackets must not become a thousand times its
// size. whole: that was all.
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

type indenter struct {
	b       strings.Builder
	depth   int
	text    bool // inside of quotes
	escaped bool // behind a backslash
	opened  bool // behind a bracket that may turn out to be empty
}

func (w *indenter) next(c byte) {
	switch {
	case w.text:
		w.b.WriteByte(c)
		w.text, w.escaped = w.escaped || c != '"', !w.escaped && c == '\\'
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
	case c == '}' || c == ']':
		w.depth--
		if !w.opened {
			w.line()
		}
		w.opened = false
		w.b.WriteByte(c)
	default:
		w.token(c)
	}
}

// token writes what is neither space nor the end of anything.
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

func (w *indenter) line() {
	w.b.WriteString("\n" + strings.Repeat("  ", w.depth))
}
