//go:build unix

package client_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/api/client"
	"hob/daemon/event"
)

// A pipe that nobody writes to would be read for ever: it is refused without being opened.
func TestAttachRefusesAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := client.Attach(pipe)
	if f, _ := event.AsFault(err); f == nil || f.Kind != event.Invalid || !strings.Contains(f.Text, "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}
