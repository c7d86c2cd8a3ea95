package pattern

import (
	"encoding/binary"
	"math/bits"
)

// Sizes of grams.
const (
	gram     = 3  // bytes per gram
	maxStep  = 16 // positions in a needle with a known gram: the bits of a mask
	gramBits = 12 // bits of a hash
	together = 4  // grams examined at once
)

// grams finds the first of several needles, in any or exact case, without reading most of the text.
// Any stretch as long as the shortest needle minus two contains the first byte of a gram of each
// needle that covers it. So it is enough to look at one gram per stretch; in a text about something
// else such a gram hardly ever belongs to a needle. The idea is from Wu and Manber (A Fast
// Algorithm for Multi-Pattern Searching, 1994), here with a constant step, so that the next grams
// need not wait for the last one.
type grams struct {
	needles []needle
	step    int
	masks   [1 << gramBits]uint16 // by hash of a gram: bit i says that a needle may have the gram at byte i
}

// stepOf returns the step between two grams, or 0 if the needles are too short for this to pay.
func stepOf(needles []needle) int {
	step := maxStep
	for _, n := range needles {
		step = min(step, len(n.text)-gram+1)
	}
	if step < 3 {
		return 0
	}
	return step
}

// newGrams prepares the masks for a set of needles.
func newGrams(needles []needle) *grams {
	step := stepOf(needles)
	g := &grams{needles: needles, step: step}
	for _, n := range needles {
		for i := range step {
			g.masks[hash(uint32(n.text[i])|uint32(n.text[i+1])<<8|uint32(n.text[i+2])<<16)] |= 1 << i
		}
	}
	return g
}

// hash hashes the three low bytes. It treats upper and lower case letters, and some other bytes, as
// equal.
func hash(v uint32) uint32 { return (v & 0xdfdfdf) * 0x9e3779b1 >> (32 - gramBits) }

// find returns the first position of a needle at from or later, or len(text).
func (g *grams) find(text []byte, from int) int {
	step, masks := g.step, &g.masks
	at := from + step - 1
	for at+(together-1)*step+4 <= len(text) {
		// The four look-ups do not depend on each other, so the processor can overlap them.
		a := masks[hash(binary.LittleEndian.Uint32(text[at:]))]
		b := masks[hash(binary.LittleEndian.Uint32(text[at+step:]))]
		c := masks[hash(binary.LittleEndian.Uint32(text[at+2*step:]))]
		d := masks[hash(binary.LittleEndian.Uint32(text[at+3*step:]))]
		if a|b|c|d != 0 {
			for i, mask := range [together]uint16{a, b, c, d} {
				if found := g.occurs(text, at+i*step, mask); found >= 0 {
					return found
				}
			}
		}
		at += together * step
	}
	// The rest is too short for four grams at once.
	for ; at+gram <= len(text); at += step {
		v := uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16
		if found := g.occurs(text, at, masks[hash(v)]); found >= 0 {
			return found
		}
	}
	return len(text)
}

// occurs checks the needles that may have the gram at a position of text, as mask says. It returns
// the first position of one, or -1.
func (g *grams) occurs(text []byte, at int, mask uint16) int {
	for mask != 0 {
		// The highest bit belongs to the earliest position.
		i := bits.Len16(mask) - 1
		mask &^= 1 << i
		for j := range g.needles {
			if g.needles[j].occursAt(text, at-i) {
				return at - i
			}
		}
	}
	return -1
}
