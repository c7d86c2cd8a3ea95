package llmtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Dial connects as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Pipe is an in-memory network with one host: a listener, and a dialer that connects to it for every address. Goroutines that wait on
// its connections block durably in the sense of testing/synctest, so the real HTTP client and server run in a bubble, where timers cost no
// real time. Connections have no buffers: each write waits for its reader. All methods are safe for concurrent use.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}

	mu       sync.Mutex
	shut     bool
	dials    int
	diverted Dial
}

// NewPipe returns a network without a server yet: dialing waits for Accept. Close it.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept waits for a connection. After Close it returns net.ErrClosed, wrapped.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	}
}

// Close ends listening. Open connections stay.
func (p *Pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.shut = true
		close(p.closed)
	}
	return nil
}

// Addr returns the host's name and port.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "model.test:80" }

// Connect connects to the listener and returns once it has accepted.
func (p *Pipe) Connect(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	var err error
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_, _ = near.Close(), far.Close() // nobody has used them
	return nil, fmt.Errorf("connect: %w", err)
}

// Divert replaces Connect for every dial; nil restores it. A Dial may fail, wait, lead elsewhere, or wrap what Connect returned.
func (p *Pipe) Divert(d Dial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diverted = d
}

// Dials returns the number of dials so far.
func (p *Pipe) Dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// DialContext is Connect, or its replacement set with Divert.
func (p *Pipe) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	d := p.diverted
	p.mu.Unlock()
	if d != nil {
		return d(ctx, network, address)
	}
	return p.Connect(ctx)
}

// Transport returns a transport like http.DefaultTransport, with its timeouts, that dials this network without a proxy. Close its idle
// connections.
func (p *Pipe) Transport() *http.Transport {
	t := &http.Transport{}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		t = usual.Clone()
	}
	t.Proxy, t.DialContext = nil, p.DialContext
	return t
}
