package pattern

import (
	"encoding/binary"
	"math/bits"
)

// Sizes of grams.
const (
	gram     = 3  // bytes of a gram
	maxStep  = 16 // places in a needle at which a gram is known: as many as a mask has bits
	gramBits = 12 // of a hash
	together = 4  // grams that are looked at before anything is decided
)

// grams finds the first of several needles, or one in any case, without looking at most of a text. Any stretch of a text as
// long as the shortest needle is, less two, holds the first byte of a gram of each needle that stands over it; so one gram
// in each such stretch is looked at, and in a text about something else it is as good as never one of a needle's.
// This is the idea of Wu and Manber (A Fast Algorithm for Multi-Pattern Searching, 1994), with a step that never changes:
// the next grams do not wait for the last one.
type grams struct {
	needles []needle
	step    int
	masks   [1 << gramBits]uint16 // of a gram's hash: bit i says that a needle may have it at its byte i
}

// stepOf is how far grams of such needles step: 0 when they are too short for it to pay.
func stepOf(texts []string) int {
	step := maxStep
	for _, t := range texts {
		step = min(step, len(t)-gram+1)
	}
	if step < 3 {
		return 0
	}
	return step
}

func newGrams(needles []needle, step int) *grams {
	g := &grams{needles: needles, step: step}
	for _, n := range needles {
		for i := range step {
			g.masks[hash(uint32(n.text[i])|uint32(n.text[i+1])<<8|uint32(n.text[i+2])<<16)] |= 1 << i
		}
	}
	return g
}

// hash takes the three low bytes. Letters of both cases, and some other bytes, are the same to it.
func hash(v uint32) uint32 { return (v & 0xdfdfdf) * 0x9e3779b1 >> (32 - gramBits) }

// find is the first place of a needle at or after from, len(text) when there is none.
func (g *grams) find(text []byte, from int) int {
	step, masks := g.step, &g.masks
	at := from + step - 1
	for at+(together-1)*step+4 <= len(text) {
		a := masks[hash(binary.LittleEndian.Uint32(text[at:]))]
		b := masks[hash(binary.LittleEndian.Uint32(text[at+step:]))]
		c := masks[hash(binary.LittleEndian.Uint32(text[at+2*step:]))]
		d := masks[hash(binary.LittleEndian.Uint32(text[at+3*step:]))]
		if a|b|c|d != 0 {
			for i, mask := range [together]uint16{a, b, c, d} {
				if found := g.stands(text, at+i*step, mask); found >= 0 {
					return found
				}
			}
		}
		at += together * step
	}
	for ; at+gram <= len(text); at += step {
		v := uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16
		if found := g.stands(text, at, masks[hash(v)]); found >= 0 {
			return found
		}
	}
	return len(text)
}

// stands is the first place of a needle that has the gram at a place of text where the mask says it may; -1: none has.
func (g *grams) stands(text []byte, at int, mask uint16) int {
	for mask != 0 {
		i := bits.Len16(mask) - 1
		mask &^= 1 << i
		for j := range g.needles {
			if g.needles[j].stands(text, at-i) {
				return at - i
			}
		}
	}
	return -1
}
