package memory

import (
	"strings"
	"unicode/utf8"

	"hob/daemon/sys"
)

// layout is the version of how texts are cut and stored. A change of it makes every index anew.
const layout = "4"

// Sizes of chunks, in bytes.
const (
	leastWindow = 400 // a window takes further blocks until it has this size
	mostWindow  = 600 // unless it would exceed this one
	mostBlock   = 300 // a longer paragraph counts as several blocks
	leastStep   = 50  // between the starts of two windows: a list of very short items would be stored too often
)

// A heading is stored with each window below it, so its size is limited. Bytes.
const (
	mostHeading = 100
	mostAbove   = 300 // of all headings above a window; the innermost ones are kept
)

// mostChunks limits the windows of a file. Only one that has little but headings reaches it: windows below the same heading are leastStep apart.
const mostChunks = 100_000

// chunk is a window over a text.
type chunk struct {
	first, last int // lines, from 1
	start, stop int // bytes of the text
	above       string
	text        string
}

// block is a paragraph, a list item, a heading, or a part of a long one.
type block struct {
	first, last int
	start, stop int
}

// chunks cuts Markdown into overlapping windows. A new one begins at each paragraph and list item; none crosses a heading. A heading
// belongs to the text below it. whole is false if there are more than mostChunks.
func chunks(text string) (list []chunk, whole bool) {
	c := &cutter{text: text}
	for start, n := 0, 1; start < len(text) && len(c.all) <= mostChunks; n++ {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		c.line(n, start, end)
		start = end + 1
	}
	c.section()
	return c.all[:min(len(c.all), mostChunks)], len(c.all) <= mostChunks
}

// cutter cuts a text line by line.
type cutter struct {
	text   string
	all    []chunk
	heads  [6]string // the present headings, by level
	above  string    // the headings above the section, without its own
	whole  string    // with its own
	own    string    // the section's own heading; "": it has none
	blocks []block   // of the section
	open   bool      // the last block goes on
	fenced string    // the fence of the present code block; "": none
}

// line processes one line.
func (c *cutter) line(n, start, end int) {
	bare := strings.TrimSpace(c.text[start:end])
	// Inside a code block a # is no heading, a dash begins no list item, and an empty line does not separate.
	if c.fence(bare) || c.fenced != "" {
		c.add(n, start, end)
		return
	}
	if level := Heading(bare); level > 0 {
		c.section()
		c.above = c.path(level - 1)
		c.own = strings.Trim(bare, "# \t")
		if len(c.own) > mostHeading {
			c.own = strings.ToValidUTF8(c.own[:mostHeading], "") + "…"
		}
		c.heads[level-1] = c.own
		clear(c.heads[level:])
		c.whole = c.path(level)
		c.add(n, start, end)
		c.open = false
		return
	}
	switch {
	case bare == "":
		c.open = false
		return
	case item().MatchString(bare):
		c.open = false
	}
	c.add(n, start, end)
}

// item matches the beginning of a list item.
var item = sys.Regexp(`^([-*+]|\d{1,9}[.)])[ \t]`)

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

// Heading returns the level of a heading, or 0 for any other line (CommonMark 0.31, section 4.2).
func Heading(line string) int {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level < 1 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}

// path joins the present headings of the first levels. It leaves out the outermost ones if all are too long.
func (c *cutter) path(levels int) string {
	var heads []string
	for _, h := range c.heads[:levels] {
		if h != "" {
			heads = append(heads, h)
		}
	}
	for ; ; heads = heads[1:] {
		if path := strings.Join(heads, " › "); len(path) <= mostAbove {
			return path
		}
	}
}

// add adds a line to the open block, or as a new one. A block that would become too long ends before it, and a line that is itself too long
// becomes several blocks.
func (c *cutter) add(n, start, end int) {
	if c.open {
		if b := &c.blocks[len(c.blocks)-1]; end-b.start <= mostBlock {
			b.last, b.stop = n, end
			return
		}
	}
	for end-start > mostBlock {
		cut := start + sentence(c.text[start:start+mostBlock])
		c.blocks = append(c.blocks, block{n, n, start, cut})
		start = cut
	}
	c.blocks = append(c.blocks, block{n, n, start, end})
	c.open = true
}

// sentence returns where to cut a text that goes on: after a sentence in its second half, else after a word, else at the end of a character.
func sentence(text string) int {
	half := len(text) / 2
	for _, end := range []string{". ", "! ", "? ", "; ", "。", ", ", " "} {
		if i := strings.LastIndex(text[half:], end); i >= 0 {
			return half + i + len(end)
		}
	}
	cut := len(text)
	for cut > half && !utf8.RuneStart(text[cut-1]) {
		cut--
	}
	// The last character may be whole, or not.
	if r, size := utf8.DecodeRuneInString(text[cut-1:]); r == utf8.RuneError && size < 2 {
		return cut - 1
	}
	return len(text)
}

// section makes the windows of the blocks since the last heading.
func (c *cutter) section() {
	last := -leastStep
	for i, b := range c.blocks {
		if b.start-last < leastStep {
			continue
		}
		last = b.start
		w := chunk{first: b.first, last: b.last, start: b.start, stop: b.stop, above: c.whole}
		if i == 0 && c.own != "" {
			w.above = c.above // the window contains the section's own heading
		}
		for _, next := range c.blocks[i+1:] {
			if w.stop-w.start >= leastWindow || next.stop-w.start > mostWindow {
				break
			}
			w.last, w.stop = next.last, next.stop
		}
		w.text = c.text[w.start:w.stop]
		c.all = append(c.all, w)
	}
	c.blocks, c.open = nil, false
}
