//go:build unix

package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api/server"
	"hob/daemon/event"
)

// TestSharedSocket: the socket of a system-wide service is outside the home and open to a group.
func TestSharedSocket(t *testing.T) {
	dir := shortDir(t)
	shared := filepath.Join(dir, "run", "hob.sock")
	t.Setenv(server.SocketVariable, shared)
	s, _ := up(t, dir, "127.0.0.1:0", newFakeDaemon())
	if s.Socket() != shared {
		t.Errorf("socket %q, want %q", s.Socket(), shared)
	}
	info, err := os.Stat(shared)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o660 {
		t.Errorf("rights %o, want 660", got)
	}
	if got := fetch(t, overSocket(shared), "http://hob/healthz", ""); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}

// TestSharedSocketRefused says what is wrong with a place that cannot be used, instead of listening somewhere else.
func TestSharedSocketRefused(t *testing.T) {
	for _, place := range []string{"hob.sock", "/" + strings.Repeat("x", 100)} {
		t.Setenv(server.SocketVariable, place)
		_, err := server.Listen(t.Context(), server.Config{State: shortDir(t), Addr: "127.0.0.1:0"})
		if f, ok := event.AsFault(err); !ok || f.Kind != event.Invalid {
			t.Errorf("%s: %v", place, err)
		}
	}
}
