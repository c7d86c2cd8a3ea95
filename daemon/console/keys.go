package console

import (
	"io"
	"sync"
)

// keys passes typed bytes to the line editor. put never blocks, Read waits for bytes.
// It lets the loop decide about each key before the editor sees it. The bytes are not limited: a person types them.
type keys struct {
	mu     sync.Mutex
	more   *sync.Cond
	buf    []byte
	closed bool
}

// newKeys makes an empty buffer.
func newKeys() *keys {
	k := &keys{}
	k.more = sync.NewCond(&k.mu)
	return k
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.buf) == 0 && !k.closed {
		k.more.Wait()
	}
	if len(k.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, k.buf)
	k.buf = k.buf[n:]
	return n, nil
}

// put appends what was typed.
func (k *keys) put(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf = append(k.buf, b...)
	k.more.Signal()
}

// close ends a waiting Read; bytes that were typed before are still read.
func (k *keys) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.more.Broadcast()
}
