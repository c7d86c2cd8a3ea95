package pattern

import "bytes"

// needle is a literal with the byte of it that is looked for first: the rarest.
type needle struct {
	text  string
	fold  bool // text is in lower case and stands for both
	at    int  // where the rarest byte stands in text
	rare  byte
	other byte // the same letter's other case; rare itself when there is none
}

func newNeedle(text string, fold bool) needle {
	n := needle{text: text, fold: fold}
	least := 2.0
	for i := range len(text) {
		b, o := text[i], text[i]
		if fold && 'a' <= b && b <= 'z' {
			o = b - 'a' + 'A'
		}
		cost := share(b)
		if o != b {
			cost += share(o) + scanCost
		}
		if cost < least {
			least, n.at, n.rare, n.other = cost, i, b, o
		}
	}
	return n
}

// at reports whether the needle stands at a place of text.
func (n *needle) stands(text []byte, at int) bool {
	if at < 0 || at+len(n.text) > len(text) {
		return false
	}
	if !n.fold {
		return string(text[at:at+len(n.text)]) == n.text
	}
	for i, b := range text[at : at+len(n.text)] {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != n.text[i] {
			return false
		}
	}
	return true
}

// finder looks for a needle in one text, from left to right, and scans nothing twice.
type finder struct {
	*needle
	next       int // where the needle stands; -1: not looked for yet
	low, upper int // the next place of either case of the rarest byte
}

// reset begins with another text.
func (f *finder) reset() { f.next, f.low, f.upper = -1, -1, -1 }

// find is the first place of the needle at or after from, len(text) when there is none.
func (f *finder) find(text []byte, from int) int {
	if f.next >= from {
		return f.next
	}
	if f.other == f.rare {
		f.next = f.single(text, from)
	} else {
		f.next = f.double(text, from)
	}
	return f.next
}

func (f *finder) single(text []byte, from int) int {
	rare, before, last, first, any := f.rare, f.at, len(f.text)-1-f.at, f.text[0], f.fold
	for at := from + before; at < len(text); at++ {
		i := bytes.IndexByte(text[at:], rare)
		if i < 0 {
			break
		}
		at += i
		if at+last < len(text) && at >= before && (any || text[at-before] == first) && f.stands(text, at-before) {
			return at - before
		}
	}
	return len(text)
}

func (f *finder) double(text []byte, from int) int {
	for at := from + f.at; at < len(text); at++ {
		if f.low < at {
			f.low = place(text, at, f.rare)
		}
		if f.upper < at {
			f.upper = place(text, at, f.other)
		}
		if at = min(f.low, f.upper); f.stands(text, at-f.at) {
			return at - f.at
		}
	}
	return len(text)
}

// place is where a byte stands at or after from, len(text) when nowhere.
func place(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}
