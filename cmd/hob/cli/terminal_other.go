//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cli

// RestoreTerminal has nothing to do: this system ends the raw mode of a program that dies.
func (a *App) RestoreTerminal() error { return nil }

// DropTyped has nothing to do: what was typed ahead cannot be seen here.
func (a *App) DropTyped() error { return nil }
