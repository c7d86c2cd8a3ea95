package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"hob/daemon/event"
)

// DefaultAddr is the loopback address that is used when none is set. When it is taken, a free port is.
const DefaultAddr = "127.0.0.1:4620"

// maxSocketPath is the longest socket path that every system takes, in bytes (sun_path holds 104 on macOS, 108 on Linux).
const maxSocketPath = 100

// ErrInUse says that somebody answers on the socket already.
var ErrInUse = errors.New("another hob is running for this home")

// Config says where to listen.
type Config struct {
	State string // hob's state folder, absolute; it must exist
	Addr  string // host:port on this machine, "" is DefaultAddr; port 0 is any free one
}

// Server holds the open doors of the API until Serve has ended.
type Server struct {
	state string
	token string
	tcp   net.Listener
	unix  net.Listener // nil where there is no socket
}

// Listen opens the socket and the loopback port, and writes state/token and state/address.
// It returns ErrInUse when another process answers on the socket, and an *event.Fault for an address
// that is not on this machine or is taken.
func Listen(ctx context.Context, c Config) (*Server, error) {
	token, err := keepToken(filepath.Join(c.State, "token"))
	if err != nil {
		return nil, err
	}
	unix, err := listenUnix(ctx, filepath.Join(c.State, "run", "hob.sock"))
	if err != nil {
		return nil, err
	}
	s := &Server{state: c.State, token: token, unix: unix}
	if s.tcp, err = listenTCP(ctx, c.Addr); err == nil {
		err = writeWhole(s.addressFile(), s.Addr()+"\n")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Addr is the bound loopback address, "127.0.0.1:4620".
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Socket is the path of the Unix socket, "" where there is none.
func (s *Server) Socket() string {
	if s.unix == nil {
		return ""
	}
	return s.unix.Addr().String()
}

// Close shuts the doors of a server that is not going to Serve.
func (s *Server) Close() error {
	var errs []error
	for _, l := range []net.Listener{s.tcp, s.unix} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.forget())...)
}

func (s *Server) addressFile() string { return filepath.Join(s.state, "address") }

// forget removes the address file, if it still names this server.
func (s *Server) forget() error {
	b, err := os.ReadFile(s.addressFile())
	if errors.Is(err, os.ErrNotExist) || err == nil && (s.tcp == nil || string(b) != s.Addr()+"\n") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read address: %w", err)
	}
	return os.Remove(s.addressFile())
}

func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	local, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", local)
	if errors.Is(err, syscall.EADDRINUSE) {
		if addr == DefaultAddr {
			return lc.Listen(ctx, "tcp", "127.0.0.1:0")
		}
		return nil, event.NewFault(event.Clash, "choose another one with --listen, or leave it out", "the address %s is taken by another program", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// loopback turns an address into one of this machine, or refuses it.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", event.NewFault(event.Invalid, "for example "+DefaultAddr, "the address %q is not host:port", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		return "", event.NewFault(event.Invalid, "use 127.0.0.1, and a tunnel or a reverse proxy to reach it from elsewhere",
			"the address %q is not on this machine only", addr)
	}
	return net.JoinHostPort(host, port), nil
}

// listenUnix opens the socket for its owner only; nil without an error means that this system has none to offer.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if runtime.GOOS == "windows" || len(path) > maxSocketPath {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the socket's folder: %w", err)
	}
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("guard socket: %w", err), l.Close())
	}
	return l, nil
}

// clearStale removes a socket that nobody answers on. Anything else that stands there stays, and is an error.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return event.NewFault(event.Clash, "move it away", "%s is not a socket", path)
	}
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(ErrInUse, conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return fmt.Errorf("probe socket: %w", err)
}
