package memory

import "strings"

// mostOfChunk is how long a piece gets, in bytes, before it ends at the next line.
const mostOfChunk = 800

// chunk is a piece of a file that a search finds: a paragraph, a list, a part of a long one.
type chunk struct {
	first, last int    // its lines, from 1
	above       string // the headings that it stands under, outermost first: they count as its words
	text        string
}

// chunks cuts a text of Markdown at headings and empty lines. A heading belongs to what follows it.
func chunks(text string) []chunk {
	c := &cutter{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		c.line(i+1, line)
	}
	c.flush()
	return c.all
}

// cutter cuts a text line by line.
type cutter struct {
	all    []chunk
	heads  [6]string // the headings in force, by level
	open   chunk     // that is being filled; first 0: none
	body   bool      // it has more than a heading
	fenced string    // the fence of the block of code that the line is in
}

func (c *cutter) line(n int, line string) {
	bare := strings.TrimSpace(line)
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

// fence notes the beginning and the end of a block of code (CommonMark 0.31, section 4.5).
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

// heading is the level of a heading, 0 for another line (CommonMark 0.31, section 4.2).
func heading(line string) int {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level < 1 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}

func (c *cutter) path(levels int) string {
	var heads []string
	for _, h := range c.heads[:levels] {
		if h != "" {
			heads = append(heads, h)
		}
	}
	return strings.Join(heads, " › ")
}

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

func (c *cutter) flush() {
	if c.open.first > 0 {
		c.all = append(c.all, c.open)
	}
	c.open, c.body = chunk{}, false
}
