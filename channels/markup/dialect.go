package markup

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dialect describes the syntax of a platform that takes one text.
type dialect struct {
	marks  map[style][2]string               // written before and after styled text; missing for a style that the platform does not have
	text   func(words string) string         // escapes text
	code   func(words string) string         // escapes text in code
	link   func(label, target string) string // makes a link; the label is already escaped
	block  func(lang, escaped string) string // makes a code block; nil: each line is marked as code
	quote  string                            // before each line of a quote
	around [2]string                         // around an outermost quote, instead of quote
	seam   string                            // written between a mark and a letter, where a word cannot be marked in part otherwise
	named  func(style) string                // names styles that are ranges beside the text; nil: there are none
	only   func(style) style                 // reduces a set of styles to those that may be combined; nil: all may
}

// styledText is a text that is being written.
type styledText struct {
	dialect
	out    strings.Builder
	units  int
	styles []Style
	last   map[style]int // index in styles of the latest range of each style
}

// piece writes a text, block by block.
func (d dialect) piece(text doc) Piece {
	b := &styledText{dialect: d, last: map[style]int{}}
	for i, l := range text {
		var before leaf
		if i > 0 {
			before = text[i-1]
		}
		b.space(before, l, i == 0)
		b.leaf(l, shared(before, l))
	}
	if len(text) > 0 && b.around != [2]string{} && outermost(text[len(text)-1]) != 0 {
		b.put(b.around[1])
	}
	return Piece{Text: b.out.String(), Styles: b.styles}
}

// put writes a string. Only platforms with ranges need the position.
func (b *styledText) put(s string) {
	b.out.WriteString(s)
	if b.named != nil {
		b.units += units(s)
	}
}

// outermost returns the outermost quote around a leaf, 0 for none.
func outermost(l leaf) int {
	for _, box := range l.path {
		if !box.item() {
			return box.id
		}
	}
	return 0
}

// space writes the separation of two blocks, and opens or closes the outermost quote.
func (b *styledText) space(before, l leaf, first bool) {
	wrapped := b.around != [2]string{}
	was, is := outermost(before), outermost(l)
	if wrapped && was != 0 && was != is {
		b.put(b.around[1])
	}
	if !first {
		b.put("\n")
		if !closeBy(before, l) {
			common := leaf{path: l.path[:shared(before, l)]}
			b.put(strings.TrimRight(b.quotes(common), " ") + "\n")
		}
	}
	if wrapped && is != 0 && was != is {
		b.put(b.around[0])
	}
}

// quotes returns the prefix of each line of a leaf for its quotes.
func (b *styledText) quotes(l leaf) string {
	n := 0
	for _, box := range l.path {
		if !box.item() {
			n++
		}
	}
	if b.around != [2]string{} {
		n = max(n-1, 0)
	}
	return strings.Repeat(b.quote, n)
}

// leaf writes a block. known is the number of containers that it shares with the block before.
func (b *styledText) leaf(l leaf, known int) {
	quotes := b.quotes(l)
	// Markers are written with the item's first block; later blocks and lines are indented instead.
	var markers, indent string
	for i, box := range l.path {
		if !box.item() {
			continue
		}
		pad := strings.Repeat(" ", utf8.RuneCountInString(box.marker()))
		if i < known {
			markers += pad
		} else {
			markers += box.marker()
		}
		indent += pad
	}
	switch l.kind {
	case rule:
		b.put(quotes + markers + "———")
	case code:
		b.code(l, quotes, markers, indent)
	default:
		b.put(quotes + markers)
		if l.kind == heading {
			l.runs = slices.Clone(l.runs)
			for i := range l.runs {
				l.runs[i].style |= bold
			}
			l.runs = tidy(l.runs)
		}
		b.inline(l.runs, quotes+indent)
	}
}

// code writes a code block. If the platform has marks for blocks, these must be at the beginning of a line.
func (b *styledText) code(l leaf, quotes, markers, indent string) {
	if b.block == nil {
		b.put(quotes + markers)
		b.inline([]run{{text: l.words(), style: mono}}, quotes+indent)
		return
	}
	b.put(quotes)
	if strings.TrimSpace(markers) != "" {
		b.put(strings.TrimRight(markers, " ") + "\n" + quotes)
	}
	b.put(strings.ReplaceAll(b.block(l.lang, b.dialect.code(l.words())), "\n", "\n"+quotes))
}

// inline writes text; each line but the first begins with the prefix. Marks are closed at the end of each
// line, as most platforms require.
func (b *styledText) inline(runs []run, prefix string) {
	var before run
	for i, r := range runs {
		if b.only != nil {
			r.style = b.only(r.style)
		}
		if i > 0 && b.torn(before, r) {
			b.put(b.seam)
		}
		before = r
		if r.url != "" {
			b.styled(r, b.link(b.text(r.text), r.url))
			continue
		}
		for j, line := range strings.Split(r.text, "\n") {
			if j > 0 {
				b.put("\n" + prefix)
			}
			switch {
			case line == "":
			case r.style&mono != 0:
				b.styled(r, b.dialect.code(line))
			default:
				b.styled(r, b.text(line))
			}
		}
	}
}

// torn reports whether a mark between two runs touches a letter or another mark, so that the platform would
// not recognise it.
func (b *styledText) torn(before, after run) bool {
	if b.seam == "" || before.style == after.style {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before.text)
	first, _ := utf8.DecodeRuneInString(after.text)
	if before.style != 0 && after.style != 0 {
		return true
	}
	outside := first
	if after.style != 0 {
		outside = last
	}
	return !unicode.IsSpace(outside) && !ascii(outside)
}

// ascii reports whether a character is ASCII punctuation.
func ascii(r rune) bool { return r > ' ' && r < 0x7F && !alphanumeric(r) }

// styled writes text between the marks of its styles. White space alone gets no marks.
func (b *styledText) styled(r run, written string) {
	if strings.TrimSpace(r.text) == "" && r.style&mono == 0 {
		b.put(written)
		return
	}
	// Marks open in a fixed order and close in reverse.
	for _, s := range nesting() {
		if r.style&s != 0 {
			b.put(b.marks[s][0])
		}
	}
	start := b.units
	b.put(written)
	if b.named != nil {
		b.ranges(r.style, start)
	}
	order := nesting()
	for _, s := range slices.Backward(order[:]) {
		if r.style&s != 0 {
			b.put(b.marks[s][1])
		}
	}
}

// ranges records the styles of the text written since start. A range that ended there is extended.
func (b *styledText) ranges(s style, start int) {
	for _, bit := range nesting() {
		if s&bit == 0 || b.units == start {
			continue
		}
		if i, ok := b.last[bit]; ok && b.styles[i].Start+b.styles[i].Length == start {
			b.styles[i].Length += b.units - start
			continue
		}
		b.last[bit] = len(b.styles)
		b.styles = append(b.styles, Style{Start: start, Length: b.units - start, Name: b.named(bit)})
	}
}
