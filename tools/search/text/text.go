// Package text reads a file in blocks of whole lines, with a buffer that is as large as the longest line needs and no
// larger than a bound. It takes UTF-16 and UTF-8 with a byte order mark as ripgrep does, and knows what is not text.
package text

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Sizes in bytes.
const (
	block   = 64 << 10 // read at once
	margin  = 16 << 10 // before it, for the beginning of a line: so reads stay aligned, and copying out of the cache is fast
	opening = 64 << 10 // a NUL in here makes a file binary from the start
	longest = 64 << 20 // a line may be, or the whole of a text
)

// ErrLong is a line, or a text that is wanted whole, of more than 64 MB.
var ErrLong = fmt.Errorf("more than %d MB at once", longest>>20)

// Reader reads one file after the other. It is for one goroutine.
type Reader struct {
	src  io.Reader
	buf  []byte
	from int // where in buf the text begins that was not given out before
	used int // where that begins which was not given out yet
	have int // where what was read ends
	done bool
	next int64 // how much of the file was read
	nul  int64 // where a NUL stands, -1: none seen
}

// Reset begins with another file.
func (r *Reader) Reset(src io.Reader) {
	if len(r.buf) == 0 || len(r.buf) > 4*block {
		r.buf = make([]byte, margin+block)
	}
	r.src, r.from, r.used, r.have, r.done, r.next, r.nul = src, margin, margin, margin, false, 0, -1
}

// Binary says what is known so far: a NUL was met at the very beginning, so that nothing of the file was given out, or
// later, after some lines of it.
func (r *Reader) Binary() (atOnce, later bool) {
	return r.nul >= 0 && r.nul < opening, r.nul >= opening
}

// Next returns the next lines; only the last line of a file may lack its break. They are good until the next call. A file
// ends, with io.EOF, where its text does: at a NUL. Errors: those of the file, ErrLong.
func (r *Reader) Next() ([]byte, error) {
	rest := r.buf[r.used:r.have]
	r.from = max(0, margin-len(rest))
	r.used = r.from
	r.have = r.from + copy(r.buf[r.from:], rest)
	for !r.done {
		if r.have < len(r.buf) {
			if err := r.fill(); err != nil {
				return nil, err
			}
			continue
		}
		if end := bytes.LastIndexByte(r.buf[r.from:], '\n') + 1; end > 0 {
			r.used = r.from + end
			return r.buf[r.from:r.used], nil
		}
		if !r.grow() {
			return nil, ErrLong
		}
	}
	if r.have == r.from {
		return nil, io.EOF
	}
	r.used = r.have
	return r.buf[r.from:r.have], nil
}

// Whole returns all of a text at once. Errors: as Next.
func (r *Reader) Whole() ([]byte, error) {
	for !r.done {
		if r.have == len(r.buf) && !r.grow() {
			return nil, ErrLong
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	r.used = r.have
	if r.nul >= 0 {
		return nil, io.EOF
	}
	return r.buf[r.from:r.have], nil
}

func (r *Reader) grow() bool {
	if len(r.buf) >= margin+longest {
		return false
	}
	larger := make([]byte, min(2*len(r.buf), margin+longest))
	copy(larger, r.buf[:r.have])
	r.buf = larger
	return true
}

// fill reads once.
func (r *Reader) fill() error {
	n, err := r.src.Read(r.buf[r.have:])
	fresh := r.buf[r.have : r.have+n]
	if r.next == 0 && n > 0 {
		plain := r.src
		if fresh = r.mark(fresh); r.src != plain {
			err = nil // the end of the file is the decoder's to tell
		}
	}
	start := r.next
	r.next += int64(len(fresh))
	if i := bytes.IndexByte(fresh, 0); i >= 0 {
		r.nul = start + int64(i)
		fresh, err = fresh[:r.before(start)], io.EOF
	}
	r.have += len(fresh)
	if errors.Is(err, io.EOF) {
		r.done = true
		return nil
	}
	return err
}

// before is how much of what was read, from offset start on, stands before a NUL and counts as text: the whole lines of
// the stretches of 64 KB before the one with the NUL, as ripgrep has it.
func (r *Reader) before(start int64) int {
	room := max(r.from, r.have+int(r.nul/opening*opening-start))
	end := r.from + bytes.LastIndexByte(r.buf[r.from:room], '\n') + 1
	if end < r.have {
		r.have = end
		return 0
	}
	return end - r.have
}

// mark takes a byte order mark off; after one of UTF-16 the rest of the file is decoded. It returns what there is of the
// text, where the first bytes of it were read to.
func (r *Reader) mark(fresh []byte) []byte {
	for len(fresh) < 3 { // a short read: the mark may be cut
		n, err := r.src.Read(r.buf[r.have+len(fresh):])
		fresh = r.buf[r.have : r.have+len(fresh)+n]
		if err != nil || n == 0 {
			break
		}
	}
	switch {
	case bytes.HasPrefix(fresh, []byte("\xef\xbb\xbf")):
		return fresh[:copy(fresh, fresh[3:])]
	case bytes.HasPrefix(fresh, []byte("\xff\xfe")):
		return r.decode(fresh[2:], binary.LittleEndian)
	case bytes.HasPrefix(fresh, []byte("\xfe\xff")):
		return r.decode(fresh[2:], binary.BigEndian)
	}
	return fresh
}

// decode puts a decoder between the file and the buffer.
func (r *Reader) decode(rest []byte, order binary.ByteOrder) []byte {
	r.src = UTF16(io.MultiReader(bytes.NewReader(bytes.Clone(rest)), r.src), order)
	n, err := io.ReadAtLeast(r.src, r.buf[r.have:], 1)
	if err != nil && !errors.Is(err, io.EOF) {
		r.src = failing{err}
	}
	return r.buf[r.have : r.have+n]
}

// failing gives an error that was met too early once more.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
