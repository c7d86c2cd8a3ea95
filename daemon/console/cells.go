package console

import (
	"strings"
	"sync"
	"unicode/utf8"

	"hob/channels/markup"
)

// cells turns typed text into a line in which each character is one column of the screen, because golang.org/x/term counts so.
//
// A visible character of one code point and one column stays as it is. Any other text becomes a cell: a character of a private use area
// that stands for the text. A tail follows for each further column. When the line is drawn, shown puts the text in the place of the cells.
// The line editor's goroutine changes the line while the loop draws it.
type cells struct {
	mu    sync.Mutex
	list  []cell // of the characters from firstCell on
	lead  int    // columns of the prompt
	width int    // of the terminal
}

// cell is a text and what the line shows for it.
type cell struct{ text, label string }

// Characters of the supplementary private use area B. firstTail+c shows the ASCII character c, and firstTail+0 shows nothing.
const (
	firstCell = 0x100000
	firstTail = 0x10F000
	firstKey  = 0x10F100
)

// A longer text is one cell with a short label: it can be sent and deleted, but not edited.
const (
	longText  = 1000 // in bytes
	longLines = 8
)

// fit sets the columns of the prompt and of the terminal.
func (c *cells) fit(prompt string, width int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lead, c.width = markup.Width(prompt), width
}

// clear forgets all cells. A line with cells must not be drawn after it.
func (c *cells) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

// of returns a text as cells that are not laid out.
func (c *cells) of(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := strings.Count(text, "\n"); len(text) > longText || n >= longLines {
		return c.cell(text, "["+Plural(n+1, "line")+", "+Size(int64(len(text)))+"]")
	}
	var b strings.Builder
	for text != "" {
		n := markup.Cluster(text)
		part := text[:n]
		text = text[n:]
		r, size := utf8.DecodeRuneInString(part)
		columns := markup.Width(part)
		switch {
		case part == "\n":
			b.WriteString(c.cell(part, "")) // layout fills the row
		case part == "\t":
			b.WriteString(c.cell(part, " "))
		case strings.ContainsFunc(part, acts):
			b.WriteString(c.cell(part, "?"))
		case columns == 0:
			b.WriteString(c.cell(part, " "+part)) // a mark without its letter
		case columns == 1 && size == n && r < firstCell:
			b.WriteString(part)
		default:
			b.WriteString(c.cell(part, part))
		}
	}
	return b.String()
}

// cell returns the character that stands for a text. When there is no further one, the text stands for itself, and the cursor may then be
// in a wrong column.
func (c *cells) cell(text, label string) string {
	for i, old := range c.list {
		if old.text == text {
			return string(rune(firstCell + i))
		}
	}
	if len(c.list) == firstTail-firstCell {
		return text
	}
	c.list = append(c.list, cell{text, label})
	return string(rune(firstCell + len(c.list) - 1)) //nolint:gosec // at most firstTail
}

// at returns the cell that a character stands for.
func (c *cells) at(r rune) (cell, bool) {
	if i := int(r - firstCell); i >= 0 && i < len(c.list) {
		return c.list[i], true
	}
	return cell{}, false
}

// text returns what a line of cells stands for.
func (c *cells) text(line string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, r := range line {
		if x, ok := c.at(r); ok {
			b.WriteString(x.text)
		} else if !isTail(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// rows splits a line into the rows that the terminal shows. The last row is empty if the row before it is full.
func (c *cells) rows(line string) []string {
	c.mu.Lock()
	room, width := c.width-c.lead, max(c.width, 1)
	c.mu.Unlock()
	var list []string
	rest := []rune(line)
	for room = max(room, 0); len(rest) >= room; room = width {
		list = append(list, c.shown(string(rest[:room])))
		rest = rest[room:]
	}
	return append(list, c.shown(string(rest)))
}

// layout adds the tails that the cells of a line need for their columns, and returns the new place of the cursor. A line break fills its
// row, and so does a wide character that does not fit into the last column: a terminal then draws it in the next row.
func (c *cells) layout(before, after string) (line string, pos int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	column := c.lead
	put := func(r rune) {
		b.WriteRune(r)
		column = (column + 1) % max(c.width, 1)
	}
	for i, r := range before + after {
		if i == len(before) {
			pos = b.Len()
		}
		x, ok := c.at(r)
		switch {
		case isTail(r):
		case !ok:
			put(r)
		case x.text == "\n":
			for put(r); column != 0; {
				put(firstTail + ' ')
			}
			for range min(c.lead, c.width/2) {
				put(firstTail + ' ')
			}
		case ascii(x.label):
			put(r)
			for _, more := range x.label[1:] {
				put(firstTail + more)
			}
		case markup.Width(x.label) == 1:
			put(r)
		default:
			if column == c.width-1 {
				put(firstTail + ' ')
			}
			if i == len(before) {
				pos = b.Len()
			}
			put(r)
			put(firstTail)
		}
	}
	if after == "" {
		pos = b.Len()
	}
	return b.String(), pos
}

// shown returns what the terminal gets for output with cells.
func (c *cells) shown(out string) string {
	if !strings.ContainsFunc(out, func(r rune) bool { return r >= firstCell }) {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, r := range out {
		x, ok := c.at(r)
		switch {
		case ok && x.label == "":
			b.WriteByte(' ')
		case ok && ascii(x.label):
			b.WriteByte(x.label[0])
		case ok:
			b.WriteString(x.label)
		case !isTail(r):
			b.WriteRune(r)
		case r > firstTail:
			b.WriteByte(byte(r - firstTail)) //nolint:gosec // an ASCII character
		}
	}
	return b.String()
}

// isTail reports whether a character is a further column of the cell before it.
func isTail(r rune) bool { return r >= firstTail && r < firstKey }

// ascii reports whether a label has one column for each byte.
func ascii(label string) bool {
	return strings.IndexFunc(label, func(r rune) bool { return r >= 0x80 }) < 0
}

// first returns the length of the first character of a line with its tails.
func first(line string) int {
	head := strings.TrimLeftFunc(line, isTail)
	_, n := utf8.DecodeRuneInString(head)
	return len(line) - len(strings.TrimLeftFunc(head[n:], isTail))
}

// last returns where the last character of a line begins.
func last(line string) int {
	head := strings.TrimRightFunc(line, isTail)
	_, n := utf8.DecodeLastRuneInString(head)
	return len(head) - n
}
