package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/daemon/event"
)

// DefaultAddr is the default loopback address. If it is taken, a free port is used, and used again at later starts while it is free, because
// others have been given addresses with it.
const DefaultAddr = "127.0.0.1:4620"

// maxSocketPath is the longest socket path that every system takes, in bytes (sun_path holds 104 on macOS, 108 on Linux).
const maxSocketPath = 100

// SocketVariable names another place for the socket. The unit of a system-wide service sets it, so that those of the
// service's group can reach a hob whose home they may not enter.
const SocketVariable = "HOB_SOCKET"

// ErrInUse means that another process answers on the socket.
var ErrInUse = errors.New("another hob is running for this home")

// Config holds the places to listen at.
type Config struct {
	State string // hob's state folder, absolute; it must exist
	Addr  string // host:port on this machine, port 0 is any free one; "" is the address of the last start or DefaultAddr, or any free port when that is taken
}

// Server holds the open endpoints of the API until Serve has ended.
type Server struct {
	state string
	token string
	tcp   net.Listener
	unix  net.Listener // nil where there is no socket
	taken string
}

// Listen opens the socket and the loopback port, and writes state/token and state/address. It returns ErrInUse
// when another process answers on the socket, and an *event.Fault for an address that was asked for and cannot
// be had. Clients find the daemon through these files: the socket if the state folder has one, else the address
// with the token.
func Listen(ctx context.Context, c Config) (*Server, error) {
	token, err := keepToken(filepath.Join(c.State, "token"))
	if err != nil {
		return nil, err
	}
	// The socket comes first: if it is in use, another hob serves this home, and no port is opened.
	unix, err := listenSocket(ctx, c.State)
	if err != nil {
		return nil, err
	}
	s := &Server{state: c.State, token: token, unix: unix}
	// The address file is written last, so that it never names a port that is not open.
	if s.tcp, s.taken, err = listenTCP(ctx, c); err == nil {
		// It does not wait for the disk: after a power failure no hob runs at this address.
		err = writeWhole(s.addressFile(), s.Addr()+"\n", func(*os.File) error { return nil })
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Addr is the bound loopback address, "127.0.0.1:4620".
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Taken returns the usual address if another program has it, so that another port was chosen; "": it was free, or the config names one.
func (s *Server) Taken() string { return s.taken }

// Socket is the path of the Unix socket, "" where there is none.
func (s *Server) Socket() string {
	if s.unix == nil {
		return ""
	}
	return s.unix.Addr().String()
}

// Close closes the endpoints of a server that is not going to Serve.
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

// addressFile is where clients read the port.
func (s *Server) addressFile() string { return filepath.Join(s.state, "address") }

// forget removes the address file, if it still names this server. Another daemon may have written the file
// since; its entry stays.
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

// listenTCP opens the port. taken is the usual address if it was not free, and another one was chosen.
func listenTCP(ctx context.Context, c Config) (l net.Listener, taken string, err error) {
	var lc net.ListenConfig
	if c.Addr != "" {
		local, err := loopback(c.Addr)
		if err != nil {
			return nil, "", err
		}
		if l, err = lc.Listen(ctx, "tcp", local); err != nil {
			return nil, "", addressFault(c.Addr, err)
		}
		return l, "", nil
	}
	kept, usual := filepath.Join(c.State, "port"), DefaultAddr
	if b, err := os.ReadFile(kept); err == nil { // without it, or with something else in it, the default one is the usual one
		if last, err := loopback(strings.TrimSpace(string(b))); err == nil {
			usual = last
		}
	}
	for _, addr := range []string{usual, DefaultAddr, "127.0.0.1:0"} {
		if l, err = lc.Listen(ctx, "tcp", addr); err == nil {
			break
		}
		taken = usual
	}
	if err != nil {
		return nil, "", fmt.Errorf("listen on %s: %w", usual, err)
	}
	if taken != "" {
		err = writeWhole(kept, l.Addr().String()+"\n", func(*os.File) error { return nil })
	}
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return l, taken, nil
}

// addressFault explains why a configured address is not available.
func addressFault(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &event.Fault{Kind: event.Clash, Text: "the address " + addr + " is taken by another program", Hint: "choose another one with --listen or [web] listen", Err: err}
	case errors.Is(err, os.ErrPermission):
		return &event.Fault{Kind: event.Invalid, Text: "the address " + addr + " may not be used", Hint: "ports below 1024 belong to the system: choose a higher one", Err: err}
	}
	return &event.Fault{Kind: event.Invalid, Text: "the address " + addr + " cannot be used: " + err.Error(), Hint: "for example " + DefaultAddr, Err: err}
}

// loopback turns an address into one of this machine, or refuses it.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", event.NewFault(event.Invalid, "for example "+DefaultAddr, "the address %q is not host:port", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", event.NewFault(event.Invalid, "for example "+DefaultAddr+"; port 0 is any free one", "the address %q has no port from 0 to 65535", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	// Other names are refused: what a name means can change.
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		return "", event.NewFault(event.Invalid, "use 127.0.0.1, and a tunnel or a reverse proxy to reach it from elsewhere",
			"the address %q is not on this machine only", addr)
	}
	return net.JoinHostPort(host, port), nil
}

// listenSocket opens the socket below the state folder for its owner only, or the one that SocketVariable names for its
// owner and group. nil without an error means that this system has none to offer.
func listenSocket(ctx context.Context, state string) (net.Listener, error) {
	shared, named := os.LookupEnv(SocketVariable)
	if !named || shared == "" {
		return listenUnix(ctx, filepath.Join(state, "run", "hob.sock"), 0o600)
	}
	if !filepath.IsAbs(shared) || len(shared) > maxSocketPath {
		return nil, event.NewFault(event.Invalid, fmt.Sprintf("name a full path of at most %d bytes", maxSocketPath), "the socket %s=%q cannot be used", SocketVariable, shared)
	}
	return listenUnix(ctx, filepath.Clean(shared), 0o660)
}

// listenUnix opens a socket with the given rights. Until it has them, the rights of its folder protect it.
func listenUnix(ctx context.Context, path string, mode os.FileMode) (net.Listener, error) {
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
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("guard socket: %w", err), l.Close())
	}
	return l, nil
}

// clearStale removes a socket on which nobody answers. Any other file at its path stays and is an error.
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
	// A process that accepts is alive; a refused connection means that the socket's process has ended.
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
