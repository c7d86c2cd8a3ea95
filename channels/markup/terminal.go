package markup

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Screen describes a terminal.
type Screen struct {
	Width int  // columns; 0 is 80
	Color bool // it may get the sequences of ECMA-48 for styles and the 16 colours
	UTF8  bool // it shows more than ASCII
}

// Terminal formats text for a terminal. It wraps at words to the width, and writes styles as sequences of ECMA-48, "Select graphic
// rendition". No line is wider than the screen. Each line ends all styles that it begins, so that a block changes nothing outside of
// itself.
func Terminal(s Screen) Form {
	if s.Width <= 0 {
		s.Width = 80
	}
	return Form{Name: "terminal", parse: s.read, render: s.render, size: textBytes}
}

// WithoutSequences removes what programs write for a terminal and not for a reader: the sequences of ECMA-48 (control sequences, section
// 5.4; control strings such as a title, 5.6; escape sequences) and control characters. Only the introducer of a sequence that does not end
// is removed.
func WithoutSequences(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 })
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+sequence(text[i:]):]
	}
}

// sequence returns the length of the sequence that a text begins with. A C1 control is ESC and the character 0x40 below it.
func sequence(text string) int {
	first, n := utf8.DecodeRuneInString(text)
	kind := byte(first - 0x40) //nolint:gosec // a control character
	if first < ' ' || first == 0x7f {
		if first != '\x1b' || len(text) < 2 {
			return n
		}
		kind, n = text[1], 2
	}
	body := text[n:]
	switch {
	case kind == '[':
		rest := strings.TrimLeft(strings.TrimLeft(body, "0123456789:;<=>?"), " !\"#$%&'()*+,-./")
		if rest != "" && rest[0] >= '@' && rest[0] <= '~' {
			return len(text) - len(rest) + 1
		}
	case strings.IndexByte("]PX^_", kind) >= 0:
		end := strings.IndexAny(body, "\a\x1b\u009c\n")
		if end < 0 || body[end] == '\n' {
			return n
		}
		for _, mark := range []string{"\a", "\x1b\\", "\u009c"} {
			if strings.HasPrefix(body[end:], mark) {
				return n + end + len(mark)
			}
		}
	case first == '\x1b' && (kind < '0' || kind > '~') && strings.IndexByte("()*+#% ", kind) >= 0 && body != "" && body[0] < utf8.RuneSelf && body[0] > ' ':
		return n + 1 // such as a character set
	case first == '\x1b' && (kind < '0' || kind > '~'):
		return 1 // not a sequence
	}
	return n
}

// read parses a text for the screen.
func (s Screen) read(markdown string) doc {
	return readFor(WithoutSequences(markdown), s.Width, s.Width >= leastScreen)
}

// Sequences for styles.
const (
	plainStyle  = "\x1b[0m"
	boldStyle   = "\x1b[1m"
	dimStyle    = "\x1b[2m"
	headStyle   = "\x1b[1;36m"
	codeStyle   = "\x1b[36m"
	linkStyle   = "\x1b[4m"
	italicStyle = "\x1b[3m"
	strikeStyle = "\x1b[9m"
)

// screenText is a text for a screen that is being written.
type screenText struct {
	Screen
	lines []string
}

// render writes the blocks one below the other.
func (s Screen) render(d doc) Piece {
	w := &screenText{Screen: s}
	for i, l := range d {
		known := 0
		if i > 0 {
			known = shared(d[i-1], l)
			if !closeBy(d[i-1], l) {
				_, rest := w.prefixes(leaf{path: l.path[:known]}, known)
				w.lines = append(w.lines, strings.TrimRight(w.drawn(rest), " "))
			}
		}
		w.leaf(l, known)
	}
	return Piece{Text: strings.Join(w.lines, "\n")}
}

// Wrap breaks a text that is not Markdown into lines for the screen. Each keeps the indent of the line that it comes from.
// The caller has removed control characters.
func (s Screen) Wrap(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(s.Shown(text), "\n") {
		bare := strings.TrimLeft(line, " ")
		indent := line[:min(len(line)-len(bare), s.Width/2)]
		b := &lineBreaker{screen: s, room: s.Width - len(indent)}
		b.add(bare, "")
		b.word()
		b.end()
		for _, l := range b.lines {
			lines = append(lines, strings.TrimRight(indent+l, " "))
		}
	}
	return lines
}

// glyph returns a sign of the screen's character set.
func (s Screen) glyph(sign, ascii string) string {
	if s.UTF8 {
		return sign
	}
	return ascii
}

// prefixes returns what is before the first and the further lines of a block: quotes, markers and indents. known is the
// number of its containers that an earlier block has begun.
func (w *screenText) prefixes(l leaf, known int) (first, rest []run) {
	bar := run{text: w.glyph("│ ", "> "), style: mono}
	for i, box := range l.path {
		if !box.item() {
			first, rest = append(first, bar), append(rest, bar)
			continue
		}
		marker := box.marker()
		if !w.UTF8 {
			marker = strings.NewReplacer("•", "-", "☐", "[ ]", "☑", "[x]").Replace(marker)
		}
		pad := run{text: strings.Repeat(" ", width(marker))}
		if i < known {
			first = append(first, pad)
		} else {
			first = append(first, run{text: marker})
		}
		rest = append(rest, pad)
	}
	return first, rest
}

// drawn returns a prefix as text; quotes are dim.
func (w *screenText) drawn(prefix []run) string {
	var b strings.Builder
	for _, r := range prefix {
		if r.style&mono != 0 {
			b.WriteString(w.styled(r.text, dimStyle))
		} else {
			b.WriteString(r.text)
		}
	}
	return b.String()
}

// styled puts a text between a sequence and its end.
func (s Screen) styled(text, sequence string) string {
	if !s.Color || sequence == "" || text == "" {
		return text
	}
	return sequence + text + plainStyle
}

// leaf writes one block.
func (w *screenText) leaf(l leaf, known int) {
	first, rest := w.prefixes(l, known)
	head, next := w.drawn(first), w.drawn(rest)
	// Deep quotes and lists leave some columns for the text even on a narrow screen.
	room := w.Width - width(leaf{runs: rest}.words())
	if room < 8 {
		head, next, room = "", "", w.Width
	}
	var body []string
	switch l.kind {
	case rule:
		body = []string{w.styled(strings.Repeat(w.glyph("─", "-"), min(room, 40)), dimStyle)}
	case code:
		body = w.code(l, room)
	default:
		body = w.wrapped(l, room)
		// Without styles a line below the heading shows that it is one.
		if l.kind == heading && !w.Color {
			edge := map[bool]string{true: "=", false: "-"}[l.level == 1]
			body = append(body, strings.Repeat(edge, width(body[len(body)-1])))
		}
	}
	for i, line := range body {
		if i > 0 {
			head = next
		}
		w.lines = append(w.lines, strings.TrimRight(head+line, " "))
	}
}

// code draws code between two lines and without a frame at the sides, so that copied text contains only the code. A table has no lines
// around it; its first row is bold.
func (w *screenText) code(l leaf, room int) []string {
	var lines []string
	head := true
	for line := range strings.SplitSeq(w.Shown(strings.ReplaceAll(l.words(), "\t", "    ")), "\n") {
		style := codeStyle
		switch {
		case l.table && head && strings.Trim(line, "-+") != "":
			style = boldStyle
		case l.table && head:
			head, style, line = false, dimStyle, strings.NewReplacer("-", w.glyph("─", "-"), "+", w.glyph("┼", "+")).Replace(line)
		case l.table:
			style = ""
		}
		for _, part := range chopped(line, room) {
			lines = append(lines, w.styled(part, style))
		}
	}
	if l.table {
		return lines
	}
	edge := w.glyph("─", "-")
	top := strings.Repeat(edge, 2)
	if l.lang != "" {
		top += " " + l.lang + " "
	}
	long := min(room, 40)
	top = chopped(top+strings.Repeat(edge, max(0, long-width(top))), long)[0]
	lines = slices.Insert(lines, 0, w.styled(top, dimStyle))
	return append(lines, w.styled(strings.Repeat(edge, long), dimStyle))
}

// chopped cuts a line into parts of at most room columns, between visible characters.
func chopped(line string, room int) []string {
	var parts []string
	for {
		n, _ := fitting(line, room)
		parts = append(parts, line[:n])
		if line = line[n:]; line == "" {
			return parts
		}
	}
}

// fitting returns how many bytes of a text fit into room columns, and the columns that they take. One visible character
// always fits into a whole line.
func fitting(text string, room int) (n, columns int) {
	for n < len(text) {
		size := Cluster(text[n:])
		wide := width(text[n : n+size])
		if columns+wide > room && (n > 0 || room < 2) {
			break
		}
		n, columns = n+size, columns+wide
	}
	return n, columns
}

// Shown replaces characters that the screen cannot show, and removes the controls that change the direction of text.
func (s Screen) Shown(text string) string {
	text = strings.ReplaceAll(undirected(text), "\t", " ")
	if s.UTF8 {
		return text
	}
	text = asciiForms.Replace(text)
	var b strings.Builder
	for text != "" {
		n := Cluster(text)
		if r := text[0]; r < 0x7F {
			b.WriteByte(r)
		} else {
			b.WriteString(strings.Repeat("?", width(text[:n])))
		}
		text = text[n:]
	}
	return b.String()
}

// asciiForms are the ASCII forms of common signs.
var asciiForms = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "…", "...", "•", "*", "·", "-", "→", "->", "×", "x",
	"\u00a0", " ", "☐", "[ ]", "☑", "[x]", "✓", "ok")

// sequence returns the sequence for the style of a run.
func (w *screenText) sequence(r run, kind kind) string {
	if kind == heading {
		return headStyle
	}
	if r.style&mono != 0 {
		return codeStyle
	}
	out := ""
	if r.style&bold != 0 {
		out += boldStyle
	}
	if r.style&italic != 0 {
		out += italicStyle
	}
	if r.style&strike != 0 {
		out += strikeStyle
	}
	if r.url != "" {
		out += linkStyle
	}
	return out
}

// piece is a part of a line in one style.
type piece struct{ text, sequence string }

// wrapped breaks text into lines of at most room columns, at spaces if possible.
func (w *screenText) wrapped(l leaf, room int) []string {
	b := &lineBreaker{screen: w.Screen, room: room}
	for _, r := range l.runs {
		sequence := w.sequence(r, l.kind)
		text := r.text
		if r.style&mono != 0 && !w.Color {
			text = "`" + text + "`"
		}
		b.add(w.Shown(strings.ReplaceAll(text, gap, "")), sequence)
		if r.url != "" && !showsAddress(r) {
			b.add(" ("+w.Shown(r.url)+")", dimStyle)
		}
	}
	b.word()
	b.end()
	return b.lines
}

// lineBreaker fills lines with words. A word may have several styles; it is moved to the next line whole.
type lineBreaker struct {
	screen  Screen
	room    int
	lines   []string
	line    []piece
	columns int     // of line
	pending []piece // the word that is being read
	wide    int     // columns of pending
	space   int     // columns of white space before pending
}

// add reads text: white space ends a word.
func (b *lineBreaker) add(text, sequence string) {
	for text != "" {
		end := strings.IndexAny(text, " \n")
		if end < 0 {
			end = len(text)
		}
		if end > 0 {
			b.pending, b.wide = append(b.pending, piece{text[:end], sequence}), b.wide+width(text[:end])
		}
		if end == len(text) {
			return
		}
		b.word()
		if text[end] == '\n' {
			b.end()
		} else {
			b.space++
		}
		text = text[end+1:]
	}
}

// word puts the pending word into the line, or into the next one. A word that is longer than a line is cut.
func (b *lineBreaker) word() {
	if len(b.pending) == 0 {
		return
	}
	if b.columns > 0 && b.columns+b.space+b.wide > b.room {
		b.end()
	}
	if b.columns > 0 {
		// A space between two words of one style has it too.
		space := piece{text: strings.Repeat(" ", b.space)}
		if b.line[len(b.line)-1].sequence == b.pending[0].sequence {
			space.sequence = b.pending[0].sequence
		}
		b.put(space, b.space)
	}
	for _, p := range b.pending {
		for p.text != "" {
			n, columns := fitting(p.text, b.room-b.columns)
			if n == 0 {
				b.end()
				continue
			}
			b.put(piece{p.text[:n], p.sequence}, columns)
			p.text = p.text[n:]
		}
	}
	b.pending, b.wide, b.space = nil, 0, 0
}

// put appends to the line; text of the same style is joined.
func (b *lineBreaker) put(p piece, columns int) {
	b.columns += columns
	if n := len(b.line); n > 0 && b.line[n-1].sequence == p.sequence {
		b.line[n-1].text += p.text
		return
	}
	b.line = append(b.line, p)
}

// end ends the line.
func (b *lineBreaker) end() {
	var line strings.Builder
	for _, p := range b.line {
		line.WriteString(b.screen.styled(p.text, p.sequence))
	}
	b.lines = append(b.lines, line.String())
	b.line, b.columns, b.space = nil, 0, 0
}
