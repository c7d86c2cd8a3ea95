package markup

import (
	"slices"
	"strings"
	"unicode"
)

// doc is a text as all forms see it: its blocks in order, each with the quotes and list items around it.
// It has no empty block: a list item without words holds a space that nobody sees.
type doc []leaf

type kind uint8

const (
	para kind = iota
	heading
	code // runs is one run, the code as it stands
	rule
)

// leaf is a block that holds no other.
type leaf struct {
	kind  kind
	level int    // of a heading
	lang  string // of code
	path  []box  // what it stands in, from outside
	runs  []run
}

// box is one quote or one list item that leaves stand in. The first leaf of an item carries its marker.
type box struct {
	id     int // of this quote or item
	list   int // of the item's list, 0 for a quote
	number int // of an ordered item, -1 without one
	task   task
	tight  bool // no blank lines in the item's list
}

type task uint8

const (
	noTask task = iota
	undone
	done
)

func (b box) item() bool { return b.list != 0 }

// marker is what stands before an item: its number or a bullet, and whether it is done.
func (b box) marker() string {
	mark := "• "
	if b.number >= 0 {
		mark = numeral(b.number) + ". "
	}
	switch b.task {
	case undone:
		if b.number < 0 {
			mark = ""
		}
		return mark + "☐ "
	case done:
		if b.number < 0 {
			mark = ""
		}
		return mark + "☑ "
	}
	return mark
}

// style is a set of ways to show words.
type style uint8

const (
	strike style = 1 << iota
	bold
	italic
	mono
)

// nesting is the order in which styles are opened.
func nesting() [4]style { return [...]style{strike, bold, italic, mono} }

// run is words in one style; lines are ended by "\n", with no spaces around it. A link is one run, without "\n".
type run struct {
	text  string
	style style
	url   string
}

// shared is how many boxes from outside two blocks that follow each other both stand in.
func shared(a, b leaf) int {
	n := 0
	for n < len(a.path) && n < len(b.path) && a.path[n].id == b.path[n].id {
		n++
	}
	return n
}

// between is the list that decides whether a blank line stands between two blocks that follow each other,
// by a box of it; a box without a list means that one always does.
func between(a, b leaf) box {
	n := shared(a, b)
	if n < len(a.path) && n < len(b.path) && a.path[n].item() && a.path[n].list == b.path[n].list {
		return b.path[n]
	}
	if n > 0 {
		return b.path[n-1]
	}
	return box{}
}

// closeBy reports whether two blocks that follow each other have no blank line between them.
func closeBy(a, b leaf) bool {
	l := between(a, b)
	return l.item() && l.tight
}

// settle decides which lists are tight: those that were written so and can be, and those without a place for a blank line.
func (d doc) settle() {
	loose := map[int]bool{}
	for i := 1; i < len(d); i++ {
		if l := between(d[i-1], d[i]); l.item() && (!l.tight || needsBlank(d[i-1], d[i])) {
			loose[l.list] = true
		}
	}
	for _, l := range d {
		for i := range l.path {
			l.path[i].tight = !loose[l.path[i].list]
		}
	}
}

// needsBlank reports whether Markdown would read two blocks as something else without a blank line between them.
func needsBlank(a, b leaf) bool {
	n := shared(a, b)
	opens := n < len(b.path)
	switch {
	case opens && b.path[n].item() && n < len(a.path):
		return a.path[n].list != b.path[n].list
	case a.kind != para:
		return false
	case !opens:
		return b.kind == para
	case b.path[n].item():
		return b.path[n].number >= 0 && b.path[n].number != 1
	}
	return n < len(a.path) // a quote behind a quote or an item
}

// blank reports whether a leaf shows nothing.
func (l leaf) blank() bool {
	shows := func(c rune) bool { return !unicode.IsSpace(c) && !turns(c) }
	return l.kind != rule && !slices.ContainsFunc(l.runs, func(r run) bool { return strings.ContainsFunc(r.text, shows) })
}

func (l leaf) words() string {
	var b strings.Builder
	for _, r := range l.runs {
		b.WriteString(r.text)
	}
	return b.String()
}
