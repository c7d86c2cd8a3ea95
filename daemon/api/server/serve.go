package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hob/daemon/sys"
)

// Times of a connection. Bodies and answers have limits of their own.
const (
	headTime  = 10 * time.Second
	idleTime  = 2 * time.Minute
	drainTime = 4 * time.Second // with the forced end after it, Serve stops within 5 s
	maxHeader = 64 << 10        // bytes
)

// Serve answers on both endpoints until ctx ends. Then it takes no more connections, ends the streams, gives
// what is under way four seconds, cuts the rest off and removes state/address. It returns early, with an error,
// when an endpoint breaks. Streams would never end by themselves, so closing drain ends them first.
func (s *Server) Serve(ctx context.Context, h http.Handler, log *slog.Logger) error {
	drain := make(chan struct{})
	base, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), drainKey{}, (<-chan struct{})(drain)))
	defer cut()
	endpoints := s.endpoints(base, h, log)
	broken := make(chan error, len(endpoints))
	g := sys.NewGroup(log, nil)
	for _, d := range endpoints {
		g.Once("api", func() error {
			if err := d.srv.Serve(heard{d.l, log}); !errors.Is(err, http.ErrServerClosed) {
				broken <- fmt.Errorf("serve %s: %w", d.l.Addr(), err)
			}
			return nil
		})
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-broken:
	}
	// Streams end first, then stop waits for the other requests.
	close(drain)
	err := stop(base, g, endpoints, cut)
	if c, ok := h.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return errors.Join(failed, err, s.forget())
}

// endpoint is an address at which the API is served.
type endpoint struct {
	l   net.Listener
	srv *http.Server
}

// heard logs why a connection could not be accepted, such as too many open files. The server tries again by itself, at most once a second.
type heard struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection.
func (h heard) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		h.log.Error("a connection could not be accepted", "err", err)
	}
	return c, err
}

// endpoints makes an HTTP server for each listener. Only the port is guarded by a token.
func (s *Server) endpoints(base context.Context, h http.Handler, log *slog.Logger) []endpoint {
	port := 0
	if a, ok := s.tcp.Addr().(*net.TCPAddr); ok {
		port = a.Port
	}
	endpoints := []endpoint{{s.tcp, newHTTP(base, Guard(h, s.token, port), log)}}
	if s.unix != nil {
		endpoints = append(endpoints, endpoint{s.unix, newHTTP(base, h, log)})
	}
	return endpoints
}

// newHTTP makes an HTTP server. There are no time limits for whole requests, because streams and tools may take
// long; bodies and answers have their own.
func newHTTP(base context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// stop drains all endpoints at once and cuts off what is still under way after drainTime.
// It returns when each server has ended or was closed.
func stop(base context.Context, g *sys.Group, endpoints []endpoint, cut func()) error {
	ctx, done := context.WithTimeout(base, drainTime)
	defer done()
	ended := make(chan error, len(endpoints))
	for _, d := range endpoints {
		g.Once("api stop", func() error {
			err := d.srv.Shutdown(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				cut()
				err = d.srv.Close()
			}
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			ended <- err
			return nil
		})
	}
	g.Wait()
	close(ended)
	var errs []error
	for err := range ended {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
