package web_test

import (
	"context"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// localNames is a resolver that asks a name server of the test's, on a real UDP socket, for which example.com is this machine and
// nobody else is there.
func localNames(t *testing.T) *net.Resolver {
	t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err := socket.WriteTo(nameAnswer(buf[:n]), from); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

func nameAnswer(raw []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(raw) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	switch {
	case q.Name.String() != "example.com.":
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		reply.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
	}
	out, err := reply.Pack()
	if err != nil {
		return nil
	}
	return out
}
