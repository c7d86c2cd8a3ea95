//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes tells when the terminal's size changes, until still is called.
func resizes() (c <-chan os.Signal, still func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	return changed, func() { signal.Stop(changed) }
}
