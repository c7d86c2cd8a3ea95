package netguard_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server on a real UDP socket. Each lookup of a name gets its next answer; the last one repeats.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr // by name, in the order of lookups
	asked   map[string]int            // lookups of IPv4 addresses so far
	at      string
}

// serveNames starts a DNS server and returns it with a resolver that asks only this server.
func serveNames(t testing.TB, answers map[string][][]netip.Addr) (*names, *net.Resolver) {
	t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers, asked: map[string]int{}, at: socket.LocalAddr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve(socket)
	}()
	t.Cleanup(func() {
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return n, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.at)
	}}
}

func (n *names) serve(socket net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		size, from, err := socket.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := n.answer(buf[:size]); out != nil {
			if _, err := socket.WriteTo(out, from); err != nil {
				return
			}
		}
	}
}

// answer makes the reply to one question (RFC 1035 section 4).
func (n *names) answer(raw []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(raw) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	name := q.Name.String()
	all, ok := n.answers[name[:len(name)-1]]
	if !ok {
		reply.RCode = dnsmessage.RCodeNameError
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 0}
	for _, a := range n.next(name, q.Type, all) {
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	out, err := reply.Pack()
	if err != nil {
		return nil
	}
	return out
}

func (n *names) next(name string, kind dnsmessage.Type, all [][]netip.Addr) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.asked[name]
	if kind == dnsmessage.TypeA {
		n.asked[name]++
	}
	if len(all) == 0 {
		return nil
	}
	return all[min(i, len(all)-1)]
}

// lookups returns how often a name's IPv4 address was asked for.
func (n *names) lookups(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name+"."]
}

func addrs(list ...string) []netip.Addr {
	var all []netip.Addr
	for _, s := range list {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}
