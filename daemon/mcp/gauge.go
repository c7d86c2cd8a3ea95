package mcp

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"hob/daemon/sys"
)

// gauge is a reader that fails when more comes than a server may send.
type gauge struct {
	io.ReadCloser
	clock sys.Clock
	burst float64 // bytes that may come at once

	mu   sync.Mutex
	left float64
	last time.Duration
	eof  bool
	err  error
}

func newGauge(r io.ReadCloser, s *Service) *gauge {
	return &gauge{ReadCloser: r, clock: s.Clock, burst: float64(s.Limits.Burst), left: float64(s.Limits.Burst), last: s.Clock.Mono()}
}

// Read reads within the limit.
func (g *gauge) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if over := g.take(n); over != nil {
		return 0, over
	}
	if err != nil {
		g.mu.Lock()
		g.eof = true
		g.mu.Unlock()
	}
	return n, err
}

// atEnd reports whether nothing more can come.
func (g *gauge) atEnd() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.eof
}

// take counts n bytes.
func (g *gauge) take(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Mono()
	g.left = min(g.left+(now-g.last).Seconds()*g.burst/32, g.burst) - float64(n)
	if g.last = now; g.left < 0 && g.err == nil {
		g.err = fmt.Errorf("%w: more than %d MB at once", errFlood, int(g.burst)>>20)
	}
	return g.err
}

// tooLarge is the error of an answer of more bytes than it may have.
func tooLarge(frame int) error {
	return fmt.Errorf("%w: an answer of more than %d MB", errFlood, frame>>20)
}

// stop makes every further read fail.
func (g *gauge) stop(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

func (g *gauge) fault() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// patient is the stdin of a program. A program that does not read it is ended: what waits to be written takes memory.
type patient struct {
	io.WriteCloser
	most    time.Duration // that one write may take
	late    func(error)   // is called when one takes longer
	writing atomic.Int32
}

// Write writes a message.
func (p *patient) Write(b []byte) (int, error) {
	p.writing.Add(1)
	defer p.writing.Add(-1)
	defer time.AfterFunc(p.most, func() { p.late(fmt.Errorf("it has not read for %s what hob sends", p.most)) }).Stop()
	return p.WriteCloser.Write(b)
}
