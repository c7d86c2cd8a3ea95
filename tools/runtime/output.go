package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// Sizes of the ring buffer for output beyond the first bytes. The tail holds 50,000 characters, at
// most 200,000 bytes. Tail and window together fit the second-level cache of a core.
const (
	tailSize = 256 << 10
	window   = 128 << 10 // the part of the ring that the reader writes to; nobody else reads it meanwhile
	ringSize = tailSize + window
)

// output collects the output of a command in bounded memory: the first bytes up to a limit, and the
// newest bytes. The reader writes directly into these buffers, so that a command with much output
// costs no extra copies. Others may read meanwhile.
type output struct {
	limit     int // bytes kept whole
	recording *recording

	mu    sync.Mutex
	first []byte
	ring  []byte        // nil until first is full
	pos   int           // where the next byte of ring goes
	over  int64         // bytes that did not fit into first
	lost  int64         // bytes before first that shrink released
	news  chan struct{} // closed when bytes arrive; nil: nobody waits
}

// drain reads r to its end. A deadline that ends the reading is not an error, nor is the end of a
// terminal.
func (o *output) drain(r io.Reader) error {
	defer o.complete()
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

// space returns the buffer for the next bytes. Nobody reads it before took counts the bytes.
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

// took counts n bytes that were read into space, and wakes the waiting readers.
func (o *output) took(n int) {
	if n == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.first) < o.limit {
		o.first = o.first[:len(o.first)+n]
		o.recording.take(o.first, false)
	} else {
		o.over += int64(n)
		o.pos = (o.pos + n) % ringSize
	}
	if o.news != nil {
		close(o.news)
		o.news = nil
	}
}

// complete hands the rest to the recording.
func (o *output) complete() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recording.take(o.first, true)
	close(o.recording.pieces)
}

// more returns a channel that is closed when the next bytes arrive.
func (o *output) more() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.news == nil {
		o.news = make(chan struct{})
	}
	return o.news
}

// total returns how many bytes arrived.
func (o *output) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sum()
}

// sum is total for callers that hold the lock.
func (o *output) sum() int64 { return o.lost + int64(len(o.first)) + o.over }

// whole returns the bytes kept from the beginning, and the total. Call it only after drain has
// returned.
func (o *output) whole() (kept []byte, total int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first, o.sum()
}

// all returns the output as far as it is kept.
func (o *output) all() string {
	head, _, tail := o.since(0)
	return string(head) + string(tail)
}

// newest returns at most n of the newest bytes in the ring, as far as they are still there.
func (o *output) newest(n int) []byte {
	n = int(min(int64(n), tailSize, o.over))
	out := make([]byte, 0, n)
	if from := o.pos - n; from < 0 {
		out = append(out, o.ring[ringSize+from:]...)
		return append(out, o.ring[:o.pos]...)
	}
	return append(out, o.ring[o.pos-n:o.pos]...)
}

// last returns up to n of the newest bytes, from the ring and, if that is not enough, from first.
func (o *output) last(n int) []byte {
	tail := o.newest(n)
	if o.over > int64(len(tail)) || len(tail) == n {
		return tail
	}
	missing := min(n-len(tail), len(o.first))
	return append(append([]byte(nil), o.first[len(o.first)-missing:]...), tail...)
}

// recent returns the newest lines for a person who looks on, at most n bytes.
func (o *output) recent(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.last(n)
	// A line that is cut could begin in the middle of a character, an escape sequence or a secret.
	if cut := bytes.IndexByte(tail, '\n') + 1; o.sum() > int64(len(tail)) {
		tail = tail[cut:]
	}
	return plainText(validUTF8(tail))
}

// since returns the output after the first seen bytes, as far as it is still there. If bytes in
// between are lost, missed counts them: head came before the gap, tail after it.
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

// shrink releases everything except the newest bytes. An ended command only needs its last output.
func (o *output) shrink() {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := o.sum()
	o.first = append([]byte(nil), o.last(tailSize)...)
	o.lost, o.over, o.pos, o.ring = sum-int64(len(o.first)), 0, 0, nil
}

// text returns the output for the model: at most keep characters, head and tail with a marker in
// between, always valid UTF-8. It reports whether anything was cut.
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
	if cut <= 0 { // few characters, some of them invalid
		return validUTF8(o.first), false
	}
	return joined(head, cut, tail), true
}
