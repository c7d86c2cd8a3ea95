//go:build unix

package fs_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/tools"
)

// Pipes, sockets and devices are refused, and nothing waits for the other end of one.
func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	d := newFixture(t)
	must(t, unix.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600))
	must(t, os.Symlink("pipe", filepath.Join(d.dir, "link.png")))
	t.Chdir(d.dir) // the path of a socket must be short
	l, err := net.Listen("unix", "socket")
	must(t, err)
	defer func() { must(t, l.Close()) }()
	for _, c := range []struct{ path, what string }{
		{"pipe", "named pipe"}, {"link.png", "named pipe"}, {"socket", "socket"}, {"/dev/null", "device"}, {"/dev/zero", "device"}, {"/dev/tty", "device"},
	} {
		if _, err := os.Stat(c.path); err != nil {
			t.Logf("%s is not here", c.path)
			continue
		}
		for _, tool := range []tools.Tool{d.read, d.write, d.ls} {
			name := tool.Spec().Name
			a := args{"path": c.path}
			if name == "write" {
				a["content"] = "x"
			}
			done := make(chan tools.Result, 1)
			go func() { done <- d.do(t, tool, a) }()
			select {
			case res := <-done:
				if !res.IsError || res.Code != tools.Validation || name != "write" && !strings.Contains(res.Content, c.what) && !strings.Contains(res.Content, "not a regular file") {
					t.Errorf("%s %s: %s", name, c.path, res.Content)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s %s hangs", name, c.path)
			}
		}
	}
	list := d.do(t, d.ls, args{"path": "."})
	for _, want := range []string{"pipe  pipe", "socket  socket", "link  link.png -> pipe"} {
		if !strings.Contains(list.Content, want) {
			t.Errorf("%q is not in\n%s", want, list.Content)
		}
	}
}
