package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Sizes in bytes.
const (
	block   = 64 << 10 // size of one read
	margin  = 16 << 10 // space before a block for the beginning of a line, so that reads stay aligned
	opening = 64 << 10 // a NUL in this part makes the whole file binary
	longest = 64 << 20 // maximum of a line, or of a text read as a whole
)

// ErrLong says that a line, or a text that is read as a whole, has more than 64 MB.
var ErrLong = fmt.Errorf("more than %d MB at once", longest>>20)

// Reader reads files one after the other, in blocks of whole lines. Its buffer grows with the longest line,
// up to a limit. It decodes files in other encodings than UTF-8 (Detect), and detects binary files like ripgrep.
// A Reader is for one goroutine.
type Reader struct {
	src  io.Reader
	buf  []byte
	from int // start of the current lines in buf
	used int // end of the lines already returned
	have int // end of the data in buf
	done bool
	next int64 // bytes of the file read so far
	nul  int64 // offset of the first NUL; -1: none so far

	Encoding Encoding // of the file, by its beginning
}

// Reset starts a new file.
func (r *Reader) Reset(src io.Reader) {
	if len(r.buf) == 0 || len(r.buf) > 4*block {
		r.buf = make([]byte, margin+block)
	}
	r.src, r.from, r.used, r.have, r.done, r.next, r.nul, r.Encoding = src, margin, margin, margin, false, 0, -1, Encoding{}
}

// Binary reports what is known so far about a NUL: one in the opening, so that Next returned
// nothing of the file, or a later one, after some lines.
func (r *Reader) Binary() (atOnce, later bool) {
	return r.nul >= 0 && r.nul < opening, r.nul >= opening
}

// Next returns the next lines. Only the last line of a file may lack its line break. The slice is
// valid until the next call. The text ends, with io.EOF, at the end of the file or at a NUL.
// Errors: those of the file, ErrLong.
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

// Whole returns the complete text. Errors: as for Next.
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

// grow doubles the buffer; false if the limit is reached.
func (r *Reader) grow() bool {
	if len(r.buf) >= margin+longest {
		return false
	}
	larger := make([]byte, min(2*len(r.buf), margin+longest))
	copy(larger, r.buf[:r.have])
	r.buf = larger
	return true
}

// fill makes one read.
func (r *Reader) fill() error {
	n, err := r.src.Read(r.buf[r.have:])
	fresh := r.buf[r.have : r.have+n]
	if r.next == 0 && n > 0 && r.Encoding.UTF8() {
		if fresh = r.mark(fresh); !r.Encoding.UTF8() {
			return nil // from now on the decoder reports the end of the file
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

// before returns how many of the bytes read since offset start come before a NUL and count as text.
// Like ripgrep it counts the whole lines in the 64 KB stretches before the one with the NUL.
func (r *Reader) before(start int64) int {
	room := max(r.from, r.have+int(r.nul/opening*opening-start))
	end := r.from + bytes.LastIndexByte(r.buf[r.from:room], '\n') + 1
	if end < r.have {
		r.have = end
		return 0
	}
	return end - r.have
}

// mark removes a byte order mark, and detects the encoding of the file by its beginning. Unless that is UTF-8, it starts to decode the file,
// and returns nothing of it.
func (r *Reader) mark(fresh []byte) []byte {
	ended := false
	for len(fresh) < block && !ended { // a short read is no sample
		n, err := r.src.Read(r.buf[r.have+len(fresh):])
		fresh = r.buf[r.have : r.have+len(fresh)+n]
		ended = err != nil || n == 0
	}
	e, ok := Detect(fresh, ended)
	if !ok || e.UTF8() {
		rest := bytes.TrimPrefix(fresh, []byte(markUTF8))
		return fresh[:copy(fresh, rest)]
	}
	r.Encoding = e
	r.src = e.Reader(io.MultiReader(bytes.NewReader(bytes.Clone(fresh)), r.src))
	return nil
}
