package channelstest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// wire is one connection in memory.
type wire struct{ near, far *end }

// end is one end of a wire: it reads from one stream and writes to the other.
type end struct {
	in, out     *stream
	here, there address
	wrote       func() // called for each write; may be nil
}

// stream carries bytes in one direction, without a limit.
type stream struct {
	mu     sync.Mutex
	more   sync.Cond
	data   []byte
	err    error // after data: why nothing more arrives
	shut   bool  // the reader has closed it
	frozen bool
	// swallow ends the stream at the first byte that is written to it.
	swallow bool
	alarm   *time.Timer // wakes the reader at the deadline
	until   time.Time   // deadline for reading; zero for none
}

func newWire(addr address) *wire {
	up, down := newStream(), newStream()
	return &wire{
		near: &end{in: down, out: up, here: "127.0.0.1:1", there: addr},
		far:  &end{in: up, out: down, here: addr, there: "127.0.0.1:1"},
	}
}

func newStream() *stream {
	s := &stream{}
	s.more.L = &s.mu
	return s
}

func (w *wire) streams() []*stream { return []*stream{w.near.in, w.far.in} }

func (w *wire) freeze() {
	for _, s := range w.streams() {
		s.change(func() { s.frozen = true })
	}
}

// cut ends a wire. Neither end of a frozen wire notices.
func (w *wire) cut() {
	for _, s := range w.streams() {
		s.change(func() { s.err, s.data = errReset, nil })
	}
}

// ended reports whether hob closed its end, or the wire was cut.
func (w *wire) ended() bool {
	s := w.near.in
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut || errors.Is(s.err, errReset)
}

func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.more.Broadcast()
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.shut:
			return 0, net.ErrClosed
		case !s.until.IsZero() && !time.Now().Before(s.until):
			return 0, os.ErrDeadlineExceeded
		case !s.frozen && len(s.data) > 0:
			n := copy(b, s.data)
			s.data = s.data[n:]
			return n, nil
		case !s.frozen && s.err != nil:
			return 0, s.err
		}
		s.more.Wait()
	}
}

// write adds bytes. A frozen stream accepts them like a socket whose other end is gone.
func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.frozen:
		return len(b), nil
	case s.swallow:
		s.err, s.swallow = io.EOF, false
		s.more.Broadcast()
		return len(b), nil
	case errors.Is(s.err, io.EOF):
		return 0, net.ErrClosed
	case s.shut || s.err != nil:
		return 0, errReset
	}
	s.data = append(s.data, b...)
	s.more.Broadcast()
	return len(b), nil
}

// deadline sets the end of reading.
func (s *stream) deadline(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.until = at
	if !at.IsZero() {
		s.alarm = time.AfterFunc(time.Until(at), func() { s.change(func() {}) })
	}
	s.more.Broadcast()
}

func (e *end) Read(b []byte) (int, error) { return e.in.read(b) }

func (e *end) Write(b []byte) (int, error) {
	if e.wrote != nil {
		e.wrote()
	}
	return e.out.write(b)
}

// Close ends both directions. The other end can still read what was sent.
func (e *end) Close() error {
	e.in.deadline(time.Time{})
	e.in.change(func() { e.in.shut = true })
	e.out.change(func() {
		if e.out.err == nil {
			e.out.err = io.EOF
		}
	})
	return nil
}

func (e *end) LocalAddr() net.Addr  { return e.here }
func (e *end) RemoteAddr() net.Addr { return e.there }

func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

func (e *end) SetReadDeadline(t time.Time) error {
	e.in.deadline(t)
	return nil
}

// SetWriteDeadline does nothing, because writes never wait.
func (e *end) SetWriteDeadline(time.Time) error { return nil }
