package long

import (
	"bytes"
	"sort"
)

// Flatten replaces every CR LF by LF. It also returns the offsets, in the result, of the line
// breaks that lost their carriage return.
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

// Unflat converts an offset in the result of Flatten to one in the original.
func Unflat(cuts []int, at int) int { return at + sort.SearchInts(cuts, at) }
