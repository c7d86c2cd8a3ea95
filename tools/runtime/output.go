package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// Sizes of what is held of an output once the first bytes are no longer kept whole. The tail of 50,000 characters needs
// 200,000 bytes at most; together both fit a core's second cache.
const (
	tailSize = 256 << 10
	window   = 128 << 10 // that much of the ring is handed to the reader at a time, and is not looked at meanwhile
	ringSize = tailSize + window
)

// output collects what a command writes in bounded memory: the first bytes up to a limit, and the newest.
// The reader reads straight into where the bytes stay, so that a chatty command costs no copies; others may look meanwhile.
type output struct {
	limit int // bytes kept whole

	mu    sync.Mutex
	first []byte
	ring  []byte        // nil until first is full
	pos   int           // where the next byte of ring goes
	over  int64         // bytes that did not fit into first
	lost  int64         // bytes before first that shrink let go
	news  chan struct{} // closed when bytes come; nil: nobody waits
}

// drain reads r to its end. A deadline that ends the reading is no error, nor is the end of a terminal.
func (o *output) drain(r io.Reader) error {
	for {
		n, err := r.Read(o.space())
		o.took(n)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed), hungUp(err):
			return nil
		default:
			return fmt.Errorf("read the command's output: %w", err)
		}
	}
}

// space is where the next bytes go. Nobody else looks at it before they are taken.
func (o *output) space() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.first) < o.limit {
		if cap(o.first) < o.limit && cap(o.first)-len(o.first) < 32<<10 {
			grown := make([]byte, len(o.first), min(max(4*cap(o.first), 64<<10), o.limit))
			copy(grown, o.first)
			o.first = grown
		}
		return o.first[len(o.first):min(cap(o.first), o.limit)]
	}
	if o.ring == nil {
		o.ring = make([]byte, ringSize)
	}
	return o.ring[o.pos:min(o.pos+window, ringSize)]
}

func (o *output) took(n int) {
	if n == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.first) < o.limit {
		o.first = o.first[:len(o.first)+n]
	} else {
		o.over += int64(n)
		o.pos = (o.pos + n) % ringSize
	}
	if o.news != nil {
		close(o.news)
		o.news = nil
	}
}

// more is closed when the next bytes come.
func (o *output) more() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.news == nil {
		o.news = make(chan struct{})
	}
	return o.news
}

// total is how many bytes came.
func (o *output) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sum()
}

func (o *output) sum() int64 { return o.lost + int64(len(o.first)) + o.over }

// whole is what is kept of the beginning, and how much came in all. It may be looked at once the reading has ended.
func (o *output) whole() (kept []byte, total int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first, o.sum()
}

// newest are the newest bytes that did not fit into first, as far as they are still there, at most n.
func (o *output) newest(n int) []byte {
	n = int(min(int64(n), tailSize, o.over))
	out := make([]byte, 0, n)
	if from := o.pos - n; from < 0 {
		out = append(out, o.ring[ringSize+from:]...)
		return append(out, o.ring[:o.pos]...)
	}
	return append(out, o.ring[o.pos-n:o.pos]...)
}

// last returns up to n of the newest bytes.
func (o *output) last(n int) []byte {
	tail := o.newest(n)
	if o.over > int64(len(tail)) || len(tail) == n {
		return tail
	}
	missing := min(n-len(tail), len(o.first))
	return append(append([]byte(nil), o.first[len(o.first)-missing:]...), tail...)
}

// since returns what came behind the first seen bytes, as far as it is still there: a beginning and, when something was lost
// in between, missed bytes and an end.
func (o *output) since(seen int64) (head []byte, missed int64, tail []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if from := seen - o.lost; from < int64(len(o.first)) {
		missed = max(-from, 0)
		head = append([]byte(nil), o.first[max(from, 0):]...)
		if missed > 0 {
			return nil, missed, append(head, o.newest(tailSize)...)
		}
		seen = o.lost + int64(len(o.first))
	}
	fresh := o.sum() - seen
	tail = o.newest(int(min(fresh, tailSize)))
	if missed = fresh - int64(len(tail)); missed == 0 {
		return append(head, tail...), 0, nil
	}
	return head, missed, tail
}

// shrink lets all go but the newest bytes: an ended command is only asked for its last words.
func (o *output) shrink() {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := o.sum()
	o.first = append([]byte(nil), o.last(tailSize)...)
	o.lost, o.over, o.pos, o.ring = sum-int64(len(o.first)), 0, 0, nil
}

// text is what the model sees: at most keep characters, the head and the tail with a marker in between,
// always valid UTF-8. It reports whether anything was cut.
func (o *output) text(keep int) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over == 0 && utf8.RuneCount(o.first) <= keep {
		return validUTF8(o.first), false
	}
	half := keep / 2
	head := firstBytes(o.first, half)
	tail := lastBytes(o.last(half*utf8.UTFMax), half)
	cut := o.sum() - int64(len(head)) - int64(len(tail))
	if cut <= 0 { // few, but broken characters
		return validUTF8(o.first), false
	}
	return joined(head, cut, tail), true
}
