package pattern

import (
	"regexp/syntax"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// classes groups the runes that a program cannot distinguish. Class 0 is the line break.
type classes struct {
	ascii  [256]uint8 // class of a byte; wide for bytes of runes above 0x7f
	wide   uint8
	starts []rune   // starts of the ranges of runes, ascending, the first at 0
	of     []uint16 // class of each range
	sample []rune   // one rune of each class
}

// newClasses splits the runes wherever an instruction of the program may decide differently, and
// merges the ranges that all instructions treat alike.
func newClasses(p *syntax.Prog) *classes {
	// These cuts are the borders of the line break, of the word characters and of ASCII.
	cuts := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, utf8.RuneSelf}
	var readers []*syntax.Inst
	for i := range p.Inst {
		if in := &p.Inst[i]; reads(in) {
			readers = append(readers, in)
			cuts = append(cuts, edges(in)...)
		}
	}
	slices.Sort(cuts)
	c := &classes{starts: slices.Compact(cuts)}
	known := map[string]uint16{}
	c.add(known, verdict(readers, '\n'), '\n')
	for _, r := range c.starts {
		c.of = append(c.of, c.add(known, verdict(readers, r), r))
	}
	c.wide = 0xff
	for b := range c.ascii {
		c.ascii[b] = c.wide
		if b < utf8.RuneSelf {
			c.ascii[b] = uint8(c.class(rune(b))) //nolint:gosec // 128 runes have at most 128 classes, and come first
		}
	}
	return c
}

// add returns the class for a verdict, and creates it if necessary.
func (c *classes) add(known map[string]uint16, verdict string, r rune) uint16 {
	id, ok := known[verdict]
	if !ok {
		id = uint16(len(c.sample)) //nolint:gosec // bounded by the number of stretches
		known[verdict] = id
		c.sample = append(c.sample, r)
	}
	return id
}

// class returns the class of a rune.
func (c *classes) class(r rune) uint16 {
	return c.of[sort.Search(len(c.starts), func(i int) bool { return c.starts[i] > r })-1]
}

// verdict encodes how all instructions, and the assertions about words and lines, treat a rune.
func verdict(readers []*syntax.Inst, r rune) string {
	var b strings.Builder
	b.WriteByte(byte(kindOf(r)))
	for _, in := range readers {
		if takes(in, r) {
			b.WriteByte(1)
		} else {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// reads reports whether an instruction consumes a rune.
func reads(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// takes reports whether an instruction accepts a rune.
func takes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

// edges returns the runes where the decision of an instruction may change.
func edges(in *syntax.Inst) []rune {
	if in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL {
		return nil
	}
	if len(in.Rune) != 1 {
		// The runes are pairs of the first and the last rune of a range. A new range begins after the last one.
		list := slices.Clone(in.Rune)
		for i := 1; i < len(list); i += 2 {
			list[i]++
		}
		return list
	}
	first := in.Rune[0]
	list := []rune{first, first + 1}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 { //nolint:gosec // as the standard package reads it
		for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
			list = append(list, r, r+1)
		}
	}
	return list
}

// kind classifies a rune next to an assertion.
type kind uint8

const (
	plainRune kind = iota
	wordRune
	lineBreak
	textEdge // the beginning or the end of the text
)

// kindOf returns the kind of a rune.
func kindOf(r rune) kind {
	switch {
	case r == '\n':
		return lineBreak
	case syntax.IsWordChar(r):
		return wordRune
	}
	return plainRune
}
