package llmtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Dial makes a connection as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Pipe is a network of one host in memory: a listener, and the dialing that leads to it whatever the address. Whoever waits on
// its connections waits durably (testing/synctest): with it the real HTTP client and server run in a bubble, where no timer costs
// real time. It has no buffers: each write waits for its reader. All methods are safe for concurrent use.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}

	mu       sync.Mutex
	shut     bool
	dials    int
	diverted Dial
}

// NewPipe makes a network that nobody serves yet: whoever dials waits for Accept. Close it.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept waits for somebody to connect. After Close it returns net.ErrClosed, wrapped.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, fmt.Errorf("accept: %w", net.ErrClosed)
	}
}

// Close ends the listening; connections stay as they are.
func (p *Pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.shut = true
		close(p.closed)
	}
	return nil
}

// Addr is the host's name and port.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "model.test:80" }

// Connect makes a connection to the listener: once it has accepted.
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
	_, _ = near.Close(), far.Close() // nobody has seen them
	return nil, fmt.Errorf("connect: %w", err)
}

// Divert sets what is done instead of Connect when somebody dials; nil: nothing else. A Dial may fail, wait, lead elsewhere, or
// wrap what Connect has made.
func (p *Pipe) Divert(d Dial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diverted = d
}

// Dials is how often somebody has dialled.
func (p *Pipe) Dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// DialContext is Connect, or what Divert has put in its place.
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

// Transport is the library's usual one, with all its limits of time, but for dialing, which leads here. Close its idle connections.
func (p *Pipe) Transport() *http.Transport {
	t := &http.Transport{}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		t = usual.Clone()
	}
	t.Proxy, t.DialContext = nil, p.DialContext
	return t
}
