package markup

import (
	"slices"
	"strings"
	"unicode"
)

// doc is a text independent of platforms: its blocks in order, each with the quotes and list items around it.
// There are no empty blocks: a list item without text contains an invisible space.
type doc []leaf

// kind is the kind of a block.
type kind uint8

const (
	// The kinds of blocks.
	para kind = iota
	heading
	code // runs is one run: the code, unchanged
	rule
)

// leaf is a block that contains no other blocks.
type leaf struct {
	kind  kind
	level int         // of a heading
	lang  string      // of code
	table bool        // the code is an aligned table
	path  []container // its containers, from outside
	runs  []run
}

// container is a container: one quote or one list item. The first leaf of an item carries its marker.
type container struct {
	id     int // of this quote or item
	list   int // list of the item, 0 for a quote
	number int // number of an ordered item, otherwise -1
	task   task
	tight  bool // the item's list has no blank lines
}

// task is the state of an item's check box.
type task uint8

const (
	// The states of a check box.
	noTask task = iota
	undone
	done
)

// item reports whether the container is a list item and not a quote.
func (b container) item() bool { return b.list != 0 }

// marker returns the text before an item: its number or a bullet, and its check box.
func (b container) marker() string {
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

// style is a set of text styles.
type style uint8

const (
	// The styles. They can be combined.
	strike style = 1 << iota
	bold
	italic
	mono
)

// nesting returns the order in which styles are opened.
func nesting() [4]style { return [...]style{strike, bold, italic, mono} }

// run is text in one style. Lines end with "\n", without spaces around it. A link is one run without "\n".
type run struct {
	text  string
	style style
	url   string
}

// shared returns how many outer containers two consecutive blocks have in common.
func shared(a, b leaf) int {
	n := 0
	for n < len(a.path) && n < len(b.path) && a.path[n].id == b.path[n].id {
		n++
	}
	return n
}

// between returns the list that decides whether a blank line separates two consecutive blocks, as one of its
// containers. A container without a list means that there is always one.
func between(a, b leaf) container {
	n := shared(a, b)
	if n < len(a.path) && n < len(b.path) && a.path[n].item() && a.path[n].list == b.path[n].list {
		return b.path[n]
	}
	if n > 0 {
		return b.path[n-1]
	}
	return container{}
}

// closeBy reports whether two consecutive blocks have no blank line between them.
func closeBy(a, b leaf) bool {
	l := between(a, b)
	return l.item() && l.tight
}

// settle decides which lists are tight: lists that were written so and can stay so, and lists without a place
// for a blank line.
func (d doc) settle() {
	loose := map[int]bool{}
	// One pair of blocks that needs a blank line makes its whole list loose.
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

// needsBlank reports whether Markdown would read two blocks differently without a blank line between them.
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
	return n < len(a.path) // a quote after a quote or an item
}

// blank reports whether a leaf shows nothing.
func (l leaf) blank() bool {
	shows := func(c rune) bool { return !unicode.IsSpace(c) && !turns(c) }
	return l.kind != rule && !slices.ContainsFunc(l.runs, func(r run) bool { return strings.ContainsFunc(r.text, shows) })
}

// words returns the text of a block without styles.
func (l leaf) words() string {
	var b strings.Builder
	for _, r := range l.runs {
		b.WriteString(r.text)
	}
	return b.String()
}
