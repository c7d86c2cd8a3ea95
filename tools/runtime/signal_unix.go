//go:build unix

package runtime

import (
	"os"
	"syscall"
)

func signalOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return int(ws.Signal())
	}
	return 0
}
