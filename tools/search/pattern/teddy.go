package pattern

import (
	"encoding/binary"
	"math/bits"
)

// groups is the number of groups of needles: the bits of a byte.
const groups = 8

// tables tell, for each half of each byte of a gram, which groups of needles may have it: bit g stands for group g. Each table holds its
// 16 entries twice, because the instruction looks up 16 bytes in each half of a register.
type tables [2 * gram][32]byte

// teddy finds the first of several needles, in any or exact case, by the instructions that a processor has for 32 bytes at once. It is
// the algorithm of that name in Intel's Hyperscan, with the rarest three bytes of each needle instead of the first three.
type teddy struct {
	tables  tables
	needles []needle
	at      []int // of each needle: the offset of its rarest gram
}

// newTeddy prepares the tables for needles of at least three bytes.
func newTeddy(needles []needle) *teddy {
	d := &teddy{needles: needles}
	for i := range needles {
		n := &needles[i]
		at := n.rarest()
		d.at = append(d.at, at)
		for j, b := range []byte(n.text[at : at+gram]) {
			d.add(j, i%groups, b)
			d.add(j, i%groups, n.capital(b))
		}
	}
	return d
}

// add lets a group have a byte at a position of its grams.
func (d *teddy) add(position, group int, b byte) {
	for _, half := range []int{0, 16} {
		d.tables[2*position][half+int(b&15)] |= 1 << group
		d.tables[2*position+1][half+int(b>>4)] |= 1 << group
	}
}

// find returns a position of a needle at from or later, or len(text). There is no needle in an earlier line.
func (d *teddy) find(text []byte, from int) int {
	var hits [32]byte
	// scan reads 34 bytes at least: 32 positions, and two more bytes for the gram at the last one.
	for from+34 <= len(text) {
		n, found := scan(&text[from], len(text)-from, &d.tables, &hits)
		from += n
		if !found {
			break
		}
		for i := 0; i < len(hits); i += 8 {
			// Eight positions at once: most of them are zero.
			for word := binary.LittleEndian.Uint64(hits[i:]); word != 0; {
				at := bits.TrailingZeros64(word) / 8
				if start := d.occurs(text, from+i+at, hits[i+at]); start >= 0 {
					return start
				}
				word &^= 0xff << (8 * at)
			}
		}
		from += len(hits)
	}
	// The rest is too short for the instructions.
	for ; from+gram <= len(text); from++ {
		if start := d.occurs(text, from, 1<<groups-1); start >= 0 {
			return start
		}
	}
	return len(text)
}

// occurs checks the needles of some groups that may have their gram at a position of text. It returns the start of one, or -1.
func (d *teddy) occurs(text []byte, at int, some byte) int {
	for i := range d.needles {
		if some>>(i%groups)&1 != 0 && d.needles[i].occursAt(text, at-d.at[i]) {
			return at - d.at[i]
		}
	}
	return -1
}
