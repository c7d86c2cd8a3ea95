package edit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sort"

	"hob/daemon/sys"
)

// errMany says that a text occurs more often than the caller allows.
var errMany = errors.New("too many places")

// errDone ends a walk through the windows early.
var errDone = errors.New("nothing more to see")

// Find returns every occurrence of old, including overlapping ones; errMany if there are more than
// most.
func (t *longText) Find(ctx context.Context, old []byte, most int) ([]span, error) {
	var found []span
	lines := 0
	rare := -1
	err := t.windows(ctx, len(old)-1, func(at int64, data []byte, n int) (int, error) {
		if rare < 0 {
			rare = rarest(data[:min(len(data), 64<<10)], old)
		}
		first := len(found) == 0
		for i := index(data, old, rare, 0); i >= 0; i = index(data, old, rare, i+1) {
			found = append(found, span{at + int64(i), at + int64(i+len(old))})
			if len(found) > most {
				return 0, errMany
			}
		}
		// Remember the line number of the first place: the diff will need it.
		if first && len(found) > 0 {
			t.note(found[0].From, lines+newlines(data[:found[0].From-at]))
		} else if first {
			lines += newlines(data[:n])
		}
		return n, nil
	})
	return found, err
}

// rarest returns the offset in old of the byte that is rarest in a sample. A search for that byte
// is faster than one for the first.
func rarest(sample, old []byte) int {
	var often [256]int
	for _, c := range sample {
		often[c]++
	}
	best := 0
	for i, c := range old {
		if often[c] < often[old[best]] {
			best = i
		}
	}
	return best
}

// index returns the first occurrence of old in data at from or later, or -1. rare is the result of
// rarest.
func index(data, old []byte, rare, from int) int {
	for at := from + rare; at < len(data); at++ {
		i := bytes.IndexByte(data[at:], old[rare])
		if i < 0 {
			return -1
		}
		at += i
		if begin := at - rare; bytes.HasPrefix(data[begin:], old) {
			return begin
		}
	}
	return -1
}

// FindFlat is Find with every CR LF read as LF; old contains no CR LF. The spans refer to the
// original text.
func (t *longText) FindFlat(ctx context.Context, old []byte, most int) ([]span, error) {
	var found []span
	overlap := len(old) + newlines(old) + 1
	err := t.windows(ctx, overlap, func(at int64, data []byte, n int) (int, error) {
		if n < len(data) && data[n-1] == '\r' && n > 1 {
			n-- // the next window starts with the complete CR LF
		}
		flat, cuts := flattenCuts(data)
		for from := 0; ; {
			i := bytes.Index(flat[from:], old)
			if i < 0 {
				return n, nil
			}
			from += i
			begin, end := unflat(cuts, from), unflat(cuts, from+len(old))
			if begin >= n {
				return n, nil
			}
			found = append(found, span{at + int64(begin), at + int64(end)})
			if len(found) > most {
				return 0, errMany
			}
			from++
		}
	})
	return found, err
}

// windows passes a text to look piece by piece. data starts at the offset at, and look handles its
// first n bytes. Up to overlap more bytes follow, to complete what starts in the window. look
// returns how many bytes it has handled: n or slightly fewer, at least one.
func (t *longText) windows(ctx context.Context, overlap int, look func(at int64, data []byte, n int) (int, error)) error {
	buf := make([]byte, window+overlap)
	have, size := 0, t.Size()
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := t.ReadAt(buf[have:min(int64(len(buf)), size-at)], at+int64(have))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		have += got
		done, err := look(at, buf[:have], min(window, have))
		if err != nil {
			return err
		}
		have = copy(buf, buf[done:have])
		at += int64(done)
	}
	return nil
}

// Lines returns how many lines end before each of some ascending offsets.
func (t *longText) Lines(ctx context.Context, offs ...int64) ([]int, error) {
	if back := t.known.at - offs[0]; len(offs) == 1 && !t.Changed() && back >= 0 && back <= 4*window {
		data, err := t.Part(span{offs[0], t.known.at})
		return []int{t.known.lines - newlines(data)}, err
	}
	lines, n := make([]int, 0, len(offs)), 0
	err := t.windows(ctx, 0, func(at int64, data []byte, _ int) (int, error) {
		for len(lines) < len(offs) && offs[len(lines)] <= at+int64(len(data)) {
			lines = append(lines, n+newlines(data[:offs[len(lines)]-at]))
		}
		if len(lines) == len(offs) {
			return 0, errDone
		}
		n += newlines(data)
		return len(data), nil
	})
	return lines, sys.Except(err, errDone)
}

// flattenCuts replaces every CR LF by LF. It also returns the offsets, in the result, of the line
// breaks that lost their carriage return.
func flattenCuts(data []byte) ([]byte, []int) {
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

// unflat converts an offset in the result of Flatten to one in the original.
func unflat(cuts []int, at int) int { return at + sort.SearchInts(cuts, at) }
