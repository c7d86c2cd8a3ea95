//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

import "os"

// RestoreTerminal has nothing to do: this system ends the raw mode of a program that dies.
func (a *App) RestoreTerminal() error { return nil }

// Waits reports whether a pipe holds something that can be read now. This system cannot tell without reading.
func Waits(*os.File) bool { return false }
