package channelstest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// web is the HTTP server of a fake.
type web struct {
	srv  *httptest.Server
	quit chan struct{} // closed when the fake ends
}

// listen opens an address for a fake, "" for any free port on the loopback interface.
func listen(addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for a fake: %w", err)
	}
	return l, nil
}

// serveOn serves until Close.
func (w *web) serveOn(l net.Listener, serve http.HandlerFunc) {
	w.quit = make(chan struct{})
	w.srv = &httptest.Server{Listener: l, Config: &http.Server{Handler: serve, ReadHeaderTimeout: time.Minute}}
	w.srv.Start()
}

// URL returns the fake's address.
func (w *web) URL() string { return w.srv.URL }

// Drop closes all connections, like a server that restarts.
func (w *web) Drop() { w.srv.CloseClientConnections() }

// Close ends all calls and the server.
func (w *web) Close() {
	close(w.quit)
	w.srv.CloseClientConnections()
	w.srv.Close()
}

// script holds the faults for the next calls of a fake, by method, and counts the calls. The zero script is
// ready.
type script[F any] struct {
	lock   sync.Mutex
	faults map[string][]F
	calls  map[string]int
}

// Fail scripts the next calls of a method, one fault each; the zero fault means success.
func (s *script[F]) Fail(method string, faults ...F) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.faults == nil {
		s.faults = map[string][]F{}
	}
	s.faults[method] = append(s.faults[method], faults...)
}

// Calls returns how often a method was called.
func (s *script[F]) Calls(method string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.calls[method]
}

// fault takes the next fault of a method, and counts the call.
func (s *script[F]) fault(method string) (next F) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[method]++
	if list := s.faults[method]; len(list) > 0 {
		next, s.faults[method] = list[0], list[1:]
	}
	return next
}

// scripted reports whether a fault is waiting for a method's next call.
func (s *script[F]) scripted(method string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.faults[method]) > 0
}

// sentLog records what was sent, in order, including messages whose answer was lost. The zero sentLog is ready.
type sentLog[T any] struct {
	page    sync.Mutex
	entries []T
}

func (l *sentLog[T]) enter(e T) {
	l.page.Lock()
	defer l.page.Unlock()
	l.entries = append(l.entries, e)
}

// Sent returns what was sent so far, in order, including messages whose answer was lost.
func (l *sentLog[T]) Sent() []T {
	l.page.Lock()
	defer l.page.Unlock()
	return slices.Clone(l.entries)
}

// awaits waits until ok is true, or ctx ends. It checks less and less often.
func awaits(ctx context.Context, ok func() bool) {
	for nap := time.Millisecond; ctx.Err() == nil && !ok(); nap = min(nap+nap/4+time.Microsecond, 200*time.Millisecond) {
		timer := time.NewTimer(nap)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
