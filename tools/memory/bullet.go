package memory

import (
	"slices"
	"strings"

	index "hob/daemon/memory"

	"hob/daemon/sys"
)

// bullet is a list item of a memory file.
type bullet struct {
	first, last int    // its lines, from 0
	text        string // its text on one line, without the date and the origin that memory_write adds
	struck      bool   // it is crossed out, so it is no longer true
	date        string // when memory_write has written it, as 2006-01-02; "": unknown
}

// The frame around the content of a bullet that memory_write has written: "- 2026-11-23: CONTENT (from main, turn 12)".
var (
	dateForm   = sys.Regexp(`^\d{4}-\d\d-\d\d: `)
	originForm = sys.Regexp(` \((?:from|foreign, from) [^()]*\)$`)
	struckForm = sys.Regexp(`^~~(.*)~~(?: \(superseded \d{4}-\d\d-\d\d\))?$`)
)

// page is a memory file as lines, with its headings and bullets.
type page struct {
	lines   []string // without line ends
	end     string   // the line end of the file
	heads   []head
	bullets []bullet
	fenced  bool // the last code block has no end
}

// head is a heading outside of code blocks.
type head struct {
	line int // from 0
	text string
}

// newPage splits a file. A line in a code block is neither a heading nor a bullet.
func newPage(text string) *page {
	p := &page{end: "\n"}
	if strings.Contains(text, "\r\n") {
		p.end = "\r\n"
	}
	if text = strings.ReplaceAll(text, "\r\n", "\n"); text != "" {
		p.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	fence := ""
	for i, line := range p.lines {
		bare := strings.TrimSpace(line)
		switch mark := fenceOf(bare); {
		case fence != "":
			if mark == fence {
				fence = ""
			}
		case mark != "":
			fence = mark
		case index.Heading(line) > 0:
			p.heads = append(p.heads, head{i, strings.Trim(bare, "# ")})
		case item(bare) != "":
			p.bullets = append(p.bullets, bullet{first: i, last: i, text: item(bare)})
		case bare != "" && line != bare && len(p.bullets) > 0 && p.bullets[len(p.bullets)-1].last == i-1:
			// An indented line directly below a bullet belongs to it.
			b := &p.bullets[len(p.bullets)-1]
			b.last, b.text = i, b.text+" "+bare
		}
	}
	p.fenced = fence != ""
	for i := range p.bullets {
		p.bullets[i].unframe()
	}
	return p
}

// fenceOf returns the mark that opens or closes a code block, "" for any other line.
func fenceOf(bare string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(bare, mark) {
			return mark
		}
	}
	return ""
}

// item returns the text of a list item, "" for any other line.
func item(bare string) string {
	for _, mark := range []string{"- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(bare, mark); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// unframe removes the date and the origin from the text of a bullet.
func (b *bullet) unframe() {
	if m := struckForm().FindStringSubmatch(b.text); m != nil {
		b.struck, b.text = true, m[1]
	}
	b.date = strings.TrimSuffix(dateForm().FindString(b.text), ": ")
	b.text = originForm().ReplaceAllString(dateForm().ReplaceAllString(b.text, ""), "")
}

// same returns the form in which two contents are compared: without case, extra spaces and a final full stop.
func same(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".")
}

// holds returns the bullet with this content that is not crossed out.
func (p *page) holds(content string) (bullet, bool) {
	for _, b := range p.bullets {
		if !b.struck && same(b.text) == same(content) {
			return b, true
		}
	}
	return bullet{}, false
}

// named returns the bullets that a text refers to: those that are equal to it; without any, those that contain it. With struck it looks
// only at crossed out bullets.
func (p *page) named(text string, struck bool) []bullet {
	var equal, with []bullet
	want := same(item(text))
	if want == "" {
		b := bullet{text: strings.TrimSpace(text)}
		b.unframe()
		want = same(b.text)
	}
	for _, b := range p.bullets {
		switch have := same(b.text); {
		case b.struck != struck:
		case have == want:
			equal = append(equal, b)
		case strings.Contains(have, want):
			with = append(with, b)
		}
	}
	if len(equal) > 0 {
		return equal
	}
	return with
}

// strike crosses out a bullet, over all its lines.
func (p *page) strike(b bullet, date string) {
	first := p.lines[b.first]
	at := strings.Index(first, item(strings.TrimSpace(first)))
	p.lines[b.first] = first[:at] + "~~" + first[at:]
	p.lines[b.last] = strings.TrimRight(p.lines[b.last], " \t") + "~~ (superseded " + date + ")"
}

// add inserts a line at the end of the section with a heading. Without the heading it adds the heading at the end of the file. The lines
// are inserted at index at; the last of them is line.
func (p *page) add(about, line string) (at, lines int) {
	more := []string{line}
	if i := slices.IndexFunc(p.heads, func(h head) bool { return same(h.text) == same(about) }); i < 0 {
		at, more = p.trimmed(len(p.lines)), []string{"", "## " + about, "", line}
		if at == 0 {
			more = more[1:]
		}
	} else {
		at = len(p.lines)
		if i+1 < len(p.heads) {
			at = p.heads[i+1].line
		}
		at = p.trimmed(at)
		if !slices.ContainsFunc(p.bullets, func(b bullet) bool { return b.last == at-1 }) {
			more = []string{"", line} // an empty line separates the list from a heading or a paragraph
		}
	}
	p.lines = slices.Insert(p.lines, at, more...)
	return at, len(more)
}

// trimmed returns the index after the last line before i that is not empty.
func (p *page) trimmed(at int) int {
	for at > 0 && strings.TrimSpace(p.lines[at-1]) == "" {
		at--
	}
	return at
}

// text joins the lines again.
func (p *page) text() string { return strings.Join(p.lines, p.end) + p.end }
