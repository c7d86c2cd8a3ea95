package cli

import "golang.org/x/sys/unix"

// The names of the requests that read and write terminal settings on Linux (ioctl_tty(2)).
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)
