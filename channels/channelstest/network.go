package channelstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/sys"
)

// Network simulates the network between hob and a platform, with its faults. It is in memory and independent
// of protocols, so that in a bubble of testing/synctest an hour's outage takes no time. A fake listens on it;
// an adapter uses its Env.
type Network struct {
	began time.Time

	mu     sync.Mutex
	away   Outage
	listen map[string]*listener
	lines  []*wire
	dials  []time.Duration // times of connection attempts, since the beginning
	shift  time.Duration   // of the wall clock
	writes int
}

// Outage is the way in which a network fails.
type Outage int

// The outages. Connections that are open when an outage begins become silent.
const (
	Up         Outage = iota
	NoName            // names cannot be resolved
	NoService         // connections are refused
	Nothing           // connection attempts get no answer
	Closes            // connections are accepted, and closed without an answer
	Hangs             // connections are accepted and stay silent
	BadGateway        // every request is answered with 502, like a proxy whose server is gone
	Swallows          // requests arrive, but the connection ends instead of an answer
)

// NewNetwork makes a working network.
func NewNetwork() *Network { return &Network{began: time.Now(), listen: map[string]*listener{}} }

// Listen returns a listener for a server, with its own address.
func (n *Network) Listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := &listener{addr: address(fmt.Sprintf("127.0.0.1:%d", 20_001+len(n.listen))), come: make(chan net.Conn), shut: make(chan struct{})}
	n.listen[string(d.addr)] = d
	return d
}

// Env returns the Env for an adapter on this network: secrets by their references, and no owner.
func (n *Network) Env(t testing.TB, name string, secrets map[string]string) channels.Env {
	tr := &http.Transport{DialContext: n.Dial}
	t.Cleanup(tr.CloseIdleConnections)
	return channels.Env{
		Name: name, HTTP: &http.Client{Transport: tr, Timeout: 30 * time.Second}, Dial: n.Dial, Clock: n.Clock(), Log: slog.New(slog.DiscardHandler),
		Secret: func(ref string) (string, error) {
			if s, ok := secrets[ref]; ok {
				return s, nil
			}
			return "", fmt.Errorf("no secret %s", ref)
		},
	}
}

// Clock returns the clock of hob's machine.
func (n *Network) Clock() sys.Clock {
	return sys.ShiftedClock(func() time.Duration {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.shift
	})
}

// Dial connects to a listener, or fails according to the outage.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	fails := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
	}
	n.mu.Lock()
	n.dials = append(n.dials, time.Since(n.began))
	away, at := n.away, n.listen[addr]
	n.mu.Unlock()
	switch {
	case away == NoName:
		return fails(&net.DNSError{Err: "no such host", Name: addr, IsNotFound: true})
	case away == Nothing:
		<-ctx.Done()
		return fails(ctx.Err())
	case away == NoService || at == nil:
		return fails(syscall.ECONNREFUSED)
	}
	w := newWire(at.addr)
	w.near.wrote = n.wrote
	if away == Closes || away == Hangs || away == BadGateway {
		n.answer(w, away)
		return w.near, nil
	}
	if away == Swallows {
		w.near.in.swallow = true
	}
	select {
	case at.come <- w.far:
	case <-at.shut:
		return fails(syscall.ECONNREFUSED)
	case <-ctx.Done():
		return fails(ctx.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(slices.DeleteFunc(n.lines, (*wire).ended), w)
	if n.away != away {
		w.freeze()
	}
	return w.near, nil
}

// answer takes the place of a server during an outage.
func (n *Network) answer(w *wire, away Outage) {
	n.mu.Lock()
	n.lines = append(slices.DeleteFunc(n.lines, (*wire).ended), w)
	n.mu.Unlock()
	if away == Hangs {
		w.freeze()
		return
	}
	launch(func() {
		_ = w.far.SetReadDeadline(time.Now().Add(time.Second)) // cannot fail; some clients wait for the server to speak first
		_, _ = w.far.Read(make([]byte, 64<<10))
		if away == BadGateway {
			_, _ = io.WriteString(w.far, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		_ = w.far.Close()
	})
}

func (n *Network) wrote() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes++
}

// Dials returns the times of connection attempts, since the beginning.
func (n *Network) Dials() []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dials)
}

// Requests returns how often hob has written something.
func (n *Network) Requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.writes
}

// Open returns the number of open connections.
func (n *Network) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = slices.DeleteFunc(n.lines, (*wire).ended)
	return len(n.lines)
}

// Freeze makes open connections half open: nothing arrives any more, and neither end notices. New connections
// work.
func (n *Network) Freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.lines {
		w.freeze()
	}
}

// Cut breaks all connections in the middle of their traffic.
func (n *Network) Cut() {
	n.mu.Lock()
	lines := n.lines
	n.lines = nil
	n.mu.Unlock()
	for _, w := range lines {
		w.cut()
	}
}

// Away begins an outage, or ends it with Up.
func (n *Network) Away(o Outage) {
	n.mu.Lock()
	n.away = o
	n.mu.Unlock()
	if o != Up {
		n.Freeze()
	}
}

// Sleep simulates a machine that sleeps for d: its timers and its monotonic clock stop, its wall clock
// continues, and its connections become half open.
func (n *Network) Sleep(d time.Duration) {
	n.mu.Lock()
	n.shift += d
	n.mu.Unlock()
	n.Freeze()
}

// listener accepts the connections to one address.
type listener struct {
	addr address
	come chan net.Conn
	once sync.Once
	shut chan struct{}
}

func (d *listener) Accept() (net.Conn, error) {
	select {
	case c := <-d.come:
		return c, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

func (d *listener) Close() error {
	d.once.Do(func() { close(d.shut) })
	return nil
}

func (d *listener) Addr() net.Addr { return d.addr }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// errReset is the error at both ends of a broken connection.
var errReset = errors.New("connection reset by peer")
