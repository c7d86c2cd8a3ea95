package text

import (
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder converts UTF-16 to UTF-8. Invalid units become the replacement character.
type decoder struct {
	src   io.Reader
	order binary.ByteOrder
	raw   [8 << 10]byte
	have  int    // bytes in raw
	out   []byte // decoded, not yet read
	room  [16 << 10]byte
	err   error
}

// UTF16 returns a reader that converts UTF-16 to UTF-8. It keeps a byte order mark.
func UTF16(src io.Reader, order binary.ByteOrder) io.Reader { return &decoder{src: src, order: order} }

// Read returns decoded text.
func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// fill decodes the next units.
func (d *decoder) fill() {
	n, err := d.src.Read(d.raw[d.have:])
	d.have += n
	d.err = err
	ended := errors.Is(err, io.EOF)
	out, at := d.room[:0], 0
	for at+2 <= d.have {
		r, size := rune(d.order.Uint16(d.raw[at:])), 2
		if utf16.IsSurrogate(r) {
			if at+4 > d.have && !ended {
				break
			}
			r, size = d.pair(r, at)
		}
		out = utf8.AppendRune(out, r)
		at += size
	}
	if ended && at < d.have { // an incomplete unit
		out = utf8.AppendRune(out, utf8.RuneError)
		at = d.have
	}
	d.have = copy(d.raw[:], d.raw[at:d.have])
	d.out = out
}

// pair decodes a surrogate pair. A lone surrogate becomes the replacement character.
func (d *decoder) pair(first rune, at int) (rune, int) {
	if at+4 > d.have {
		return utf8.RuneError, 2
	}
	if r := utf16.DecodeRune(first, rune(d.order.Uint16(d.raw[at+2:]))); r != utf8.RuneError {
		return r, 4
	}
	return utf8.RuneError, 2
}
