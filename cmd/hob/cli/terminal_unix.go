//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RestoreTerminal ends the raw mode that a killed hob has left on: it turns on output processing, echo and signals, as "stty sane" does
// (termios(3)). A terminal that processes its output is left alone.
func (a *App) RestoreTerminal() error {
	if !IsTerminal(a.In) {
		return nil
	}
	fd := int(a.In.Fd())
	t, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return fmt.Errorf("read the terminal settings: %w", err)
	}
	if t.Oflag&unix.OPOST != 0 {
		return nil
	}
	// Input: Enter gives a line feed, Ctrl-S and Ctrl-Q work. Output: a line feed returns the carriage. Local: echo, lines, Ctrl-C.
	t.Iflag |= unix.BRKINT | unix.ICRNL | unix.IXON
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
	if err := unix.IoctlSetTermios(fd, writeTermios, t); err != nil {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	return nil
}

// DropTyped forgets what was typed before a question: it was no answer to it.
func (a *App) DropTyped() error {
	fd := int(a.In.Fd())
	t, err := unix.IoctlGetTermios(fd, readTermios)
	if err == nil {
		err = unix.IoctlSetTermios(fd, dropTermios, t)
	}
	if err != nil {
		return fmt.Errorf("drop what was typed before the question: %w", err)
	}
	return nil
}
