//go:build unix

package runtime

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNamed parses "TERM", "SIGTERM" or "term".
func signalNamed(name string) (syscall.Signal, bool) {
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if !slices.Contains([]string{"TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2", "STOP", "CONT", "WINCH"}, name) {
		return 0, false
	}
	return unix.SignalNum("SIG" + name), true
}

// signalOf returns the signal that ended a process, or 0.
func signalOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal())
	}
	return 0
}
