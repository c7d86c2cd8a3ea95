package signal_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestDaemonEndsWithHob kills a hob that runs signal-cli: the daemon ends too.
func TestDaemonEndsWithHob(t *testing.T) {
	addr := free(t)
	hob := exec.CommandContext(t.Context(), os.Args[0], runDaemonAt, addr) //nolint:gosec // this program itself
	hob.Stderr = os.Stderr
	out, err := hob.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hob.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatalf("it does not run: %v", err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("the daemon does not listen: %v", err)
	}
	defer c.Close() //nolint:errcheck // it was only listened to
	if err := hob.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = hob.Wait() // it was killed
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) || err == nil {
		t.Errorf("the daemon lives on: %v", err)
	}
}
