package markup

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inlines converts the content of a block. It walks without recursion, because emphasis may nest as deep as
// the text is long.
func (r *reader) inlines(block ast.Node) []run {
	var out []run
	open := map[style]int{} // nesting depth of each style
	now := func() style {
		var s style
		for _, bit := range nesting() {
			if open[bit] > 0 {
				s |= bit
			}
		}
		return s
	}
	// Styles are counted, because the same style may be nested.
	walk(block, func(n ast.Node, entering bool) (inside bool) {
		by := 1
		if !entering {
			by = -1
		}
		switch n := n.(type) {
		case *ast.Emphasis:
			open[emphasis(n)] += by
			return true
		case *extast.Strikethrough:
			open[strike] += by
			return true
		}
		if entering {
			out = append(out, r.inline(n, now())...)
		}
		return false
	})
	return out
}

// emphasis returns the style of one or two marks.
func emphasis(n *ast.Emphasis) style {
	if n.Level > 1 {
		return bold
	}
	return italic
}

// inline converts a node that contains no styles.
func (r *reader) inline(n ast.Node, s style) []run {
	switch n := n.(type) {
	case *ast.Text, *ast.String, *ast.RawHTML:
		return []run{{text: r.words(n), style: s}}
	case *ast.CodeSpan:
		return []run{{text: undirected(strings.ReplaceAll(r.within(n), "\n", " ")), style: s | mono}}
	case *ast.Link:
		r.used[string(n.Destination)] = true
		return r.link(unescaped(string(n.Destination)), r.within(n), s|alone(n))
	case *ast.Image:
		r.used[string(n.Destination)] = true
		// No platform shows pictures from a text, so an image becomes its description and a link.
		url := r.link(unescaped(string(n.Destination)), "", s)
		if alt := strings.TrimSpace(r.within(n)); alt != "" {
			return append(append([]run{{text: alt + " (", style: s}}, url...), run{text: ")", style: s})
		}
		return url
	case *ast.AutoLink:
		label, url := string(n.Label(r.src)), string(n.URL(r.src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
			url = "mailto:" + url
		}
		return r.link(url, label, s)
	}
	return nil
}

// alone returns the styles that apply to the whole text of a link. A link is one run, so other styles in it
// are lost.
func alone(n ast.Node) style {
	var s style
	for n = n.FirstChild(); n != nil && n.NextSibling() == nil; n = n.FirstChild() {
		switch n := n.(type) {
		case *ast.Emphasis:
			s |= emphasis(n)
		case *extast.Strikethrough:
			s |= strike
		}
	}
	return s
}

// within returns the text inside a node, without styles.
func (r *reader) within(n ast.Node) string {
	var b strings.Builder
	walk(n, func(n ast.Node, entering bool) bool {
		if entering {
			b.WriteString(r.words(n))
		}
		return true
	})
	return b.String()
}

// words returns the text of a node itself.
func (r *reader) words(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		words := string(n.Segment.Value(r.src))
		if !n.IsRaw() {
			words = unescaped(words)
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			words += "\n"
		}
		return words
	case *ast.String:
		return string(n.Value)
	case *ast.RawHTML:
		return string(n.Segments.Value(r.src))
	case *ast.AutoLink:
		return string(n.Label(r.src))
	}
	return ""
}

// walk visits the content of a node in order and without recursion. visit reports whether to go inside, and
// is called again after the node.
func walk(root ast.Node, visit func(n ast.Node, entering bool) bool) {
	n := root.FirstChild()
	for n != nil {
		if visit(n, true) && n.FirstChild() != nil {
			n = n.FirstChild()
			continue
		}
		for {
			visit(n, false)
			if next := n.NextSibling(); next != nil {
				n = next
				break
			}
			if n = n.Parent(); n == root || n == nil {
				return
			}
		}
	}
}

// unescaped resolves backslash escapes and character references (CommonMark, sections 2.4 and 2.5).
func unescaped(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for s != "" {
		switch {
		case s[0] == '\\' && len(s) > 1 && util.IsPunct(s[1]):
			b.WriteByte(s[1])
			s = s[2:]
			continue
		case s[0] == '&':
			if end := strings.IndexByte(s[:min(len(s), 34)], ';'); end > 0 {
				if value, ok := reference(s[1:end]); ok {
					b.WriteString(cleaned(value))
					s = s[end+1:]
					continue
				}
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// reference resolves a character reference without "&" and ";"; ok is false if there is no such reference.
func reference(name string) (string, bool) {
	digits, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		e, ok := util.LookUpHTML5EntityByName(name)
		if !ok {
			return "", false
		}
		return string(e.Characters), true
	}
	base := 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseInt(digits, base, 32)
	if err != nil || len(digits) > 7 || digits[0] == '-' || digits[0] == '+' {
		return "", false
	}
	if n == 0 || n > unicode.MaxRune {
		n = utf8.RuneError
	}
	return string(rune(n)), true
}

// cleaned removes what no platform shows: control characters except tabs and line ends. Invalid UTF-8 becomes
// the replacement character.
func cleaned(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case r == 0 || r&0xFFFE == 0xFFFE:
			return utf8.RuneError
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
}

// tidy normalises the text of a paragraph: no spaces around lines, no empty lines, spaces outside of styled
// text, and equal styles in one run.
func tidy(runs []run) []run {
	t := tidier{newline: true}
	for _, r := range balance(runs) {
		switch {
		case r.text == "":
		case r.url != "" || r.style&mono != 0:
			t.word(r)
		default:
			t.plain(r)
		}
	}
	return t.runs()
}

// tidier collects words into lines.
type tidier struct {
	joiner
	spaces  string // white space that was read and not yet written
	newline bool   // the line is still empty
}

// plain writes a run word by word.
func (t *tidier) plain(r run) {
	text := strings.ReplaceAll(r.text, "\t", " ")
	for text != "" {
		words := strings.TrimLeft(text, " \n")
		t.space(text[:len(text)-len(words)])
		if words == "" {
			return
		}
		end := strings.IndexAny(words, " \n")
		if end < 0 {
			end = len(words)
		}
		t.word(run{text: words[:end], style: r.style})
		text = words[end:]
	}
}

// space records white space. A line end replaces the spaces around it.
func (t *tidier) space(s string) {
	if t.newline || s == "" {
		return
	}
	if strings.Contains(t.spaces+s, "\n") {
		t.spaces = "\n"
		return
	}
	t.spaces += s
}

// word writes a word after the recorded white space. The space gets the word's style if the word before has
// it too.
func (t *tidier) word(r run) {
	if t.spaces != "" {
		s := r.style &^ mono
		if t.last.url != "" || t.last.style != s {
			s = 0
		}
		t.push(run{text: t.spaces, style: s})
		t.spaces = ""
	}
	t.push(r)
	t.newline = false
}

// joiner merges consecutive runs of one style.
type joiner struct {
	out  []run
	last run // the run that grows
	text strings.Builder
}

// push adds a run, or extends the last one if the styles are the same.
func (j *joiner) push(r run) {
	if r.text == "" {
		return
	}
	if j.text.Len() > 0 && (j.last.style != r.style || j.last.url != "" || r.url != "") {
		j.end()
	}
	j.last = r
	j.text.WriteString(r.text)
}

// end finishes the run that grows.
func (j *joiner) end() {
	if j.text.Len() > 0 {
		j.last.text = j.text.String()
		j.out = append(j.out, j.last)
		j.text.Reset()
	}
}

// runs returns the finished runs.
func (j *joiner) runs() []run {
	j.end()
	return j.out
}
