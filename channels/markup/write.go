package markup

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// write returns Markdown that read parses to d again.
func write(d doc) string {
	var w writer
	for i, l := range d {
		known := 0
		if i > 0 {
			known = shared(d[i-1], l)
			w.out.WriteString("\n")
			if !closeBy(d[i-1], l) {
				w.out.WriteString(strings.TrimRight(w.prefix(known), " ") + "\n")
			}
		}
		// The first line carries the markers of new containers; further lines are indented.
		first := w.enter(l, known)
		lines := strings.Split(block(l), "\n")
		rest := w.prefix(len(l.path))
		w.out.WriteString(strings.TrimRight(first+lines[0], " "))
		for _, line := range lines[1:] {
			if line == "" {
				w.out.WriteString("\n" + strings.TrimRight(rest, " "))
			} else {
				w.out.WriteString("\n" + rest + line)
			}
		}
	}
	return w.out.String()
}

// writer is Markdown that is being written.
type writer struct {
	out  strings.Builder
	open []openContainer
}

// openContainer is an open container, with the form of its marker.
type openContainer struct {
	container
	sign  byte
	width int
}

// prefix returns the beginning of the further lines of a block, for the first n open containers.
func (w *writer) prefix(n int) string {
	var b strings.Builder
	for _, s := range w.open[:n] {
		if s.item() {
			b.WriteString(strings.Repeat(" ", s.width))
		} else {
			b.WriteString("> ")
		}
	}
	return b.String()
}

// enter opens the containers of a leaf after the first known, and returns the beginning of the leaf's first
// line.
func (w *writer) enter(l leaf, known int) string {
	first := w.prefix(known)
	for i, b := range l.path[known:] {
		i += known
		s := openContainer{container: b}
		if !b.item() {
			first += "> "
		} else {
			s.sign = w.sign(b, i, i == known)
			marker := string(s.sign)
			if b.number >= 0 {
				marker = numeral(b.number) + marker
			}
			s.width = len(marker) + 1
			first += marker + " "
			switch b.task {
			case undone:
				first += "[ ] "
			case done:
				first += "[x] "
			}
		}
		w.open = append(w.open[:i], s)
	}
	w.open = w.open[:len(l.path)]
	return first
}

// sign returns the character of an item's marker. A list that follows another list needs another sign, or it
// would continue that list. Nested bullets differ too, because three equal ones may form a rule.
func (w *writer) sign(b container, depth int, beside bool) byte {
	signs := [...]byte{'-', '+'}
	switch {
	case b.number >= 0:
		signs = [...]byte{'.', ')'}
	case depth%2 == 1:
		signs = [...]byte{'*', '+'}
	}
	if !beside || depth >= len(w.open) || !w.open[depth].item() {
		return signs[0]
	}
	before := w.open[depth]
	if (before.list == b.list) == (before.sign == signs[1]) {
		return signs[1]
	}
	return signs[0]
}

// block returns the Markdown of one leaf.
func block(l leaf) string {
	switch l.kind {
	case rule:
		return "___"
	case code:
		words := l.words()
		fence := strings.Repeat("`", max(3, ticks(words)+1))
		return fence + l.lang + "\n" + words + "\n" + fence
	case heading:
		return strings.Repeat("#", l.level) + " " + inlineMarkdown(l.runs)
	}
	return inlineMarkdown(l.runs)
}

// ticks returns the length of the longest sequence of backticks.
func ticks(s string) int {
	longest, n := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// inlineMarkdown writes text with its marks. A mark is recognised only next to certain characters
// (CommonMark, section 6.2, flanking). A character that would prevent that is written as a character
// reference.
func inlineMarkdown(runs []run) string {
	var b strings.Builder
	for i, r := range runs {
		var before, after style
		left, right := ' ', ' '
		if i > 0 {
			before = marked(runs[i-1])
			left, _ = utf8.DecodeLastRuneInString(outer(runs[i-1]))
		}
		if i+1 < len(runs) {
			after = marked(runs[i+1])
			right, _ = utf8.DecodeRuneInString(outer(runs[i+1]))
		}
		own := marked(r)
		start := seam{left: left, right: firstRune(outer(r)), closing: before, opening: own}
		end := seam{left: lastRune(outer(r)), right: right, closing: own, opening: after}
		if before != own {
			b.WriteString(signs(own))
		}
		b.WriteString(words(r, start.encodesRight(), end.encodesLeft()))
		if after != own {
			signs := []byte(signs(own))
			slices.Reverse(signs)
			b.Write(signs)
		}
	}
	return b.String()
}

// marked returns the styles of a run that are written as marks around it.
func marked(r run) style { return r.style &^ mono }

// signs returns the opening marks of styles.
func signs(s style) string {
	var b strings.Builder
	for _, bit := range nesting() {
		if s&bit != 0 {
			b.WriteString(map[style]string{strike: "~~", bold: "**", italic: "_"}[bit])
		}
	}
	return b.String()
}

// outer returns the parts of a run's text that are next to its marks.
func outer(r run) string {
	switch {
	case r.url != "":
		return "[)"
	case r.style&mono != 0:
		return "``"
	}
	return r.text
}

// firstRune and lastRune return the characters at the ends of a text.
func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }
func lastRune(s string) rune  { r, _ := utf8.DecodeLastRuneInString(s); return r }

// seam is the border between two runs: the characters on both sides, and the styles that end and begin there.
type seam struct {
	left, right      rune
	closing, opening style
}

// word reports whether a character can be part of a word, next to which marks behave differently.
func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// strict reports whether a mark at the seam is recognised only next to white space or punctuation.
func (s seam) strict() bool {
	all := s.closing | s.opening
	several := all&(all-1) != 0
	return several || all&italic != 0 || s.closing != 0 && !word(s.left) || s.opening != 0 && !word(s.right)
}

// encodesLeft reports whether the character before the seam must be written as a reference.
func (s seam) encodesLeft() bool {
	switch {
	case s.closing == s.opening:
		return false
	case s.closing != 0:
		return !word(s.left) && !sign(s.left)
	}
	return (s.strict() || s.left == '~') && !unicode.IsSpace(s.left) && !sign(s.left)
}

// encodesRight is encodesLeft for the character after the seam.
func (s seam) encodesRight() bool {
	switch {
	case s.closing == s.opening:
		return false
	case s.opening != 0:
		return !word(s.right) && !sign(s.right)
	}
	return (s.strict() || s.right == '~') && !unicode.IsSpace(s.right) && !sign(s.right)
}

// sign reports whether a character counts as punctuation next to a mark, even after a backslash. A tilde
// would itself be a mark.
func sign(r rune) bool { return ascii(r) && r != '~' }

// words writes one run as Markdown; first and last select the characters to write as references.
func words(r run, first, last bool) string {
	switch {
	case r.url != "":
		return "[" + escaped(r.text) + "](<" + strings.ReplaceAll(r.url, "&", "&amp;") + ">)"
	case r.style&mono != 0:
		return span(r.text)
	}
	text := r.text
	var head, tail string
	if c, n := utf8.DecodeRuneInString(text); first && n > 0 {
		head, text = fmt.Sprintf("&#%d;", c), text[n:]
	}
	if c, n := utf8.DecodeLastRuneInString(text); last && n > 0 {
		tail, text = fmt.Sprintf("&#%d;", c), text[:len(text)-n]
	}
	return head + escaped(text) + tail
}

// span writes code between more backticks than it contains in sequence.
func span(words string) string {
	fence := strings.Repeat("`", ticks(words)+1)
	padded := strings.HasPrefix(words, "`") || strings.HasSuffix(words, "`") ||
		strings.HasPrefix(words, " ") && strings.HasSuffix(words, " ") && strings.TrimSpace(words) != ""
	if padded {
		words = " " + words + " "
	}
	return fence + words + fence
}

// escaped puts a backslash before everything that Markdown might read as a mark. A dot or a bracket is one
// after a number at the beginning of a line, and in addresses.
func escaped(words string) string {
	var b strings.Builder
	before := rune(' ')
	for _, c := range words {
		behind := (c == '.' || c == ')') && (before >= '0' && before <= '9' || before == 'w')
		if behind || strings.ContainsRune("\\`*_~[]<>&|!#+-=:@", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		before = c
	}
	return b.String()
}
