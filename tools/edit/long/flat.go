package long

import (
	"bytes"
	"sort"
)

// Flatten makes LF of every CR LF. It also returns the offsets, in what it returns, of the line breaks that lost their carriage return.
func Flatten(data []byte) ([]byte, []int) {
	flat, cuts := make([]byte, 0, len(data)), []int(nil)
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("\r\n"))
		if i < 0 {
			return append(flat, data[at:]...), cuts
		}
		flat = append(flat, data[at:at+i]...)
		cuts = append(cuts, len(flat))
		at += i + 1
	}
}

// Unflat is the offset, before Flatten, of one behind it.
func Unflat(cuts []int, at int) int { return at + sort.SearchInts(cuts, at) }
