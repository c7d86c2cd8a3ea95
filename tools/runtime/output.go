package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// ringSize is how much of the newest output is held once the rest is no longer kept whole. It fits a core's second
// cache; the tail of 50,000 characters needs 200,000 bytes at most.
const ringSize = 256 << 10

// output collects what a command writes in bounded memory: the first bytes up to a limit, and the newest.
// It reads straight into where the bytes stay, so that a chatty command costs no copies.
type output struct {
	limit int // bytes kept whole
	first []byte
	ring  []byte // nil until first is full
	pos   int    // where the next byte of ring goes
	over  int64  // bytes that did not fit into first
}

// drain reads r to its end. A deadline that ends the reading is no error.
func (o *output) drain(r io.Reader) error {
	for {
		n, err := r.Read(o.space())
		o.took(n)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return nil
		default:
			return fmt.Errorf("read the command's output: %w", err)
		}
	}
}

// space is where the next bytes go.
func (o *output) space() []byte {
	if len(o.first) < o.limit {
		if cap(o.first)-len(o.first) < 32<<10 {
			grown := make([]byte, len(o.first), min(max(4*cap(o.first), 64<<10), o.limit))
			copy(grown, o.first)
			o.first = grown
		}
		return o.first[len(o.first):cap(o.first)]
	}
	if o.ring == nil {
		o.ring = make([]byte, ringSize)
	}
	return o.ring[o.pos:]
}

func (o *output) took(n int) {
	if len(o.first) < o.limit {
		o.first = o.first[:len(o.first)+n]
		return
	}
	o.over += int64(n)
	o.pos = (o.pos + n) % ringSize
}

// total is how many bytes came.
func (o *output) total() int64 { return int64(len(o.first)) + o.over }

// last returns up to n of the newest bytes.
func (o *output) last(n int) []byte {
	var newest []byte
	switch {
	case o.over == 0:
	case o.over < ringSize:
		newest = o.ring[:o.pos]
	default:
		newest = append(append([]byte(nil), o.ring[o.pos:]...), o.ring[:o.pos]...)
	}
	if len(newest) < n {
		missing := min(n-len(newest), len(o.first))
		newest = append(append([]byte(nil), o.first[len(o.first)-missing:]...), newest...)
	}
	return newest[len(newest)-min(n, len(newest)):]
}

// text is what the model sees: at most keep characters, the head and the tail with a marker in between,
// always valid UTF-8. It reports whether anything was cut.
func (o *output) text(keep int) (string, bool) {
	if o.over == 0 && utf8.RuneCount(o.first) <= keep {
		return strings.ToValidUTF8(string(o.first), "\uFFFD"), false
	}
	half := keep / 2
	head := firstRunes(o.first, half)
	tail := lastRunes(o.last(half*utf8.UTFMax), half)
	cut := o.total() - int64(len(head)) - int64(len(tail))
	if cut <= 0 { // few, but broken characters
		return strings.ToValidUTF8(string(o.first), "\uFFFD"), false
	}
	return fmt.Sprintf("%s\n… [%s of output cut here] …\n%s", strings.ToValidUTF8(string(head), "\uFFFD"), bytesOf(cut),
		strings.ToValidUTF8(string(tail), "\uFFFD")), true
}

func firstRunes(b []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return b[:end]
}

func lastRunes(b []byte, n int) []byte {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}

func bytesOf(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	default:
		return fmt.Sprintf("%d MB", n>>20)
	}
}
