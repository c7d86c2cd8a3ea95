//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// Resizes tells when the terminal's size changes, until still is called.
func Resizes() (c <-chan os.Signal, still func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	return changed, func() { signal.Stop(changed) }
}
