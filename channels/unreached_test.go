package channels_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"hob/channels"
	"hob/daemon/netguard"
)

// TestUnreachedBy: the kind of an error says why a server was not reached, its text never does.
func TestUnreachedBy(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("ask: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err})
	}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	for _, c := range []struct {
		err  error
		want channels.Unreached
	}{
		{dial(&net.DNSError{Err: "no such host", IsNotFound: true}), channels.NoWay},
		{dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), channels.NoWay},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), channels.NoWay},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), channels.NoWay},
		{dial(refused), channels.NoServer},
		{&netguard.ProxyError{Proxy: "p.test:1", Err: dial(refused)}, ""},
		{errors.New("the server says: connection refused"), ""},
		{errors.New("no such host"), ""},
		{nil, ""},
	} {
		if got := channels.UnreachedBy(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
