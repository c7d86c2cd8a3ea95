package pattern

import "bytes"

// needle is a literal with its rarest byte, which is searched first.
type needle struct {
	text  string
	fold  bool // text is in lower case and matches both cases
	at    int  // offset of the rarest byte in text
	rare  byte
	other byte // the other case of that letter; equal to rare if there is none
	probe probe
}

// probe is a second byte of a needle. Most places of the rarest byte are no needle, and it tells at the cost of one comparison.
type probe struct {
	at   int // offset in text
	want byte
	bits byte // set in both bytes before they are compared: 0x20 makes the cases of a letter equal
}

// newNeedle chooses the byte that is cheapest to search for.
func newNeedle(text string, fold bool) needle {
	n := needle{text: text, fold: fold}
	least := 2.0
	for i := range len(text) {
		b, o := text[i], n.capital(text[i])
		cost := share(b)
		if o != b {
			cost += share(o) + scanCost
		}
		if cost < least {
			least, n.at, n.rare, n.other = cost, i, b, o
		}
	}
	n.probe = n.second()
	return n
}

// capital returns the other case of a letter if the needle matches both, otherwise the byte itself.
func (n *needle) capital(b byte) byte {
	if n.fold && 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

// rarest returns the offset of the three neighbouring bytes that are the rarest.
func (n *needle) rarest() (at int) {
	least := 2.0
	for i := range len(n.text) - gram + 1 {
		product := 1.0
		for _, b := range []byte(n.text[i : i+gram]) {
			product *= share(b)
			if o := n.capital(b); o != b {
				product *= 1 + share(o)/share(b)
			}
		}
		if product < least {
			at, least = i, product
		}
	}
	return at
}

// second chooses the rarest of the other bytes, or the same byte if there is no other.
func (n *needle) second() probe {
	p, least := probe{at: n.at, want: n.text[n.at]}, 2.0
	for i := range len(n.text) {
		if cost := share(n.text[i]); i != n.at && cost < least { // the case hardly matters here
			p.at, p.want, least = i, n.text[i], cost
		}
	}
	if n.fold && 'a' <= p.want && p.want <= 'z' {
		p.bits = 'a' - 'A'
	}
	return p
}

// occursAt reports whether the needle is at a position of text.
func (n *needle) occursAt(text []byte, at int) bool {
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

// single searches for one needle in one text from left to right, and scans nothing twice.
type single struct {
	*needle
	next       int // position of the needle; -1: not searched yet
	low, upper int // the next position of either case of the rarest byte
}

// reset starts a new text.
func (f *single) reset() { f.next, f.low, f.upper = -1, -1, -1 }

// find returns the first position of the needle at from or later, or len(text).
func (f *single) find(text []byte, from int) int {
	if f.next >= from {
		return f.next
	}
	if f.other == f.rare {
		f.next = f.lone(text, from)
	} else {
		f.next = f.double(text, from)
	}
	return f.next
}

// lone searches for a byte without case.
func (f *single) lone(text []byte, from int) int {
	rare, before, probe := f.rare, f.at, f.probe
	probe.at -= before
	for at := from + before; at < len(text); at++ {
		i := bytes.IndexByte(text[at:], rare)
		if i < 0 {
			break
		}
		at += i
		if i := at + probe.at; uint(i) < uint(len(text)) && text[i]|probe.bits == probe.want && f.occursAt(text, at-before) { // #nosec G115 -- a negative one is too large
			return at - before
		}
	}
	return len(text)
}

// double searches for both cases of a letter.
func (f *single) double(text []byte, from int) int {
	probe := f.probe
	probe.at -= f.at
	for at := from + f.at; at < len(text); at++ {
		if f.low < at {
			f.low = place(text, at, f.rare)
		}
		if f.upper < at {
			f.upper = place(text, at, f.other)
		}
		at = min(f.low, f.upper)
		if i := at + probe.at; uint(i) < uint(len(text)) && text[i]|probe.bits == probe.want && f.occursAt(text, at-f.at) { // #nosec G115 -- as above
			return at - f.at
		}
	}
	return len(text)
}

// place returns the position of a byte at from or later, or len(text).
func place(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}
