//go:build unix

package sys_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys"
)

// manager listens as the service manager would.
func manager(t *testing.T, address string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hob")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "n")
}

func TestMessages(t *testing.T) {
	addresses := map[string]string{"path": short(t)}
	if runtime.GOOS == "linux" {
		addresses["abstract"] = "@hob-notify-" + strconv.Itoa(os.Getpid())
	}
	messages := []struct {
		send func(sys.ServiceManager) error
		want string
	}{
		{func(m sys.ServiceManager) error { return m.Ready("idle") }, "READY=1\nSTATUS=idle\n"},
		{func(m sys.ServiceManager) error { return m.Status("busy with turn 3") }, "STATUS=busy with turn 3\n"},
		{func(m sys.ServiceManager) error { return m.Starting(90*time.Second, "upgrading") }, "EXTEND_TIMEOUT_USEC=90000000\nSTATUS=upgrading\n"},
		{func(m sys.ServiceManager) error { return m.Alive("idle") }, "WATCHDOG=1\nSTATUS=idle\n"},
		{func(m sys.ServiceManager) error { return m.Stopping("bye") }, "STOPPING=1\nSTATUS=bye\n"},
		{func(m sys.ServiceManager) error { return m.Reloading(1500 * time.Millisecond) }, "RELOADING=1\nMONOTONIC_USEC=1500000\n"},
		{func(m sys.ServiceManager) error { return m.Status("one\nREADY=1\r\x00two") }, "STATUS=one READY=1 two\n"},
		{func(m sys.ServiceManager) error { return m.Status(strings.Repeat("x", 199) + "é") }, "STATUS=" + strings.Repeat("x", 199) + "\n"},
	}
	for kind, address := range addresses {
		t.Run(kind, func(t *testing.T) {
			conn := manager(t, address)
			m, err := sys.FindServiceManager(env("NOTIFY_SOCKET="+address), 1)
			if err != nil || !m.Listens() {
				t.Fatalf("listens %v, %v", m.Listens(), err)
			}
			for _, msg := range messages {
				if err := msg.send(m); err != nil {
					t.Fatal(err)
				}
				if got := heard(t, conn); got != msg.want {
					t.Errorf("sent %q, want %q", got, msg.want)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name     string
		env      []string
		listens  bool
		watchdog time.Duration
		fault    string
	}{
		{"no manager", nil, false, 0, ""},
		{"no watchdog", []string{"NOTIFY_SOCKET=/run/n"}, true, 0, ""},
		{"abstract", []string{"NOTIFY_SOCKET=@n"}, true, 0, ""},
		{"watchdog", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=180000000", "WATCHDOG_PID=7"}, true, 3 * time.Minute, ""},
		{"watchdog for everybody", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=1"}, true, time.Microsecond, ""},
		{"watchdog of another", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=1", "WATCHDOG_PID=8"}, true, 0, ""},
		{"watchdog that nobody listens for", []string{"WATCHDOG_USEC=1"}, false, 0, ""},
		{"watchdog zero", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=0"}, true, 0, "WATCHDOG_USEC"},
		{"watchdog beyond all time", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=9223372036854775807"}, true, 0, "WATCHDOG_USEC"},
		{"watchdog in words", []string{"NOTIFY_SOCKET=/run/n", "WATCHDOG_USEC=3min"}, true, 0, "WATCHDOG_USEC"},
		{"relative", []string{"NOTIFY_SOCKET=n"}, false, 0, "NOTIFY_SOCKET"},
		{"only an at", []string{"NOTIFY_SOCKET=@"}, false, 0, "NOTIFY_SOCKET"},
		{"vsock", []string{"NOTIFY_SOCKET=vsock:2:1"}, false, 0, "NOTIFY_SOCKET"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := sys.FindServiceManager(env(c.env...), 7)
			if m.Listens() != c.listens || m.Watchdog() != c.watchdog {
				t.Errorf("listens %v, watchdog %s", m.Listens(), m.Watchdog())
			}
			if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("error %v, want %q", err, c.fault)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	if err := (sys.ServiceManager{}).Ready("idle"); err != nil {
		t.Errorf("without a manager: %v", err)
	}
	m, err := sys.FindServiceManager(env("NOTIFY_SOCKET="+short(t)), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ready("idle"); err == nil {
		t.Error("a socket that is not there was written to")
	}
}
