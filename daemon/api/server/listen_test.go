package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api/server"
	"hob/daemon/event"
)

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// shortDir is a folder whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hob")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// up serves a world until the test ends, or stop is called.
func up(t *testing.T, state, addr string, w *fakeDaemon) (s *server.Server, stop func() error) {
	t.Helper()
	s, err := server.Listen(t.Context(), server.Config{State: state, Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, server.New(w.deps()), slog.New(slog.DiscardHandler)) }()
	done := false
	stop = func() error {
		if done {
			return nil
		}
		done = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, stop
}

func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
}

func fetch(t *testing.T, c *http.Client, url, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBothDoors(t *testing.T) {
	state := shortDir(t)
	s, stop := up(t, state, "127.0.0.1:0", newFakeDaemon())
	if got := content(t, filepath.Join(state, "address")); got != s.Addr()+"\n" {
		t.Errorf("state/address is %q, bound is %q", got, s.Addr())
	}
	token := strings.TrimSpace(content(t, filepath.Join(state, "token")))
	for _, name := range []string{"token", "address", "run/hob.sock"} {
		info, err := os.Stat(filepath.Join(state, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if got := fetch(t, overSocket(s.Socket()), "http://hob/v1/status", ""); got != 200 {
		t.Errorf("socket without a token: %d", got)
	}
	if got := fetch(t, plain, "http://"+s.Addr()+"/v1/status", ""); got != 401 {
		t.Errorf("port without the token: %d", got)
	}
	if got := fetch(t, plain, "http://"+s.Addr()+"/v1/status", token); got != 200 {
		t.Errorf("port with the token: %d", got)
	}
	if got := fetch(t, plain, "http://"+s.Addr()+"/healthz", ""); got != 200 {
		t.Errorf("healthz: %d", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"address", "run/hob.sock"} {
		if _, err := os.Stat(filepath.Join(state, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
	up(t, state, "127.0.0.1:0", newFakeDaemon())
	if again := strings.TrimSpace(content(t, filepath.Join(state, "token"))); again != token {
		t.Error("the token changed over a restart")
	}
}

func TestDamagedTokenIsReplaced(t *testing.T) {
	for _, damaged := range []string{"", "short\n", strings.Repeat("a", 30) + " " + strings.Repeat("a", 30)} {
		state := shortDir(t)
		path := filepath.Join(state, "token")
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o640); err != nil { //nolint:gosec // what is to be mended
			t.Fatal(err)
		}
		up(t, state, "127.0.0.1:0", newFakeDaemon())
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v %v", damaged, info, err)
		}
		if got := content(t, path); got == damaged || len(got) != 53 {
			t.Errorf("%q became %q", damaged, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	whileDefaultIsTaken(t, func() bool {
		s, err := server.Listen(t.Context(), server.Config{State: shortDir(t), Addr: server.DefaultAddr})
		if err == nil {
			_ = s.Close()
		}
		f, ok := event.AsFault(err)
		return ok && f.Kind == event.Clash && f.Hint != ""
	})
	for addr, want := range map[string]event.FaultKind{
		"0.0.0.0:0": event.Invalid, ":0": event.Invalid, "[::]:0": event.Invalid, "192.168.1.1:0": event.Invalid, "example.com:0": event.Invalid,
		"127.0.0.1": event.Invalid, "nonsense": event.Invalid, "[::ffff:8.8.8.8]:0": event.Invalid,
		"127.0.0.1:99999": event.Invalid, "127.0.0.1:-1": event.Invalid, "127.0.0.1:http": event.Invalid, "127.0.0.1:": event.Invalid,
		busy.Addr().String(): event.Clash,
	} {
		state := shortDir(t)
		_, err := server.Listen(t.Context(), server.Config{State: state, Addr: addr})
		f, ok := event.AsFault(err)
		if !ok || f.Kind != want || f.Hint == "" {
			t.Errorf("%s: %v", addr, err)
		}
		if _, err := os.Stat(filepath.Join(state, "run/hob.sock")); err == nil {
			t.Errorf("%s: the socket is left behind", addr)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		s, err := server.Listen(t.Context(), server.Config{State: shortDir(t), Addr: addr})
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if s.Taken() != "" {
			t.Errorf("%s: it was asked for", addr)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// whileDefaultIsTaken calls try while this test, or somebody else, holds the default port. A hob of a test beside this one may let go of it just then,
// so a try that fails counts only if the port was this test's.
func whileDefaultIsTaken(t *testing.T, try func() bool) {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", server.DefaultAddr)
		ok := try()
		if err == nil {
			_ = l.Close()
		}
		if ok {
			return
		}
		if err == nil {
			break
		}
	}
	t.Error("while the default port is taken, hob does not do what it should")
}

// TestDefaultFallsBack sees hob take another port than the default one.
func TestDefaultFallsBack(t *testing.T) {
	whileDefaultIsTaken(t, func() bool {
		s, err := server.Listen(t.Context(), server.Config{State: shortDir(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		return s.Taken() == server.DefaultAddr && s.Addr() != server.DefaultAddr && strings.HasPrefix(s.Addr(), "127.0.0.1:")
	})
}

// TestThePortIsKept (A6): addresses of webhooks have been given out with the port that was chosen. A later start takes it again, and reports it if
// another program has it.
func TestThePortIsKept(t *testing.T) {
	var lc net.ListenConfig
	whileDefaultIsTaken(t, func() bool {
		state := shortDir(t)
		listens := func() (addr, taken string) {
			t.Helper()
			s, err := server.Listen(t.Context(), server.Config{State: state})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return s.Addr(), s.Taken()
		}
		first, taken := listens()
		again, free := listens()
		other, err := lc.Listen(t.Context(), "tcp", first)
		if err != nil {
			t.Fatal(err)
		}
		third, lost := listens()
		fourth, kept := listens()
		if err := errors.Join(other.Close(), os.WriteFile(filepath.Join(state, "port"), []byte("example.org:80"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, damaged := listens()
		return taken == server.DefaultAddr && again == first && free == "" && third != first && lost == first && fourth == third && kept == "" && damaged == server.DefaultAddr
	})
}

func TestSocketThatIsThere(t *testing.T) {
	t.Run("somebody answers", func(t *testing.T) {
		state := shortDir(t)
		up(t, state, "127.0.0.1:0", newFakeDaemon())
		if _, err := server.Listen(t.Context(), server.Config{State: state, Addr: "127.0.0.1:0"}); !errors.Is(err, server.ErrInUse) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(filepath.Join(state, "run/hob.sock")); err != nil {
			t.Errorf("the socket of the other is gone: %v", err)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		state := shortDir(t)
		path := filepath.Join(state, "run/hob.sock")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s, _ := up(t, state, "127.0.0.1:0", newFakeDaemon())
		if got := fetch(t, overSocket(s.Socket()), "http://hob/healthz", ""); got != 200 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("a file", func(t *testing.T) {
		state := shortDir(t)
		path := filepath.Join(state, "run/hob.sock")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Listen(t.Context(), server.Config{State: state, Addr: "127.0.0.1:0"}); err == nil {
			t.Error("it took the place of a file")
		}
		if content(t, path) != "mine" {
			t.Error("the file is gone")
		}
	})
}

func TestLongPathHasNoSocket(t *testing.T) {
	state := filepath.Join(shortDir(t), strings.Repeat("d", 100))
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := up(t, state, "127.0.0.1:0", newFakeDaemon())
	if s.Socket() != "" {
		t.Errorf("socket %s", s.Socket())
	}
}

// TestStopEndsStreams: what is committed while the doors close is still read, then the stream ends by itself.
// Each round is held up by a reader that waits until the doors are shut.
func TestStopEndsStreams(t *testing.T) {
	for range 8 {
		w := newFakeDaemon()
		for range 100 {
			w.add("big", map[string]any{"text": strings.Repeat("x", 64<<10)})
		}
		s, stop := up(t, shortDir(t), "127.0.0.1:0", w)
		res, err := overSocket(s.Socket()).Get("http://hob/v1/events?after=0")
		if err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		for err == nil {
			var conn net.Conn
			if conn, err = net.Dial("unix", s.Socket()); err == nil {
				_ = conn.Close()
			}
		}
		w.add("last.words", nil)
		body, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(body), "last.words") {
			t.Errorf("%d bytes without the last words, %v", len(body), err)
		}
		if err := errors.Join(<-stopped, res.Body.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestStopCutsOff: a request that never ends does not hold the stop up; its context ends.
func TestStopCutsOff(t *testing.T) {
	s, err := server.Listen(t.Context(), server.Config{State: shortDir(t), Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	entered, cut, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(cut)
		<-release // it is slow to notice
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, h, slog.New(slog.DiscardHandler)) }()
	asked := make(chan error, 1)
	go func() {
		res, err := overSocket(s.Socket()).Get("http://hob/")
		if err == nil {
			err = res.Body.Close()
		}
		asked <- err
	}()
	<-entered
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	<-cut
	close(release)
	if err := <-asked; err == nil {
		t.Error("the cut request got an answer")
	}
}
