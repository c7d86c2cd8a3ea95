//go:build unix

package daemon_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/sys"
)

// serviceManager listens as systemd would, and puts itself into the environment.
func serviceManager(t *testing.T, watchdog string) *net.UnixConn {
	t.Helper()
	dir, err := os.MkdirTemp("", "hob") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", watchdog)
	return conn
}

// hear waits for a message that begins with a word, and returns it; what must not come before is an error.
func hear(t *testing.T, conn *net.UnixConn, word, not string) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("waiting for %s: %v", word, err)
		}
		message := string(buf[:n])
		if strings.HasPrefix(message, word) {
			return message
		}
		if not != "" && strings.HasPrefix(message, not) {
			t.Fatalf("%q before %s", message, word)
		}
	}
}

// TestServiceManager runs the whole daemon below a service manager: ready, fed, stopping, in this order.
func TestServiceManager(t *testing.T) {
	conn := serviceManager(t, "60000") // looks every 20 ms
	r := start(t, filepath.Join(t.TempDir(), "h"))
	if got := hear(t, conn, "READY=1", "WATCHDOG=1"); got != "READY=1\nSTATUS=ok · model builtin · 0 queued, 0 waiting · 1 jobs\n" {
		t.Errorf("ready: %q", got)
	}
	if got := hear(t, conn, "WATCHDOG=1", ""); !strings.HasPrefix(got, "WATCHDOG=1\nSTATUS=ok · ") {
		t.Errorf("fed: %q", got)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	hear(t, conn, "STOPPING=1", "READY=1")
}

// TestWatchdogStarves is a daemon that stands still: it is ready, fed while it moves, and never again.
func TestWatchdogStarves(t *testing.T) {
	conn := serviceManager(t, "3000")
	manager, err := sys.FindServiceManager(os.Getenv, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var moves atomic.Bool
	moves.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- sys.Lifeline{Manager: manager, Look: func(context.Context) (bool, string) {
			if moves.Load() {
				return true, "moves"
			}
			return false, "stands"
		}}.Run(ctx)
	}()
	hear(t, conn, "READY=1", "")
	hear(t, conn, "WATCHDOG=1\nSTATUS=moves", "")
	moves.Store(false)
	hear(t, conn, "STATUS=stands", "")
	for range 5 {
		hear(t, conn, "STATUS=stands", "WATCHDOG=1")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	hear(t, conn, "STOPPING=1", "WATCHDOG=1")
}

func TestMoves(t *testing.T) {
	for _, c := range []struct {
		thread, scheduler string
		want              bool
	}{{"idle", "ok", true}, {"running", "ok", true}, {"stuck", "ok", false}, {"idle", "stuck", false}} {
		var s api.Status
		s.Thread.State, s.Scheduler.State = c.thread, c.scheduler
		if got := daemon.Moves(s); got != c.want {
			t.Errorf("%s, %s: %v", c.thread, c.scheduler, got)
		}
	}
}
