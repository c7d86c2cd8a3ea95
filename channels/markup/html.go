package markup

import (
	"slices"
	"strings"
)

// page is HTML that is being written: well-formed, with only the tags that org.matrix.custom.html allows.
type page struct {
	out  strings.Builder
	open []container
}

// pageOf writes a text as HTML.
func pageOf(d doc) string {
	var p page
	for i, l := range d {
		known := 0
		if i > 0 {
			known = shared(d[i-1], l)
		}
		p.closeTo(known, l)
		p.enter(known, l)
		p.leaf(l)
	}
	p.closeTo(0, leaf{})
	return p.out.String()
}

// closeTo closes all containers after the first known. A list stays open for its next item.
func (p *page) closeTo(known int, next leaf) {
	for i := len(p.open) - 1; i >= known; i-- {
		b := p.open[i]
		if !b.item() {
			p.out.WriteString("</blockquote>")
			continue
		}
		p.out.WriteString("</li>")
		if i > known || i >= len(next.path) || next.path[i].list != b.list {
			p.out.WriteString("</" + listTag(b) + ">")
		}
	}
}

// listTag returns the tag of an item's list.
func listTag(b container) string {
	if b.number >= 0 {
		return "ol"
	}
	return "ul"
}

// enter opens the containers of a leaf after the first known.
func (p *page) enter(known int, l leaf) {
	for i, b := range l.path[known:] {
		i += known
		switch {
		case !b.item():
			p.out.WriteString("<blockquote>")
			continue
		case i == known && i < len(p.open) && p.open[i].list == b.list: // the next item of an open list
		case b.number >= 0 && b.number != 1:
			p.out.WriteString(`<ol start="` + numeral(b.number) + `">`)
		default:
			p.out.WriteString("<" + listTag(b) + ">")
		}
		p.out.WriteString("<li>")
		switch b.task {
		case undone:
			p.out.WriteString("☐ ")
		case done:
			p.out.WriteString("☑ ")
		}
	}
	p.open = slices.Clone(l.path)
}

// leaf writes a block. In a tight list a paragraph has no tag of its own.
func (p *page) leaf(l leaf) {
	tight := len(l.path) > 0 && l.path[len(l.path)-1].item() && l.path[len(l.path)-1].tight
	switch {
	case l.kind == rule:
		p.out.WriteString("<hr/>")
	case l.kind == code:
		p.out.WriteString(codeBlock(l))
	case l.kind == heading:
		tag := "h" + numeral(l.level)
		p.out.WriteString("<" + tag + ">")
		p.inline(l.runs)
		p.out.WriteString("</" + tag + ">")
	case tight:
		p.inline(l.runs)
	default:
		p.out.WriteString("<p>")
		p.inline(l.runs)
		p.out.WriteString("</p>")
	}
}

// codeBlock keeps the final line break inside, as CommonMark's reference rendering does.
func codeBlock(l leaf) string {
	class := ""
	if l.lang != "" {
		class = ` class="language-` + l.lang + `"`
	}
	return "<pre><code" + class + ">" + inHTML(l.words()) + "\n</code></pre>"
}

// inline writes text with its styles. Tags are closed after each run, so they are always nested correctly.
func (p *page) inline(runs []run) {
	tags := map[style]string{strike: "del", bold: "strong", italic: "em", mono: "code"}
	order := nesting()
	for _, r := range runs {
		for _, s := range order {
			if r.style&s != 0 {
				p.out.WriteString("<" + tags[s] + ">")
			}
		}
		words := strings.ReplaceAll(inHTML(r.text), "\n", "<br/>")
		if r.url != "" {
			words = `<a href="` + inHTML(r.url) + `">` + words + "</a>"
		}
		p.out.WriteString(words)
		for _, s := range slices.Backward(order[:]) {
			if r.style&s != 0 {
				p.out.WriteString("</" + tags[s] + ">")
			}
		}
	}
}
