package channels

import (
	"errors"
	"net"
	"syscall"

	"hob/daemon/netguard"
)

// Unreached says why a channel's server was not reached.
type Unreached string

// The reasons. "" stands for every other fault.
const (
	NoWay    Unreached = "no_way"    // its name has no address, or no network leads to it
	NoServer Unreached = "no_server" // nothing listens at its address
)

// UnreachedBy classifies the error of a test. An error of the way through a proxy names the proxy, and has no reason: the address in it may be the proxy's.
func UnreachedBy(err error) Unreached {
	_, isProxy := errors.AsType[*netguard.ProxyError](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isProxy:
		return ""
	case isDNS && !dns.IsTimeout, errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return NoWay
	case errors.Is(err, syscall.ECONNREFUSED):
		return NoServer
	}
	return ""
}
