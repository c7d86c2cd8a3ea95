//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RestoreTerminal makes a terminal usable that a killed hob has left in raw mode: lines begin at the left again, what is typed is seen, and
// Ctrl-C interrupts. A terminal that draws its line ends is left as it is. The settings are those of "stty sane" (termios(3)).
func (a *App) RestoreTerminal() error {
	if !IsTerminal(a.In) {
		return nil
	}
	fd := int(a.In.Fd())
	t, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return fmt.Errorf("look at the terminal: %w", err)
	}
	if t.Oflag&unix.OPOST != 0 {
		return nil
	}
	t.Iflag |= unix.BRKINT | unix.ICRNL | unix.IXON
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
	if err := unix.IoctlSetTermios(fd, writeTermios, t); err != nil {
		return fmt.Errorf("mend the terminal: %w", err)
	}
	return nil
}
