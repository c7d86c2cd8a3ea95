package memory

import "strings"

// mostOfChunk is the size of a chunk in bytes after which it ends at the next line.
const mostOfChunk = 800

// chunk is a part of a file that a search can find: a paragraph, a list, or a part of a long one.
type chunk struct {
	first, last int    // first and last line, from 1
	above       string // the headings above it, outermost first; their words count too
	text        string
}

// chunks splits Markdown at headings and empty lines. A heading belongs to the text after it.
func chunks(text string) []chunk {
	c := &cutter{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		c.line(i+1, line)
	}
	c.flush()
	return c.all
}

// cutter splits a text line by line.
type cutter struct {
	all    []chunk
	heads  [6]string // the current headings, by level
	open   chunk     // the chunk under construction; first 0: none
	body   bool      // open has more than a heading
	fenced string    // the fence of the current code block
}

// line processes one line.
func (c *cutter) line(n int, line string) {
	bare := strings.TrimSpace(line)
	// Inside a code block a # is not a heading, and empty lines do not separate.
	if c.fence(bare) || c.fenced != "" {
		c.add(n, line)
		return
	}
	if level := heading(line); level > 0 {
		c.flush()
		c.open.above = c.path(level - 1)
		c.heads[level-1] = strings.Trim(bare, "# ")
		clear(c.heads[level:])
		c.add(n, line)
		c.body = false
		return
	}
	if bare == "" {
		if c.body {
			c.flush()
		}
		return
	}
	c.add(n, line)
}

// fence notes the start and the end of a code block (CommonMark 0.31, section 4.5).
func (c *cutter) fence(bare string) bool {
	mark := ""
	for _, f := range []string{"```", "~~~"} {
		if strings.HasPrefix(bare, f) {
			mark = f
		}
	}
	switch {
	case mark == "" || c.fenced != "" && c.fenced != mark:
		return false
	case c.fenced == mark:
		c.fenced = ""
	default:
		c.fenced = mark
	}
	return true
}

// heading returns the level of a heading, or 0 for any other line (CommonMark 0.31, section 4.2).
func heading(line string) int {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level < 1 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}

// path joins the current headings of the first levels.
func (c *cutter) path(levels int) string {
	var heads []string
	for _, h := range c.heads[:levels] {
		if h != "" {
			heads = append(heads, h)
		}
	}
	return strings.Join(heads, " › ")
}

// add appends a line to the open chunk.
func (c *cutter) add(n int, line string) {
	if len(c.open.text)+len(line) > mostOfChunk && c.body {
		c.flush()
	}
	if c.open.first == 0 {
		if c.open.first = n; c.open.above == "" && heading(line) == 0 {
			c.open.above = c.path(len(c.heads))
		}
		c.open.text = line
	} else {
		c.open.text += strings.Repeat("\n", n-c.open.last) + line
	}
	c.open.last, c.body = n, true
}

// flush ends the open chunk.
func (c *cutter) flush() {
	if c.open.first > 0 {
		c.all = append(c.all, c.open)
	}
	c.open, c.body = chunk{}, false
}
